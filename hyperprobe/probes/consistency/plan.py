"""What a probe asks and how its answers are read: blocks of clozes, and rows made of their scores.

A row is one question about one noun: the right candidate `gold` among `candidates`, their
`scores` [n_candidates], and the `bias` that calibration subtracts from each, what it scores for
other nouns in the same prompt. All probes come down to that, so that one function says which
answers are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import Cloze, parse_cloze
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.diagnostic.templates import Noun, fill_in
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block

COLUMNS = (
    "probe", "question", "item", "hypernym", "synset", "zipf", "distance", "rating", "gold",
    "candidates", "scores", "bias",
)  # fmt: skip
# Nouns for which no candidate of a question is right stand for all others: their mean score is the
# candidate's bias. Too few of them, or too small a corner of the set, say little of it.
N_OUTSIDE, MIN_OUTSIDE, MIN_SHARE = 20, 5, 0.05

Row = dict[str, Any]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A probe's blocks, and what makes rows of the scores of those blocks, in their order."""

    blocks: tuple[Block, ...]
    rows: Callable[[Sequence[Scores]], list[Row]]


@dataclass(frozen=True)
class Items:
    """The nouns of a set as a probe asks about them."""

    of_set: DiagnosticSet

    @cached_property
    def frame(self) -> pd.DataFrame:
        return self.of_set.frame

    @cached_property
    def nouns(self) -> list[str]:
        return list(self.frame["hyponym"])

    @cached_property
    def categories(self) -> list[str]:
        """The categories of the set, in its order."""
        return list(dict.fromkeys(self.frame["hypernym"]))

    @cached_property
    def gold(self) -> list[int]:
        """The index of each noun's category."""
        return [self.categories.index(category) for category in self.frame["hypernym"]]

    @cached_property
    def _article(self) -> Noun:
        """The one article before every slot, so that it gives nothing away."""
        return Noun("", "", self.of_set.common_article)

    def cloze(self, template: str, word: str, before: str = "") -> Cloze:
        """The template's prompt about a word, behind the text `before`."""
        text = before + fill_in(template, self.of_set.noun(word), self._article)
        return parse_cloze(text, f"{word} ({template})", word)

    def clozes(self, template: str) -> list[Cloze]:
        return [self.cloze(template, noun) for noun in self.nouns]

    @cached_property
    def _rows(self) -> list[Row]:
        columns = self.frame[["hyponym", "hypernym", "synset", "zipf"]].to_dict("records")
        # Synonyms are one item in a bootstrap; a word without a synset is its own.
        return [
            {
                "item": one["hyponym"],
                "hypernym": one["hypernym"],
                "synset": one["synset"] or one["hyponym"],
                "zipf": one["zipf"],
            }
            for one in columns
        ]

    def about(self, i: int) -> Row:
        """What the rows of the i-th noun say of it."""
        return self._rows[i]

    def of_category(self, category: str) -> list[int]:
        """The nouns of a category."""
        return [i for i, gold in enumerate(self.gold) if self.categories[gold] == category]

    def outside_categories(self) -> dict[str, list[int]]:
        """Category -> nouns of the others, for categories with enough of them."""
        found = {
            category: self.spread([i for i, gold in enumerate(self.gold) if gold != number])
            for number, category in enumerate(self.categories)
        }
        return {category: nouns for category, nouns in found.items() if nouns}

    def spread(self, indices: Sequence[int]) -> list[int]:
        """At most `N_OUTSIDE` of the indices, evenly spread over them; none of too few."""
        if len(indices) < max(MIN_OUTSIDE, MIN_SHARE * len(self.nouns)):
            return []
        at = np.linspace(0, len(indices) - 1, min(N_OUTSIDE, len(indices))).round().astype(int)
        return [indices[i] for i in at]


def mean_over(scores: Scores) -> Matrix:
    """The mean [n_candidates] of the finite scores [n_nouns, n_candidates]; NaN without one."""
    known = np.isfinite(scores)
    total = np.where(known, scores, 0.0).astype(float).sum(axis=0)
    result: Matrix = np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)
    return result


def row(
    probe: str,
    question: str,
    about: Row,
    gold: str,
    candidates: Sequence[str],
    scores: Any,
    bias: Any,
) -> Row:
    """One row of predictions."""
    return {
        "probe": probe,
        "question": question,
        **about,
        "gold": gold,
        "candidates": list(candidates),
        "scores": np.asarray(scores, dtype=np.float64),
        "bias": np.asarray(bias, dtype=np.float64),
    }
