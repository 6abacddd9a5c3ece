"""The wordings in which a set is asked, and the word forms that they need.

In a template `[MASK]` is the slot; `{x}` is the noun, `{xs}` its plural, `{a}` its article and
`{b}` the article of the answer; `{X}`, `{Xs}`, `{A}`, `{B}` begin with a capital letter.

A file of templates is TOML: the fields of `Templates` by name. In English what it leaves out is as
in `Templates`. For another `language` nothing is known but what the file says and `{x} [MASK].`
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

from pydantic import ConfigDict

from hyperprobe.cloze import SLOT
from hyperprobe.documents import Document, check, read_text, read_toml
from hyperprobe.errors import UserError, printable, quoted
from hyperprobe.lexicon.morphology import indefinite_article, is_mass, is_plural_only, plural

ENGLISH = "en"
WITHOUT_ARTICLE = "-"  # in a column of articles: the noun takes none
NOUN_FREE = ("noun_free", "noun_free_plural")


@dataclass(frozen=True, slots=True)  # there may be many
class Noun:
    """A noun and the forms that templates use; empty where none is known."""

    singular: str
    plural: str
    article: str

    @classmethod
    def english(cls, word: str) -> Noun:
        """The noun with the forms of English morphology.

        The plural of a mass noun is itself, and so is that of a noun that is a plural already.
        """
        if is_mass(word):
            return cls(word, word, "")
        many = word if is_plural_only(word) else plural(word)
        return cls(word, many, indefinite_article(word))


def noun_of(word: str, many: str, article: str, templates: Templates) -> Noun:
    """A noun from the cells of a file: what they leave out is English, or else unknown."""
    if templates.is_english and not (many and article):
        english = Noun.english(word)
        many, article = many or english.plural, article or english.article
    return Noun(word, many, "" if article == WITHOUT_ARTICLE else article)


@dataclass(frozen=True)
class Templates:
    """How a set is asked, in a language (its ISO code). What is empty is not asked.

    `control` names the noun alone, `noun_free` none; `reversed` and `control_reversed` swap noun
    and slot; `negated` denies, and `affirmed` affirms in as many words; `wordings` are paraphrases
    of `singular`.
    """

    singular: str = "{A} {x} is {b} [MASK]."
    plural: str = "{Xs} are [MASK]."
    control: str = "{x} [MASK]."
    control_plural: str = "{xs} [MASK]."
    reversed: str = "{B} [MASK] is {a} {x}."
    control_reversed: str = "[MASK] {x}."
    negated: str = "{A} {x} is not {b} [MASK]."
    affirmed: str = "{A} {x} is also {b} [MASK]."
    noun_free: str = "It is {b} [MASK]."
    noun_free_plural: str = "They are [MASK]."
    wordings: tuple[str, ...] = (
        "The {x} is {b} [MASK].",
        "Every {x} is {b} [MASK].",
        "Any {x} is {b} [MASK].",
        "{A} {x} is a kind of [MASK].",
        "{A} {x} is a type of [MASK].",
        "{A} {x} is a sort of [MASK].",
        "{A} {x} is an example of {b} [MASK].",
        "This is {a} {x}, so it is {b} [MASK].",
        "{A} {x}, which is {b} [MASK], was there.",
        "{A} {x} or some other [MASK] was there.",
        "What kind of [MASK] is {a} {x}?",
        "My favourite [MASK] is the {x}.",
    )
    language: str = ENGLISH

    MARKS: ClassVar[tuple[str, ...]] = ("x", "X", "xs", "Xs", "a", "A", "b", "B")

    @property
    def is_english(self) -> bool:
        """Whether English morphology fills the forms that a set does not give."""
        return self.language == ENGLISH

    @property
    def all(self) -> tuple[str, ...]:
        """Every template that is not empty."""
        return tuple(text for _, text in self._named() if text)

    def _named(self) -> Iterator[tuple[str, str]]:
        """(field, template), those of `wordings` one by one."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "wordings":
                yield from ((field.name, text) for text in value)
            elif field.name != "language":
                yield field.name, value

    def needs(self) -> dict[str, str]:
        """Each column of word forms that the templates use -> a template that uses it."""
        found: dict[str, str] = {}
        for text in self.all:
            for mark in marks(text):
                if mark in _COLUMNS:
                    found.setdefault(_COLUMNS[mark], text)
        if self.plural:
            found.setdefault("hypernym_plural", self.plural)
        return found


_COLUMNS = {
    "xs": "hyponym_plural",
    "Xs": "hyponym_plural",
    "a": "hyponym_article",
    "A": "hyponym_article",
    "b": "hypernym_article",
    "B": "hypernym_article",
}


class TemplatesFile(Document):
    """A file of templates, whose keys are known."""

    model_config = ConfigDict(extra="forbid")

    singular: str | None = None
    plural: str | None = None
    control: str | None = None
    control_plural: str | None = None
    reversed: str | None = None
    control_reversed: str | None = None
    negated: str | None = None
    affirmed: str | None = None
    noun_free: str | None = None
    noun_free_plural: str | None = None
    wordings: list[str] | None = None
    language: str | None = None


