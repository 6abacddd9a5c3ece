"""Intervals for items that are not independent: synonyms share a synset, nouns a category."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from hyperprobe.statistics.intervals import (
    CONFIDENCE,
    are_few,
    interval,
    resampled_totals,
    wilson_interval,
)

SMALLEST_VARIANCE = 1e-15  # below it a mean is of equal numbers, but for rounding


class OverClusters(NamedTuple):
    """A mean with its interval over clusters, and how much wider clustering makes it.

    `design_effect` is the variance of the mean over that of as many independent items.
    """

    low: float
    high: float
    design_effect: float


def bootstrap_over(values: ArrayLike, clusters: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap 95 % interval of the mean of `values` [n], drawing whole clusters.

    NaN for no items.
    """
    totals, sizes = _totals(values, clusters)
    if not len(totals):
        return float("nan"), float("nan")
    # Clusters are sorted first, so that the order of the items does not choose the draws.
    order = np.lexsort((totals, sizes))
    pairs = np.stack([totals[order], sizes[order]], axis=1)
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    if not are_few(distinct, len(pairs)):  # which of them tie is a matter of rounding
        distinct, counts = pairs, np.ones(len(pairs), dtype=np.int64)
    sums = resampled_totals(counts, distinct, np.random.default_rng(seed))
    return interval(sums[:, 0] / sums[:, 1])


def interval_over_clusters(
    values: ArrayLike, clusters: ArrayLike, differences: bool = False
) -> OverClusters:
    """95 % interval of the mean of `values` over clusters, as if these were a sample.

    The variance of a ratio of totals (Cochran 1977, Sampling Techniques, section 11.8) with
    Student's t of one less than the number of clusters. For shares it is Wilson's interval
    with the effective number of items, and so never leaves [0, 1]; for `differences` it is
    symmetric. NaN with fewer than two clusters.
    """
    values = np.asarray(values, dtype=float)
    totals, sizes = _totals(values, clusters)
    k, n = len(totals), sizes.sum()
    if k < 2:
        return OverClusters(float("nan"), float("nan"), float("nan"))
    mean = totals.sum() / n
    variance = k / (k - 1) * float(((totals - mean * sizes) ** 2).sum()) / n**2
    independent = float(values[~np.isnan(values)].var()) / n
    constant = independent < SMALLEST_VARIANCE
    effect = 1.0 if constant else variance / independent
    quantile = float(stdtrit(k - 1, (1 + CONFIDENCE) / 2))
    if not differences:
        low, high = wilson_interval(float(mean), n / max(effect, 1e-9), quantile)
        # Of a constant outcome the items say nothing about their clustering: count the clusters.
        if constant:
            low, high = wilson_interval(float(mean), k, quantile)
        return OverClusters(low, high, effect)
    half = quantile * np.sqrt(variance)
    return OverClusters(float(mean - half), float(mean + half), effect)


def _totals(
    values: ArrayLike, clusters: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster, over the values that are there."""
    table = np.asarray(values, dtype=float)
    known = ~np.isnan(table)
    _, cluster_of = np.unique(np.asarray(clusters, dtype=str)[known], return_inverse=True)
    sums = np.bincount(cluster_of, table[known]).astype(np.float64)
    return sums, np.bincount(cluster_of).astype(np.float64)
