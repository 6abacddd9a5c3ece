"""Is success in one form tied to success in another, beyond what categories alone would give?

Any mixture of easy and hard categories makes two successes go together over all items. So they
are compared within categories, and as answers, wrong ones included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from hyperprobe.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    import pandas as pd


class OddsRatio(NamedTuple):
    """The common odds ratio with its 95 % interval, and the two-sided p-value of "it is 1"."""

    ratio: float
    low: float
    high: float
    p_value: float


class Kappa(NamedTuple):
    """Cohen's kappa with its 95 % interval."""

    kappa: float
    low: float
    high: float


ALPHA = 0.05  # of adjusted tests
NO_RATIO = OddsRatio(*[float("nan")] * 4)


def common_odds_ratio(first: ArrayLike, second: ArrayLike, strata: ArrayLike) -> OddsRatio:
    """Cochran-Mantel-Haenszel: two yes-no outcomes [n] of the same items, within strata.

    The Mantel-Haenszel estimate, the interval of Robins, Breslow & Greenland (1986), and the
    test with continuity correction, by statsmodels. NaN where no stratum has items that differ
    in both outcomes; an infinite ratio has no upper end.
    """
    from statsmodels.stats.contingency_tables import StratifiedTable

    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    strata = np.asarray(strata, dtype=str)
    tables = [_table(a[strata == name], b[strata == name]) for name in np.unique(strata)]
    # A stratum in which an outcome is constant says nothing about the two together.
    telling = [table for table in tables if table.sum(0).all() and table.sum(1).all()]
    if not telling:
        return NO_RATIO
    with np.errstate(divide="ignore", invalid="ignore"):
        stratified = StratifiedTable(np.dstack(telling).astype(float))
        ratio = float(stratified.oddsratio_pooled)
        p = float(stratified.test_null_odds(correction=True).pvalue)
        if not np.isfinite(ratio) or ratio == 0:
            return OddsRatio(ratio, float("nan"), float("nan"), p)
        low, high = stratified.oddsratio_pooled_confint(1 - CONFIDENCE)
    return OddsRatio(ratio, float(low), float(high), p)


def _table(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.array([[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]])


def cohens_kappa(first: ArrayLike, second: ArrayLike) -> Kappa:
    """Agreement of two lists of answers [n] beyond chance (Cohen 1960), by statsmodels.

    The interval is by the asymptotic variance of Fleiss, Cohen & Everitt (1969). NaN when there
    is no item; 1 cannot be told from chance, and so is NaN, when both always give one answer.
    """
    from statsmodels.stats.inter_rater import cohens_kappa as kappa_of

    a, b = np.asarray(first, dtype=str), np.asarray(second, dtype=str)
    names, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(names) < 2:
        return Kappa(float("nan"), float("nan"), float("nan"))
    table = np.zeros((len(names), len(names)))
    np.add.at(table, (index[: len(a)], index[len(a) :]), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = kappa_of(table)
    half = ndtri((1 + CONFIDENCE) / 2) * float(found.std_kappa)
    kappa = float(found.kappa)
    return Kappa(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm-adjusted p-values of one family of tests, NaN where there is none (Holm 1979).

    As statsmodels' `multipletests`, which collects garbage at each call: a fifth of a second.
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values)[: int((~np.isnan(values)).sum())]  # (NaN is sorted last)
    stepped = values[order] * np.arange(len(order), 0, -1)
    adjusted = np.full(len(values), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return adjusted


def with_holm(table: pd.DataFrame, family: str = "diagnostic") -> pd.DataFrame:
    """The table with `p_holm`: its column `p_value` adjusted over all tests of a set (of equal
    `family`)."""
    if table.empty:
        return table.assign(p_holm=[])
    return table.assign(p_holm=table.groupby(family)["p_value"].transform(holm))


def is_gain(row: pd.Series, effect: str = "adds") -> bool:
    """Whether a row shows that an effect is above zero: its interval over items, its interval over
    categories and its Holm-adjusted test all say so."""
    return bool(
        row[f"{effect}_low"] > 0 and row["p_holm"] < ALPHA and row[f"{effect}_categories_low"] > 0
    )
