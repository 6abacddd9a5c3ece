"""Average precision and Spearman's correlation of weighted items, and their intervals.

A bootstrap sample is a weight for each item, how often it was drawn, so that nothing is sorted
again for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperprobe.statistics.intervals import interval

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]  # of weights [n]
N_SAMPLES = 1000  # bootstrap samples, and random scores: each costs a pass over all items


def average_precision(scores: ArrayLike, labels: ArrayLike) -> Statistic:
    """The average precision of `scores` [n] for `labels` [n] of 1 and 0, as a function of weights.

    The mean over the positives of the precision at their score; equal scores share theirs.
    NaN without positives or without negatives.
    """
    values, is_positive = np.asarray(scores, dtype=float), np.asarray(labels, dtype=float) == 1
    order = np.argsort(-values, kind="stable")
    descending = values[order]
    last = np.flatnonzero(np.append(descending[1:] != descending[:-1], True))
    # Precision counts where there are positives: the other scores are left out of what follows.
    positives = np.flatnonzero(is_positive[order])
    at = np.searchsorted(last, positives)
    ends, group = np.unique(last[at], return_inverse=True) if len(at) else (at, at)
    positives = order[positives]

    def statistic(weights: Floats) -> float:
        gained = np.bincount(group, weights[positives])
        found = np.cumsum(gained)
        seen = np.cumsum(weights[order])
        if not len(found) or not 0 < found[-1] < seen[-1]:
            return float("nan")
        return float((gained * found / np.maximum(seen[ends], 1e-12)).sum() / found[-1])

    return statistic


def spearman(x: ArrayLike, y: ArrayLike) -> Statistic:
    """Spearman's correlation of `x` and `y` [n] as a function of weights; equal values share the
    mean of their ranks. NaN where one of the two does not vary."""
    sides = [np.unique(np.asarray(side, dtype=float), return_inverse=True)[1] for side in (x, y)]

    def statistic(weights: Floats) -> float:
        total = weights.sum()
        centred = []
        for value in sides:
            of_value = np.bincount(value, weights)
            ranks = (np.cumsum(of_value) - of_value / 2)[value]
            centred.append(ranks - (weights * ranks).sum() / max(total, 1e-12))
        a, b = centred
        spread = np.sqrt((weights * a * a).sum() * (weights * b * b).sum())
        return float((weights * a * b).sum() / spread) if spread > 1e-9 else float("nan")

    return statistic


def bootstrap(statistic: Statistic, clusters: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap 95 % interval of a statistic of items [n], drawing whole clusters.

    NaN where there is one cluster, or no sample has the statistic.
    """
    names, cluster_of = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    n = len(names)
    if n < 2:
        return float("nan"), float("nan")

    def samples() -> Iterator[float]:
        random = np.random.default_rng(seed)
        for _ in range(N_SAMPLES):
            drawn = np.bincount(random.integers(0, n, n), minlength=n)
            yield statistic(drawn[cluster_of].astype(np.float64))

    return _ends(np.fromiter(samples(), dtype=float, count=N_SAMPLES))


def of_random_scores(
    make: Callable[[ArrayLike, ArrayLike], Statistic], gold: ArrayLike, seed: int = 0
) -> tuple[float, float, float]:
    """Mean and central 95 % of a statistic of scores and `gold` [n] over random scores: what
    knowing nothing gives. `make` is `average_precision` or `spearman`."""
    random, known = np.random.default_rng(seed), np.asarray(gold, dtype=float)
    # (the gold in random order: the scores need not be sorted again)
    scores, weights = -np.arange(len(known), dtype=float), np.ones(len(known))
    values = (make(scores, random.permutation(known))(weights) for _ in range(N_SAMPLES))
    found = np.fromiter(values, dtype=float, count=N_SAMPLES)
    mean = float("nan") if np.isnan(found).all() else float(np.nanmean(found))
    return mean, *_ends(found)


def _ends(values: Floats) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    return interval(values) if len(values) else (float("nan"), float("nan"))
