"""Evidence sentences as words, with what they state and what they mention.

T-REx gives a sentence, the surfaces of subject and object in it, and the object's place;
Google-RE a snippet of one sentence or a few, in which the labels are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hyperprobe.cloze import SLOT
from hyperprobe.documents import Document, check
from hyperprobe.errors import UserError
from hyperprobe.probes.lama.protocol import read_facts
from hyperprobe.probes.lama.sources import Relation

MAX_WORDS = 100  # of a sentence; the rest is not read
MAX_MENTIONS = 10  # of a sentence, from its beginning
LONGEST_NAME = 6  # words of a name that is looked up
N_FOLDS = 2
_WORD = re.compile(r"\w+|[^\w\s]")
_IN_NAMES = frozenset({"of", "de", "du", "la", "von", "van", "der", "di", "da", "-", "'"})
# No names, in capitals or as a surface.
_NO_NAMES = frozenset(
    "a an the this that these those he she it they we i you his her its their him them who which "
    "in on at by of for from to with as after before during when while although because since "
    "and but or if there some many most all both each other another one two is was are were be "
    "has had have also however not no january february march april may june july august september "
    "october november december".split()
)

Span = tuple[int, int]  # first word, and one beyond the last
Words = tuple[str, ...]


class Sighting(Document):
    """An evidence of a fact, in T-REx's layout or in Google-RE's."""

    masked_sentence: str | None = None
    sub_surface: str | None = None
    obj_surface: str | None = None
    snippet: str | None = None


class Evidenced(Document):
    """What is read of a row of facts."""

    sub_label: str | None = None
    obj_label: str | None = None
    evidences: list[Sighting] | None = None


@dataclass(frozen=True)
class Statement:
    """A fact that a sentence states; `spans` of its subject and object, none where not found."""

    relation: str  # SOURCE/NAME
    subject: str
    object: str
    spans: tuple[Span, Span] | None


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence, and the facts that it is evidence of."""

    words: Words
    statements: tuple[Statement, ...]

    def text(self, span: Span) -> str:
        return " ".join(self.words[slice(*span)])


def words_of(text: str) -> Words:
    """Words and punctuation marks."""
    return tuple(_WORD.findall(text))


def spaced(text: str) -> str:
    """The text with one space between its words and marks: how strings are compared."""
    return " ".join(words_of(text))


def relation_key(relation: Relation) -> str:
    """What a relation is called among those of several sources."""
    return f"{relation.source}/{relation.name}"


def read_sentences(relations: Iterable[Relation]) -> list[Sentence]:
    """The distinct evidence sentences of all facts in the relations' files.

    Their order does not depend on that of the relations. Raises `UserError` for a damaged row,
    and unless there are sentences about two subjects, so that one can be trained without the
    other's.
    """
    found: dict[Words, dict[Statement, None]] = {}
    relations = sorted(relations, key=relation_key)
    for relation in relations:
        for number, row in read_facts(relation.path):
            about = check(Evidenced, row, f"{relation.path}, line {number}")
            if about.sub_label and about.obj_label:
                for sighting in about.evidences or ():
                    for words, spans in _seen(sighting, about.sub_label, about.obj_label):
                        said = Statement(
                            relation_key(relation), about.sub_label, about.obj_label, spans
                        )
                        found.setdefault(words, {})[said] = None
    sentences = [Sentence(words, tuple(said)) for words, said in found.items()]
    if len({said.subject for one in sentences for said in one.statements}) < N_FOLDS:
        names = ", ".join(relation.name for relation in relations[:5])
        raise UserError(
            f"--baseline re: no evidence sentences of two subjects in {names}: choose a source "
            "that brings evidences, such as trex or google-re"
        )
    return sentences


