"""Intervals and tests for outcomes of items: yes or no, or a fraction where gold ties."""

from __future__ import annotations

from collections.abc import Sized
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, ndtri

N_RESAMPLES = 4000
CONFIDENCE = 0.95
FEW, FEW_SHARE = 20, 1 / 50  # distinct values, and their share of all values
AT_ONCE, COUNTS_AT_ONCE = 500_000, 1_000_000  # values, or how often each comes, drawn


def resampled_means(values: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Means [n_resamples] of bootstrap samples of `values` [n_items].

    Draws how often each distinct value comes where there are few, as of yes-no
    outcomes, and indices in sorted order where there are many.
    """
    values = np.sort(np.asarray(values, dtype=float))
    distinct, counts = np.unique(values, return_counts=True)
    random, n = np.random.default_rng(seed), len(values)
    means: NDArray[np.float64]
    if are_few(distinct, n):
        means = resampled_totals(counts, distinct, random) / n
    else:
        step = max(1, AT_ONCE // n)
        sizes = [(min(step, N_RESAMPLES - i), n) for i in range(0, N_RESAMPLES, step)]
        drawn = (random.integers(0, n, size, dtype=np.int32) for size in sizes)
        means = np.concatenate([values[indices].mean(axis=1) for indices in drawn])
    return means


def are_few(distinct: Sized, n: int) -> bool:
    """Whether n values have so few distinct ones that it is quicker to draw how often each comes,
    as of yes-no outcomes."""
    return len(distinct) <= max(FEW, FEW_SHARE * n)


def resampled_totals(
    counts: NDArray[np.int64], values: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.float64]:
    """Sums [n_resamples, ...] of bootstrap samples in which `values` [n_distinct, ...] came
    `counts` times.

    Draws how often each comes, some samples at once: their number changes no draw.
    """
    n = counts.sum()
    step = max(1, COUNTS_AT_ONCE // len(counts))
    totals = np.zeros((N_RESAMPLES, *values.shape[1:]))
    for start in range(0, N_RESAMPLES, step):
        some = totals[start : start + step]
        drawn = random.multinomial(n, counts / n, len(some))
        # (a matrix product adds up in an order that depends on the processor and the threads)
        for i in np.ndindex(values.shape[1:]):
            some[:, *i] = (drawn * values[:, *i]).sum(axis=1)
    return totals


def interval(statistics: NDArray[np.float64]) -> tuple[float, float]:
    """The percentile 95 % interval of bootstrapped statistics [n_resamples]."""
    low, high = np.quantile(statistics, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def bootstrap_difference(first: ArrayLike, second: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Percentile bootstrap 95 % interval of mean(first) - mean(second), two separate samples."""
    return interval(resampled_means(first, seed) - resampled_means(second, seed + 1))


def mcnemar_exact(first: ArrayLike, second: ArrayLike) -> tuple[int, int, float]:
    """Exact McNemar test of two models on the same items.

    Returns how many items only the first has right, how many only the second,
    and the two-sided p-value of a binomial test on those (1.0 when there are none).
    Right is an outcome of 1: the test counts items, so one that ties is not right.
    """
    a, b = np.asarray(first) == 1, np.asarray(second) == 1
    if a.shape != b.shape:
        raise ValueError(f"outcomes on different items: {a.shape} and {b.shape}")
    only_first, only_second = int((a & ~b).sum()), int((b & ~a).sum())
    return only_first, only_second, _sign_test(only_first, only_first + only_second)


@lru_cache(10_000)  # many pairs of models and metrics share their counts
def _sign_test(k: int, n: int) -> float:
    """The two-sided p-value of `k` heads in `n` throws of a fair coin, 1.0 of none.

    As `scipy.stats.binomtest`, but scipy.stats takes long to import.
    """
    fewer = min(k, n - k)
    return float(2 * betainc(n - fewer, fewer + 1, 0.5)) if 2 * fewer + 1 < n else 1.0


def wilson_interval(share: float, n: float, quantile: float | None = None) -> tuple[float, float]:
    """Wilson's score 95 % interval of a share of n items; NaN for none.

    `quantile` stands in for the normal one where fewer things than items vary.
    """
    if n <= 0:
        return float("nan"), float("nan")
    z = ndtri((1 + CONFIDENCE) / 2) if quantile is None else quantile
    centre = share + z * z / (2 * n)
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return float((centre - spread) / (1 + z * z / n)), float((centre + spread) / (1 + z * z / n))


def newcombe_interval(first: float, n: int, second: float, m: int) -> tuple[float, float]:
    """95 % interval of the difference of two shares of separate items, known only as shares.

    Newcombe (1998), "Interval estimation for the difference between independent
    proportions", method 10.
    """
    low, high = wilson_interval(first, n)
    other_low, other_high = wilson_interval(second, m)
    difference = first - second
    return (
        difference - float(np.hypot(first - low, other_high - second)),
        difference + float(np.hypot(high - first, second - other_low)),
    )


def fisher_interval(correlation: float, n: int) -> tuple[float, float]:
    """95 % interval of a correlation of `n` pairs by Fisher's transformation; NaN for n < 4.

    Of Spearman's the standard error is that of Bonett & Wright (2000).
    """
    if n < 4 or not abs(correlation) <= 1:
        return float("nan"), float("nan")
    if abs(correlation) == 1:
        return correlation, correlation
    half = ndtri((1 + CONFIDENCE) / 2) * np.sqrt((1 + correlation**2 / 2) / (n - 3))
    centre = np.arctanh(correlation)
    return float(np.tanh(centre - half)), float(np.tanh(centre + half))
