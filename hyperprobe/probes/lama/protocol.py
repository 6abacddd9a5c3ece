"""Which facts count, as in LAMA's reference code (Petroni et al. 2019, section 4).

In its order: rows without both labels, texts of more than 100 words, objects
outside the vocabulary, objects that the models do not write as one token, and
facts that fewer than half of the raters confirm are left out; then, where a template
asks, repetitions of a (subject, object) pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from types import NoneType
from typing import Any

from hyperprobe.cloze import SLOT, CandidateSet, Cloze, Template
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.documents import Document, check, parse_json, read_lines
from hyperprobe.errors import UserError, quoted
from hyperprobe.probes.lama.sources import Relation

MAX_WORDS = 100
_TEXT, _ID = (str, NoneType), (str, int, NoneType)
DROPPED = (
    "n_no_label",
    "n_too_long",
    "n_not_in_vocabulary",
    "n_several_tokens",
    "n_denied",
    "n_repeated",
    "n_not_spelled",
)


class Evidence(Document):
    """A sentence that the fact was found in."""

    masked_sentence: str | None = None


class Rating(Document):
    """What a rater said of a fact: yes, or anything else, which counts as no."""

    judgment: str | None


class Row(Document):
    """What a line of a file of facts must look like, as far as it is used."""

    sub_label: str | None = None
    obj_label: str | None = None
    uuid: str | int | None = None
    id: str | int | None = None
    masked_sentences: list[str] | None = None
    negated: list[str] | None = None
    evidences: list[Evidence] | None = None
    judgments: list[Rating] | None = None


def read_facts(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of a file of facts, each of the shape `Row`.

    A `.tsv` file is a diagnostic set, whose facts are that a noun is of its category. Raises
    `UserError` with file, line and field.
    """
    if path.suffix == ".tsv":
        yield from _facts_of_set(path)
        return
    for number, line in read_lines(path, "facts"):
        if line.strip():
            where = f"{path}, line {number}"
            row = parse_json(line, where)
            # A million rows take half the time when the schema sees only what is wrong.
            if not is_row(row):
                check(Row, row, where)
            yield number, row


