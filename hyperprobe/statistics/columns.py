"""Columns of a table: a mean, and the ends of its bootstrap interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hyperprobe.statistics.intervals import bootstrap_difference, bootstrap_interval


def mean_columns(
    name: str, values: ArrayLike, seed: int = 0, scale: float = 100
) -> dict[str, float]:
    """`NAME`, `NAME_low` and `NAME_high`: the mean of `values` and its 95 % interval, times
    `scale`; NaN without any."""
    array = np.asarray(values, dtype=float)
    low, high = bootstrap_interval(array, seed=seed)
    mean = float(array.mean()) if len(array) else float("nan")
    return {name: scale * mean, f"{name}_low": scale * low, f"{name}_high": scale * high}


def difference_columns(first: ArrayLike, second: ArrayLike, seed: int = 0) -> dict[str, float]:
    """`difference` of the means of two separate samples of shares, in points, with its ends."""
    low, high = bootstrap_difference(first, second, seed)
    difference = np.mean(np.asarray(first, float)) - np.mean(np.asarray(second, float))
    return {
        "difference": 100 * float(difference),
        "difference_low": 100 * low,
        "difference_high": 100 * high,
    }
