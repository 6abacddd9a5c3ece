"""Differences between groups of items, adjusted for what else the groups differ in.

The formulas are written out: statsmodels, which has them, takes a quarter of a second to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from hyperprobe.statistics.intervals import CONFIDENCE

FEWEST = 20  # residual degrees of freedom, below which nothing is adjusted


class Effect(NamedTuple):
    """A difference in the outcome's unit with its 95 % interval, and the p-value of "it is 0"."""

    effect: float
    low: float
    high: float
    p_value: float


NO_EFFECT = Effect(*[float("nan")] * 4)


def adjusted_effects(
    outcomes: ArrayLike,
    effects: Mapping[str, ArrayLike],
    covariates: Mapping[str, ArrayLike],
    categories: ArrayLike,
    clusters: ArrayLike,
) -> dict[str, Effect]:
    """The coefficients of `effects`, each [n], beside `covariates` and a level per category.

    Least squares on `outcomes` [n]; intervals and tests by a covariance that is robust to
    clusters (Liang & Zeger 1986; with statsmodels' and Stata's correction for few clusters, and
    Student's t of one less than their number). Items that lack an outcome or a covariate are left
    out. NaN where outcomes do not differ, where the items cannot tell the effects from the rest,
    and where fewer than `FEWEST` of them, or of the clusters, are more than the coefficients.
    """
    columns = {**effects, **covariates}
    y = np.asarray(outcomes, dtype=float)
    table = np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])
    known = ~np.isnan(y) & ~np.isnan(table).any(axis=1)
    y, table = y[known], table[known]
    _, groups = np.unique(np.asarray(clusters, dtype=str)[known], return_inverse=True)
    design = np.column_stack([table, _levels(np.asarray(categories, dtype=str)[known])])
    n_clusters = len(np.unique(groups))
    if n_clusters - design.shape[1] < FEWEST or np.ptp(y) == 0:
        return dict.fromkeys(effects, NO_EFFECT)
    if any(_is_spanned(design, i) for i in range(len(effects))):
        return dict.fromkeys(effects, NO_EFFECT)

    coefficients, errors = _least_squares(y, design, groups)
    half = stdtrit(n_clusters - 1, (1 + CONFIDENCE) / 2) * errors
    with np.errstate(divide="ignore", invalid="ignore"):  # of an exact fit there is no error
        p_values = 2 * stdtr(n_clusters - 1, -np.abs(coefficients / errors))
    found = zip(coefficients, coefficients - half, coefficients + half, p_values, strict=True)
    return {
        name: Effect(*map(float, numbers)) for name, numbers in zip(effects, found, strict=False)
    }


def _least_squares(
    y: NDArray[np.float64], design: NDArray[np.float64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The coefficients [k] of `design` [n, k], and their standard errors robust to `groups` [n]."""
    inverse = np.linalg.pinv(design)
    coefficients = inverse @ y
    gradients = design * (y - design @ coefficients)[:, None]
    sums = np.array([np.bincount(groups, column) for column in gradients.T]).T
    bread = inverse @ inverse.T
    (n, k), n_groups = design.shape, len(sums)
    covariance = bread @ (sums.T @ sums) @ bread.T
    covariance *= n_groups / (n_groups - 1) * ((n - 1) / (n - k))
    return coefficients, np.sqrt(np.diag(covariance))


def _levels(categories: NDArray[np.str_]) -> NDArray[np.float64]:
    """A column of 1 and 0 for each category [n, n_categories]."""
    levels: NDArray[np.float64] = (categories[:, None] == np.unique(categories)).astype(float)
    return levels


def _is_spanned(design: NDArray[np.float64], i: int) -> bool:
    """Whether column `i` is a mixture of the others, so that it has no effect of its own."""
    others = np.delete(design, i, axis=1)
    return bool(np.linalg.matrix_rank(others) == np.linalg.matrix_rank(design))
