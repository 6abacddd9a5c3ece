"""Models of a formula that read the prompts of the consistency probes: what they know is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from wordfreq import zipf_frequency

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.diagnostic.sets import DiagnosticSet, load_set
from hyperprobe.lexicon.taxonomy import ancestors
from hyperprobe.probes.consistency.typicality import ratings
from tests.toy_models import Toy

EXTENDED = load_set("lm-diagnostic-extended")
# Eight nouns of each category: fewer of the rare ones, so that majority pays.
FRAME = EXTENDED.frame.groupby("hypernym", sort=False).head(8).reset_index(drop=True)
SMALL: DiagnosticSet = replace(EXTENDED, frame=FRAME)
CATEGORY = dict(zip(EXTENDED.frame["hyponym"], EXTENDED.frame["hypernym"], strict=True))
RATED = {(r.item, r.category): float(r.rating) for r in ratings().itertuples()}
_STATEMENT = re.compile(r"(?:A|An) ([a-z]+) is an? (.+?)\. ")


@cache
def zipf(word: str) -> float:
    return zipf_frequency(word, "en")


# (text with the slot, the word that it asks about, candidate) -> score
Score = Callable[[str, str, str], float]


class Reader(Toy):
    """A language model whose scores are a function of text, subject and candidate."""

    def __init__(self, name: str, score: Score) -> None:
        super().__init__(name, lambda form, noun, random: np.zeros(9))
        self._of = score

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> NDArray[np.float32]:
        rows = [
            [self._of(cloze.text, cloze.subject or "", word) for word in candidates.words]
            for cloze in clozes
        ]
        return np.array(rows, dtype=np.float32)

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        return [False for _ in words]


@cache
def kinds(noun: str) -> frozenset[str]:
    """All names of what a noun is, by WordNet and by the ratings."""
    taxonomy = EXTENDED.taxonomy
    nodes = {*EXTENDED.frame.loc[EXTENDED.frame["hyponym"] == noun, "synset"]}
    nodes |= {f"{noun}.n.01"} if noun in CATEGORY.values() else set()
    above = {kind for node in nodes for kind in ancestors(taxonomy, node)}
    rated = {category for item, category in RATED if item == noun}
    return frozenset(word for kind in above for word in taxonomy.words(kind)) | rated


def knowing() -> Reader:
    """Knows what each noun is, what "is not" and the order of a sentence mean, who is who, and
    which words are typical; it likes frequent words, too."""

    def score(text: str, subject: str, word: str) -> float:
        noun = premises(text).get(subject, subject)
        known = 6.0 - 0.3 * RATED.get((noun, word), 1.0) if word in kinds(noun) else 0.0
        if text.startswith((f"A {SLOT}", SLOT, f"{subject} {SLOT}")):
            known = 0.0  # nothing is asserted of the subject
        if " is not " in text:
            known = -known
        return known + zipf(word)

    return Reader("knowing-toy", score)


def associating() -> Reader:
    """Knows which words go together: a noun, its category, its co-hyponyms and their parts. Word
    order, negation and who is who are nothing to it."""

    def score(text: str, subject: str, word: str) -> float:
        return 6.0 * len(topics(word) & topics_of(text))

    return Reader("associating-toy", score)


@cache
def premises(text: str) -> dict[str, str]:
    return dict(_STATEMENT.findall(text))


@cache
def topics_of(text: str) -> frozenset[str]:
    return frozenset(t for word in re.findall("[a-z]+", text.lower()) for t in topics(word))


@cache
def topics(word: str) -> frozenset[str]:
    """The categories that a word goes together with."""
    found = {CATEGORY[word]} if word in CATEGORY else set()
    found |= {word} if word in CATEGORY.values() else set()
    found |= {category for item, category in RATED if item == word}
    taxonomy = EXTENDED.taxonomy
    for category in dict.fromkeys(CATEGORY.values()):
        node = f"{category}.n.01"
        near = [node, *ancestors(taxonomy, node)]
        if any(word == part for kind in near for part in taxonomy.parts(kind)):
            found.add(category)
    return frozenset(found)


def frequent() -> Reader:
    """Answers the more frequent word, whatever is asked."""
    return Reader("frequent-toy", lambda text, subject, word: zipf(word))


def rare() -> Reader:
    """Likes frequent words the more, the rarer the subject is: a bias that calibration cannot
    take away."""

    def score(text: str, subject: str, word: str) -> float:
        return zipf(word) * (8 - zipf(subject)) / 4

    return Reader("rare-toy", score)
