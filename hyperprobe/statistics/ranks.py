"""The rank of the right candidate, and how much a tie counts.

A rank is 1 + the number of candidates that score strictly higher. A right candidate
that ties with m others shares their ranks: any order of the m + 1 is as likely as any
other, and an outcome is its mean over those orders.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Stand(NamedTuple):
    """The standing of the gold candidate of each row [n]; arrays or tensors, as the scores are."""

    score: Any
    above: Any  # how many candidates score strictly higher
    tied: Any  # how many others score exactly the same
    tied_before: Any  # how many of those come earlier among the candidates


def stand_of(scores: Any, gold: Any, arange: Callable[[int], Any] = np.arange) -> Stand:
    """The `Stand` of the candidates `gold` [n] in `scores` [n, n_candidates].

    Numpy arrays, or torch tensors with a torch `arange` on their device. A gold score
    of NaN has none above and -1 tied.
    """
    score = scores[arange(len(gold)), gold]
    same = scores == score[:, None]
    tied = same.sum(1) - 1
    before = tied
    if (tied > 0).any():
        before = (same & (arange(scores.shape[1]) < gold[:, None])).sum(1)
    return Stand(score, (scores > score[:, None]).sum(1), tied, before)


def success(rank: ArrayLike, tied: ArrayLike, k: int = 1) -> Floats:
    """The chance that gold is among the first k: 1 or 0 without ties.

    Of the ranks `rank` to `rank + tied`, the share that is at most k. Rank 0, a gold
    that cannot be scored, is wrong; NaN, a question that was not asked, stays NaN.
    """
    rank, tied = np.asarray(rank, dtype=float), np.asarray(tied, dtype=float)
    share: Floats = np.clip((k - rank + 1) / (tied + 1), 0, 1)
    return np.where(rank == 0, 0.0, share)


def reciprocal(rank: ArrayLike, tied: ArrayLike) -> Floats:
    """The mean of 1/`rank` to 1/(`rank + tied`), 0 for rank 0."""
    rank, tied = np.asarray(rank, dtype=int), np.asarray(tied, dtype=int)
    last = rank + tied
    sums = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, last.max(initial=0) + 1))])
    first = np.maximum(rank, 1)
    alone = tied == 0  # (exactly 1 / rank)
    mean = np.where(alone, 1 / first, (sums[last] - sums[first - 1]) / (tied + 1))
    result: Floats = np.where(rank == 0, 0.0, mean)
    return result


def more(first: ArrayLike, second: ArrayLike) -> Floats:
    """1 where the first is greater, 0 where it is less, a half where they are equal."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    result: Floats = (a > b) + (a == b) / 2
    return result


def rank_correlations(a: ArrayLike, b: ArrayLike) -> Floats:
    """Spearman correlations [n] of the rows of two matrices, NaN for a row of equal numbers."""
    from scipy.stats import rankdata

    x, y = (rankdata(scores, axis=1) for scores in (a, b))
    x, y = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (x, y))
    norm = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    result: Floats = np.full(len(norm), np.nan)
    np.divide((x * y).sum(axis=1), norm, out=result, where=norm > 0)
    return result