def _facts_of_set(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The items of a set, each with its singular prompt as its sentence."""
    rows = load_diagnostic(str(path)).to_dict("records")
    for number, row in enumerate(rows, start=2):
        fact = {"sub_label": row["hyponym"], "obj_label": row["hypernym"]}
        yield number, {**fact, "masked_sentences": [row["singular"]]}


def is_row(value: Any) -> bool:
    """Whether a JSON value has the shape `Row`."""
    if type(value) is not dict:
        return False
    get = value.get
    return (
        type(get("sub_label")) in _TEXT
        and type(get("obj_label")) in _TEXT
        and type(get("uuid")) in _ID
        and type(get("id")) in _ID
        and all(type(text) is str for text in _list(get("masked_sentences")))
        and all(type(text) is str for text in _list(get("negated")))
        and all(
            type(part) is dict and type(part.get("masked_sentence")) in _TEXT
            for part in _list(get("evidences"))
        )
        and all(
            type(part) is dict and type(part.get("judgment", 0)) in _TEXT
            for part in _list(get("judgments"))
        )
    )


def _list(value: Any) -> Any:
    """The parts of a list or of nothing; of anything else one that has no good type."""
    return value if type(value) is list else () if value is None else (0,)


@dataclass(frozen=True, slots=True)  # there may be millions
class Fact:
    """A subject, the right object, and the texts that a row brings along."""

    id: str
    subject: str
    object: str
    sentences: tuple[str, ...] = ()
    negated: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The row's sentences as one text."""
        return " ".join(self.sentences)

    def cloze(self, template: str | None, negated: bool = False) -> Cloze:
        """The question, from a template or from the row's sentences.

        Of several slots the first is asked, as in the reference code. What follows the first
        sentence is the second one, however many it is.
        """
        if template is not None:
            return Template(template).cloze(self.id, self.subject)
        sentences = self.negated if negated else self.sentences
        second = len(sentences[0]) + 1 if len(sentences) > 1 else None
        return first_slot(" ".join(sentences), self.id, self.subject, second)


def first_slot(text: str, id: str, subject: str | None, second: int | None = None) -> Cloze:
    """The cloze of a text with one slot or more. Raises `UserError` for none."""
    left, slot, right = text.partition(SLOT)
    if not slot:
        raise UserError(f"{id}: {text!r} has no slot: write {SLOT}")
    return Cloze(id, left, right, subject, second)


@dataclass(frozen=True)
class Vocabulary:
    """The words that answers are ranked among.

    `words` is the vocabulary as given (none: no restriction), `candidates` those of
    them that every model asked writes as one token.
    """

    words: frozenset[str] | None
    candidates: CandidateSet


def select(
    relation: Relation, vocabulary: Vocabulary, lowercase: bool = False, any_length: bool = False
) -> tuple[list[Fact], dict[str, int]]:
    """The facts of a relation that count, and how many rows were left out for what.

    `any_length` keeps objects outside the vocabulary and of several tokens. Raises
    `UserError` with file and line for a row that is broken.
    """
    counts = Counter({"n_rows": 0, **dict.fromkeys(DROPPED, 0)})
    facts: dict[Any, Fact] = {}
    for number, row in read_facts(relation.path):
        counts["n_rows"] += 1
        where = f"{relation.path}, line {number}"
        fact = _fact(row, relation, where, lowercase)
        if fact is None:
            counts["n_no_label"] += 1
        elif relation.template is None and len(fact.sentence.split()) > MAX_WORDS:
            counts["n_too_long"] += 1
        elif (
            not any_length
            and vocabulary.words is not None
            and any(part not in vocabulary.words for part in fact.object.split(" "))
        ):
            counts["n_not_in_vocabulary"] += 1
        elif not any_length and fact.object not in vocabulary.candidates.index:
            counts["n_several_tokens"] += 1
        elif _is_denied(row):
            counts["n_denied"] += 1
        else:
            # Only a template makes two rows of a pair the same question.
            key = number if relation.template is None else (fact.subject, fact.object)
            if key in facts:
                counts["n_repeated"] += 1
            else:
                facts[key] = fact
    return list(facts.values()), {**counts, "n_facts": len(facts)}


def _fact(row: dict[str, Any], relation: Relation, where: str, lowercase: bool) -> Fact | None:
    """The fact in a row, or none when a label is missing."""
    subject, answer = row.get("sub_label"), row.get("obj_label")
    if subject is None or answer is None:
        return None
    for key, value in (("sub_label", subject), ("obj_label", answer)):
        if not value.strip():
            raise UserError(f"{where}: {key} is empty: write a word")
    sentences, negated = (
        tuple(texts or ()) for texts in (row.get("masked_sentences"), row.get("negated"))
    )
    if relation.template is None and not has_slot(sentences):
        raise UserError(
            f"{where}: no template for {relation.name} and no {SLOT} in masked_sentences: "
            "write one of them"
        )
    fact = Fact(
        str(row.get("uuid") or row.get("id") or where),
        subject,
        intern(answer),
        sentences,
        negated,
        _mentions(row),
    )
    if lowercase:
        fact = _lowercase(fact)
    if relation.template is not None and SLOT in fact.subject:
        raise UserError(
            f"{where}: sub_label {quoted(subject)} holds {SLOT}, and only one slot can be asked: "
            "write it differently"
        )
    return fact


def has_slot(sentences: tuple[str, ...]) -> bool:
    """Whether there is something to ask in one of them."""
    return any(SLOT in sentence for sentence in sentences)


def _mentions(row: dict[str, Any]) -> tuple[str, ...]:
    """Evidence sentences that hold the slot, without repetition."""
    sentences = (evidence.get("masked_sentence") for evidence in row.get("evidences") or ())
    return tuple(dict.fromkeys(text for text in sentences if text and SLOT in text))


def _lowercase(fact: Fact) -> Fact:
    def lower(text: str) -> str:
        return text.lower().replace(SLOT.lower(), SLOT)

    return Fact(
        fact.id,
        lower(fact.subject),
        lower(fact.object),
        tuple(map(lower, fact.sentences)),
        tuple(map(lower, fact.negated)),
        tuple(map(lower, fact.mentions)),
    )


def _is_denied(row: dict[str, Any]) -> bool:
    """Whether fewer than half of the raters said yes; a tie keeps the fact."""
    judgments = [rating["judgment"] for rating in row.get("judgments") or ()]
    return 2 * judgments.count("yes") < len(judgments)
