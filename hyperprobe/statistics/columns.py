"""Columns of a table: a number, and the ends of its 95 % interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hyperprobe.statistics.clusters import bootstrap_over
from hyperprobe.statistics.intervals import (
    bootstrap_difference,
    wilson_interval,
)


def share_columns(name: str, outcomes: ArrayLike) -> dict[str, float]:
    """`NAME`, `NAME_low` and `NAME_high`: a share in percent with Wilson's interval over items.

    Outcomes that are NaN were not asked; NaN for no item.
    """
    values = np.asarray(outcomes, dtype=float)
    values = values[~np.isnan(values)]
    mean = float(values.mean()) if len(values) else float("nan")
    low, high = wilson_interval(mean, len(values))
    return {name: 100 * mean, f"{name}_low": 100 * low, f"{name}_high": 100 * high}


def paired_columns(
    name: str, differences: ArrayLike, clusters: ArrayLike, seed: int = 0, scale: float = 100
) -> dict[str, float]:
    """`NAME`, `NAME_low` and `NAME_high`: the mean of paired differences times `scale`, with the
    bootstrap interval over `clusters` (synsets: synonyms are not two items)."""
    values = np.asarray(differences, dtype=float)
    low, high = bootstrap_over(values, clusters, seed)
    mean = float(np.nanmean(values)) if len(values) else float("nan")
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