def _seen(
    sighting: Sighting, subject: str, answer: str
) -> Iterator[tuple[Words, tuple[Span, Span] | None]]:
    """The words of an evidence and the places of both; nothing for one without a sentence."""
    masked, surface = sighting.masked_sentence, sighting.obj_surface
    if masked and surface and SLOT in masked:
        left, _, right = masked.partition(SLOT)
        before, inside = words_of(left), words_of(surface)
        words = before + inside + words_of(right.replace(SLOT, surface))
        place: Span | None = (len(before), len(before) + len(inside))
        names = [sighting.sub_surface or subject]
    elif sighting.snippet:
        words = words_of(sighting.snippet)
        # (a life is told in order: of several places the last one is where it ended)
        place = next(reversed(list(_places(words, words_of(answer)))), None)
        names = [subject, *subject.split()[-1:]]
    else:
        return
    words = words[:MAX_WORDS]
    if not words:
        return
    others = (span for name in names for span in _places(words, words_of(name)))
    if place is None or place[1] > len(words) or place[0] == place[1]:
        yield words, None
    else:
        of_subject = next((span for span in others if not _overlap(span, place)), None)
        yield words, of_subject and (of_subject, place)


def _places(words: Words, sought: Words) -> Iterator[Span]:
    if sought:
        for i in range(len(words) - len(sought) + 1):
            if words[i : i + len(sought)] == sought:
                yield i, i + len(sought)


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


# -- folds ----------------------------------------------------------------------------------


def folds_of_subjects(sentences: Sequence[Sentence], seed: int) -> dict[str, int]:
    """Subject in lower case -> its fold; as many in each."""
    subjects = sorted({said.subject.lower() for one in sentences for said in one.statements})
    order = np.random.default_rng(seed).permutation(len(subjects))
    return {subjects[int(i)]: place % N_FOLDS for place, i in enumerate(order)}


def split(
    sentences: Sequence[Sentence], folds: Mapping[str, int], fold: int
) -> tuple[list[Sentence], list[int]]:
    """The sentences that train the net of a fold, and the numbers of those it extracts from.

    Those that are evidence of a fact about a subject of the fold are extracted from; the others
    train. No sentence is in both.
    """
    tested = [
        i
        for i, one in enumerate(sentences)
        if any(folds[said.subject.lower()] == fold for said in one.statements)
    ]
    asked = set(tested)
    return [one for i, one in enumerate(sentences) if i not in asked], tested


# -- mentions -------------------------------------------------------------------------------


def names_in(sentences: Iterable[Sentence]) -> frozenset[Words]:
    """The names of all subjects and objects stated: labels, and surfaces in the sentences."""
    names: set[Words] = set()
    for one in sentences:
        for said in one.statements:
            names |= {words_of(said.subject), words_of(said.object)}
            names |= {one.words[slice(*span)] for span in said.spans or ()}
    return frozenset(
        name
        for name in names
        if 0 < len(name) <= LONGEST_NAME
        and any(map(str.isalpha, "".join(name)))
        and not (len(name) == 1 and name[0].lower() in _NO_NAMES)
    )


def find_mentions(words: Words, names: frozenset[Words], known: Iterable[Span] = ()) -> list[Span]:
    """At most `MAX_MENTIONS` spans that do not overlap, in order: those `known`, and others.

    A mention is the longest of `names` that begins at a word, or a run of capitalised words, if
    that is longer.
    """
    kept: list[Span] = []
    for span in known:
        if not any(_overlap(span, other) for other in kept):
            kept.append(span)
    i = 0
    while i < len(words):
        end = max(_name_end(words, i, names), _capitals_end(words, i))
        if end == i:
            i += 1
            continue
        if len(kept) < MAX_MENTIONS and not any(_overlap((i, end), other) for other in kept):
            kept.append((i, end))
        i = end
    return sorted(kept[:MAX_MENTIONS])


def _name_end(words: Words, i: int, names: frozenset[Words]) -> int:
    lengths = range(min(LONGEST_NAME, len(words) - i), 0, -1)
    return i + next((n for n in lengths if words[i : i + n] in names), 0)


def _capitals_end(words: Words, i: int) -> int:
    """Where the run of capitalised words ends that begins at i: at i for none."""
    if not _is_capital(words[i]):
        return i
    end = i + 1
    for j in range(i + 1, len(words)):
        if _is_capital(words[j]):
            end = j + 1
        elif words[j] not in _IN_NAMES and not _ends_initial(words, j):
            break
    return end


def _ends_initial(words: Words, i: int) -> bool:
    return words[i] == "." and len(words[i - 1]) <= 2


def _is_capital(word: str) -> bool:
    return word[0].isupper() and word.lower() not in _NO_NAMES
