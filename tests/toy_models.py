"""Models of a formula: what they know, and how they are biased, is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.base import Ranking, rank_scores

EXTENDED = "lm-diagnostic-extended"
ASKED = load_set(EXTENDED)
FRAME = ASKED.frame
CATEGORIES = tuple(FRAME["hypernym"].drop_duplicates())
ZIPF = dict(zip(FRAME["hyponym"], FRAME["zipf"], strict=True))
ZIPF |= dict(zip(FRAME["hyponym_plural"], FRAME["zipf"], strict=True))
GOLD = dict(zip(FRAME["hyponym"], FRAME["hypernym"].map(CATEGORIES.index), strict=True))
GOLD |= dict(zip(FRAME["hyponym_plural"], FRAME["hypernym"].map(CATEGORIES.index), strict=True))
SINGULAR = dict(zip(FRAME["hyponym_plural"], FRAME["hyponym"], strict=True))
SINGULAR |= {noun: noun for noun in FRAME["hyponym"]}

N = len(CATEGORIES)
Row = NDArray[np.float64]
# (form of the prompt, noun, random numbers of the text) -> scores of the nine categories
Formula = Callable[[str, str, np.random.Generator], Row]
CONTROLS = ("control", "bare")


class Toy:
    """A language model that scores the nine categories by a formula, whatever else is asked."""

    kind, reads_text, max_tokens, n_tokens = "masked", True, 512, N

    def __init__(self, name: str, formula: Formula, seed: int = 0) -> None:
        self.name, self.formula, self.seed = name, formula, seed

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> NDArray[np.float32]:
        plural = not set(candidates.words) <= set(CATEGORIES)
        order = [CATEGORIES.index(singular_of(word)) for word in candidates.words]
        rows = [self._row(cloze, plural)[order] for cloze in clozes]
        return np.array(rows, dtype=np.float32)

    def _row(self, cloze: Cloze, plural: bool) -> Row:
        random = np.random.default_rng(crc32(f"{self.seed} {cloze.text}".encode()))
        noun = SINGULAR.get(cloze.subject or "", "")
        form = form_of(cloze)
        return self.formula(f"{form}s" if plural else form, noun, random)

    def rank_open(
        self, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        candidates = CandidateSet(CATEGORIES)
        ranking = self.rank(clozes, candidates, [candidates.index.get(g) for g in gold], k)
        return ranking, [[CATEGORIES[i] for i in row] for row in ranking.top]

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        return rank_scores(self.score(clozes, candidates), gold, k)

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        return list(clozes)

    def words(self) -> list[str]:
        return list(CATEGORIES)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "seed": self.seed}

    def token_ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        return [(0,) for _ in texts]

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        return [True for _ in words]

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        return [True for _ in words]

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        return [1.0 for _ in texts]


def singular_of(word: str) -> str:
    return word if word in CATEGORIES else word.removesuffix("s")


def form_of(cloze: Cloze) -> str:
    """`control`, `bare`, `question`, `context`, or `free` for a prompt without a noun."""
    if cloze.subject is None:
        return "free"
    text = cloze.text.lower()
    if text == f"{cloze.subject.lower()} [mask].":
        return "control"
    if text == f"{cloze.subject.lower()} [mask]":
        return "bare"
    return "question" if cloze.subject_span else "context"


def draws(seed: int, *about: object) -> np.random.Generator:
    """Random numbers of a model (its seed) about something: a form, a noun."""
    return np.random.default_rng(crc32(f"{seed} {about}".encode()))


@cache
def bias(seed: int, form: str, size: float = 2.0) -> Row:
    """What each category gets from the form of the prompt alone."""
    row = draws(seed, "bias", form).normal(0, size, N)
    row.flags.writeable = False  # every prompt of the form has it
    return row


def majority(seed: int) -> Toy:
    """The commonest category, whatever is asked."""
    commonest = CATEGORIES.index(FRAME["hypernym"].mode()[0])
    return Toy("majority-toy", lambda form, noun, random: -5.0 * (np.arange(N) != commonest))


def constant(seed: int) -> Toy:
    """A bias for each category, another one in each form of prompt, and noise."""
    return Toy(
        "constant-toy",
        lambda form, noun, random: bias(seed, form) + random.normal(0, 0.2, N),
        seed,
    )


def frequency(seed: int, forms: Sequence[str] = ()) -> Toy:
    """The rarer the noun, the more it likes some categories: in all prompts, or in `forms`."""
    slopes = draws(seed, "slopes").normal(0, 1, N)

    def formula(form: str, noun: str, random: np.random.Generator) -> Row:
        biased = not forms or form.removesuffix("s") in forms
        slope = slopes * (ZIPF.get(noun, 0.0) if biased else 0.0)
        return slope + bias(seed, form) + random.normal(0, 0.2, N)

    return Toy("frequency-toy", formula, seed)


def uneven(seed: int) -> Toy:
    """Noise alone, wide for one category: for the commonest when asked, for the rarest else."""
    counts = FRAME["hypernym"].value_counts()
    rarest, commonest = (
        np.where(np.array(CATEGORIES) == counts.index[i], 5.0, 1.0) for i in (-1, 0)
    )

    def formula(form: str, noun: str, random: np.random.Generator) -> Row:
        spread = rarest if form.removesuffix("s") in CONTROLS else commonest
        return bias(seed, form) + spread * random.normal(0, 1, N)

    return Toy("uneven-toy", formula, seed)


def knowing(seed: int, asked: float = 0.85, alone: float = 0.5) -> Toy:
    """Knows a share of the nouns when asked, and fewer from the noun alone; it likes categories
    far more than that."""

    def formula(form: str, noun: str, random: np.random.Generator) -> Row:
        known = draws(seed, "known", noun).random()
        share = alone if form.removesuffix("s") in CONTROLS else asked
        scores = bias(seed, form, 6.0) + random.normal(0, 0.5, N)
        if noun and known < share:
            scores[GOLD[noun]] += 3.0
        return scores

    return Toy("knowing-toy", formula, seed)
