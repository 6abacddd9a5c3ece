"""Which facts count, as in LAMA's reference code (Petroni et al. 2019, section 4).

In its order: rows without both labels, texts of more than 100 words, objects
outside the vocabulary, objects that the models do not write as one token, and
facts that more raters deny than confirm are left out; then, where a template
asks, repetitions of a (subject, object) pair.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hyperprobe.cloze import SLOT, CandidateSet, Cloze, Template
from hyperprobe.errors import UserError
from hyperprobe.lama.sources import Relation, read_rows

MAX_WORDS = 100
DROPPED = (
    "n_no_label",
    "n_too_long",
    "n_not_in_vocabulary",
    "n_several_tokens",
    "n_denied",
    "n_repeated",
    "n_not_spelled",
)


@dataclass(frozen=True)
class Fact:
    """A subject, the right object, and the texts that a row brings along."""

    id: str
    subject: str
    object: str
    sentence: str = ""
    negated: str = ""
    mentions: tuple[str, ...] = ()

    def cloze(self, template: str | None, negated: bool = False) -> Cloze:
        """The question, from a template or from the row's own sentence.

        Of several slots in a sentence the first is asked, as in the reference code.
        """
        if template is not None:
            return Template(template).cloze(self.id, self.subject)
        return first_slot(self.negated if negated else self.sentence, self.id, self.subject)


def first_slot(text: str, id: str, subject: str | None) -> Cloze:
    """The cloze of a text with one slot or more. Raises `UserError` for none."""
    left, slot, right = text.partition(SLOT)
    if not slot:
        raise UserError(f"{id}: {text!r} has no slot: write {SLOT}")
    return Cloze(id, left, right, subject)


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
    for number, row in read_rows(relation.path):
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
        elif _is_denied(row, where):
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
        if not isinstance(value, str) or not value.strip():
            raise UserError(f"{where}: {key} is no text: write a word")
    sentence, negated = (_sentence(row, key, where) for key in ("masked_sentences", "negated"))
    if relation.template is None and SLOT not in sentence:
        raise UserError(
            f"{where}: no template for {relation.name} and no {SLOT} in masked_sentences: "
            "write one of them"
        )
    id = str(row.get("uuid") or row.get("id") or where)
    fact = Fact(id, subject, answer, sentence, negated, _mentions(row))
    return _lowercase(fact) if lowercase else fact


def _sentence(row: dict[str, Any], key: str, where: str) -> str:
    sentences = row.get(key) or []
    if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
        raise UserError(f'{where}: {key} is no list of texts: write ["... {SLOT} ..."]')
    return " ".join(sentences)


def _mentions(row: dict[str, Any]) -> tuple[str, ...]:
    """Evidence sentences that hold the slot, without repetition."""
    sentences = (
        evidence.get("masked_sentence")
        for evidence in row.get("evidences") or ()
        if isinstance(evidence, dict)
    )
    return tuple(dict.fromkeys(s for s in sentences if isinstance(s, str) and SLOT in s))


def _lowercase(fact: Fact) -> Fact:
    def lower(text: str) -> str:
        return text.lower().replace(SLOT.lower(), SLOT)

    return Fact(
        fact.id,
        lower(fact.subject),
        lower(fact.object),
        lower(fact.sentence),
        lower(fact.negated),
        tuple(map(lower, fact.mentions)),
    )


def _is_denied(row: dict[str, Any], where: str) -> bool:
    """Whether more raters said no than yes; a tie keeps the fact."""
    try:
        votes = Counter(rating["judgment"] for rating in row.get("judgments") or ())
    except (TypeError, KeyError) as error:
        raise UserError(f'{where}: judgments want {{"rater", "judgment"}} each') from error
    return votes["no"] > votes["yes"]