def read_templates(path: Path) -> Templates:
    """The templates of a TOML file.

    Raises `UserError`, with the line, for a template without a slot, with an unknown mark, without
    a noun (or with one where there is to be none), and for what is not there but must be.
    """
    document = read_toml(path, dict, "templates")
    known = [field.name for field in fields(Templates)]
    for key in document:
        if key not in known:
            raise UserError(
                f"{path}{_line(path, key)}: unknown template {quoted(key)}: choose from "
                f"{', '.join(known)}"
            )
    given: dict[str, Any] = check(TemplatesFile, document, str(path)).model_dump(exclude_none=True)
    if "wordings" in given:
        given["wordings"] = tuple(given["wordings"])
    language = given.get("language", ENGLISH)
    if not language.isalpha() or not language.islower():
        raise UserError(
            f"{path}{_line(path, 'language')}: language must be a code such as en or de, not "
            f"{quoted(language)}: correct it"
        )
    if language != ENGLISH:
        given = _only(given, path)
    templates = Templates(**given)
    if not templates.plural:
        templates = Templates(**{**asdict(templates), "control_plural": "", "noun_free_plural": ""})
    for name, text in templates._named():
        _check(path, name, text)
    return templates


def _only(given: dict[str, Any], path: Path) -> dict[str, Any]:
    """The templates of another language: what is not given is not asked."""
    if "singular" not in given:
        raise UserError(
            f"{path}: no template singular for the language {given['language']}: write one, such "
            'as singular = "{A} {x} is {b} [MASK]."'
        )
    empty = {field.name: "" for field in fields(Templates)} | {"wordings": ()}
    control = Templates.control
    control_plural = Templates.control_plural if given.get("plural") else ""
    back = Templates.control_reversed if given.get("reversed") else ""
    return empty | {
        "control": control, "control_plural": control_plural, "control_reversed": back, **given,
    }  # fmt: skip


def templates_beside(path: Path) -> Templates | None:
    """The templates that lie beside a set's file, if there are any: `NAME.templates.toml`."""
    beside = path.with_suffix(".templates.toml")
    return read_templates(beside) if beside.is_file() else None


def as_toml(templates: Templates) -> str:
    """The text of a file that `read_templates` reads back as the same templates."""
    lines = []
    for name, value in asdict(templates).items():
        # A string of JSON is one of TOML, where it holds no control characters.
        text = json.dumps(value, ensure_ascii=False, indent=4 if name == "wordings" else None)
        lines.append(f"{name} = {text}\n")
    return "".join(lines)


def marks(template: str) -> list[str]:
    """The marks in a template. Raises `ValueError` for braces that are none."""
    found = []
    for _, mark, form, conversion in Formatter().parse(template):
        if mark is None:
            continue
        if mark not in Templates.MARKS or form or conversion:
            raise ValueError(f"{{{mark}}} is no mark")
        found.append(mark)
    return found


def _check(path: Path, name: str, text: str) -> None:
    """Raise `UserError` for what is no template."""
    where = f"{path}{_line(path, name, text)}: {name}"
    if not text.strip():
        if text or name in ("singular", "control", "wordings"):
            raise UserError(f"{where} is empty: write a template, or take it out")
        return
    if printable(text) != text:
        raise UserError(f"{where} {quoted(text)} holds control characters: take them out")
    if text.count(SLOT) != 1:
        raise UserError(
            f"{where} {quoted(text)} has {text.count(SLOT)} slots: write {SLOT} exactly once"
        )
    known = ", ".join(f"{{{mark}}}" for mark in Templates.MARKS)
    try:
        found = marks(text)
    except ValueError as error:
        raise UserError(
            f"{where} {quoted(text)}: {error}: write {known}, and no other braces"
        ) from error
    nouns = [mark for mark in found if mark.lower() in ("x", "xs")]
    if name in NOUN_FREE and set(found) - {"b", "B"}:
        raise UserError(f"{where} {quoted(text)} is to name no noun: take {{{found[0]}}} out")
    if name not in NOUN_FREE and not nouns:
        raise UserError(f"{where} {quoted(text)} names no noun: write {{x}} or {{xs}} into it")
    if any(text.count(mark) != text.count(f"{mark} {SLOT}") for mark in ("{b}", "{B}")):
        raise UserError(
            f"{where} {quoted(text)}: {{b}} is the article of the answer: write it right before "
            f"{SLOT}, with a space between"
        )


def _line(path: Path, key: str, text: str = "") -> str:
    """ ", line N" of a key in a file that has been read, or of a text in it."""
    start = None
    for number, line in enumerate(read_text(path, "templates").splitlines(), start=1):
        if start is None and line.split("=")[0].strip().strip("\"'") == key:
            start = number
        if start is not None and (key != "wordings" or (text and text in line)):
            return f", line {number}"
    return f", line {start}" if start else ""


def fill_in(template: str, noun: Noun, answer: Noun | None = None) -> str:
    """The template with a noun in it, and the article of the answer, if it is known.

    Without an answer, the article goes together with the space after it; so does that of a noun
    that takes none.
    """
    if answer is None or not answer.article:
        template = template.replace("{b} ", "").replace("{B} ", "")
    if not noun.article:
        # The noun then begins the sentence, if its article would have.
        template = template.replace("{A} {x}", "{X}").replace("{a} ", "").replace("{A} ", "")
    return template.format(
        x=noun.singular,
        X=_capitalised(noun.singular),
        xs=noun.plural,
        Xs=_capitalised(noun.plural),
        a=noun.article,
        A=_capitalised(noun.article),
        b=answer.article if answer else "",
        B=_capitalised(answer.article if answer else ""),
    )


def statement(template: str, noun: Noun, answer: Noun) -> str:
    """The template with the noun and the answer in it: "A robin is a bird."."""
    return fill_in(template, noun, answer).replace(SLOT, answer.singular)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
