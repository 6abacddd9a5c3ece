"""Differences between groups of items, adjusted for what else the groups differ in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    clusters (Liang & Zeger 1986; Student's t of one less than their number), by statsmodels.
    Items that lack an outcome or a covariate are left out. NaN where outcomes do not differ,
    where the items cannot tell the effects from the rest, and where fewer than `FEWEST` of
    them, or of the clusters, are more than the coefficients.
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

    from statsmodels.regression.linear_model import OLS

    fit = OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    ends = fit.conf_int(1 - CONFIDENCE)
    return {
        name: Effect(
            float(fit.params[i]), float(ends[i][0]), float(ends[i][1]), float(fit.pvalues[i])
        )
        for i, name in enumerate(effects)
    }


def _levels(categories: NDArray[np.str_]) -> NDArray[np.float64]:
    """A column of 1 and 0 for each category [n, n_categories]."""
    levels: NDArray[np.float64] = (categories[:, None] == np.unique(categories)).astype(float)
    return levels


def _is_spanned(design: NDArray[np.float64], i: int) -> bool:
    """Whether column `i` is a mixture of the others, so that it has no effect of its own."""
    others = np.delete(design, i, axis=1)
    return bool(np.linalg.matrix_rank(others) == np.linalg.matrix_rank(design))
