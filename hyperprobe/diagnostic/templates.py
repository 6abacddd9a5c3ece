"""The wordings in which a set is asked, and the word forms that they need.

In a template `[MASK]` is the slot; `{x}` is the noun, `{xs}` its plural, `{a}` its article and
`{b}` the article of the answer; `{X}`, `{Xs}`, `{A}`, `{B}` begin with a capital letter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from hyperprobe.cloze import SLOT
from hyperprobe.lexicon.morphology import indefinite_article, plural


@dataclass(frozen=True)
class Noun:
    """A noun and the forms that templates use; empty where none is known."""

    singular: str
    plural: str
    article: str

    @classmethod
    def english(cls, word: str) -> Noun:
        """The noun with the forms of English morphology."""
        return cls(word, plural(word), indefinite_article(word))


@dataclass(frozen=True)
class Templates:
    """How a set is asked. What is empty is not asked.

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

    MARKS: ClassVar[tuple[str, ...]] = ("x", "X", "xs", "Xs", "a", "A", "b", "B")

    @property
    def all(self) -> tuple[str, ...]:
        """Every template that is not empty."""
        single = (getattr(self, f.name) for f in fields(self) if f.name != "wordings")
        return (*(text for text in single if text), *self.wordings)


def fill_in(template: str, noun: Noun, answer: Noun | None = None) -> str:
    """The template with a noun in it, and the article of the answer, if it is known.

    Without an answer, the article goes together with the space after it.
    """
    if answer is None or not answer.article:
        template = template.replace("{b} ", "").replace("{B} ", "")
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


def takes_article(template: str) -> bool:
    """Whether the article of the answer is right before the slot."""
    return f"{{b}} {SLOT}" in template


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
