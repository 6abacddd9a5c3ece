"""Is success in one form tied to success in another, beyond what categories alone would give?

Any mixture of easy and hard categories makes two successes go together over all items. So they
are compared within categories, and as answers, wrong ones included.

The formulas are written out: statsmodels, which has them, takes half a second to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtr, ndtri

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
    test with continuity correction. NaN where no stratum has items that differ
    in both outcomes; an infinite ratio has no upper end.
    """
    x, y = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    strata = np.asarray(strata, dtype=str)
    tables = [_table(x[strata == name], y[strata == name]) for name in np.unique(strata)]
    # A stratum in which an outcome is constant says nothing about the two together.
    telling = [table for table in tables if table.sum(0).all() and table.sum(1).all()]
    if not telling:
        return NO_RATIO
    (a, b), (c, d) = np.dstack(telling).astype(float)
    n = a + b + c + d
    ad, bc = a * d, b * c
    same, other = (ad / n).sum(), (bc / n).sum()
    apart = abs((a - (a + b) * (a + c) / n).sum())
    variance = (a + b) * (a + c) * (b + d) * (c + d) / (n**2 * (n - 1))
    p = 1 - chdtr(1, (apart - 0.5) ** 2 / variance.sum())
    if not same or not other:
        return OddsRatio(np.inf if same else 0.0, float("nan"), float("nan"), float(p))
    differ = 1 - (a + d) / n
    variance = ((a + d) * ad / n**2).sum() / same**2
    variance += ((a + d) * bc / n**2 + differ * ad / n).sum() / (same * other)
    variance += (differ * bc / n).sum() / other**2
    centre, half = np.log(same / other), -ndtri((1 - CONFIDENCE) / 2) * np.sqrt(variance / 2)
    return OddsRatio(
        float(same / other), float(np.exp(centre - half)), float(np.exp(centre + half)), float(p)
    )


def _table(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.array([[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]])


def cohens_kappa(first: ArrayLike, second: ArrayLike) -> Kappa:
    """Agreement of two lists of answers [n] beyond chance (Cohen 1960).

    The interval is by the asymptotic variance of Fleiss, Cohen & Everitt (1969). NaN when there
    is no item; 1 cannot be told from chance, and so is NaN, when both always give one answer.
    """
    a, b = np.asarray(first, dtype=str), np.asarray(second, dtype=str)
    names, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    if len(names) < 2:
        return Kappa(float("nan"), float("nan"), float("nan"))
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (index[: len(a)], index[len(a) :]), 1)
    n, shares = len(a), counts / len(a)
    of_first, of_second = counts.sum(1) / n, counts.sum(0) / n
    same, chance = np.diag(counts).sum() / n, np.diag(of_second * of_first[:, None]).sum()
    kappa = (same - chance) / (1 - chance)
    apart = shares * (of_second[:, None] + of_first) ** 2
    np.fill_diagonal(apart, 0)
    variance = (np.diag(shares) * (1 - (of_first + of_second) * (1 - kappa)) ** 2).sum()
    variance += (1 - kappa) ** 2 * apart.sum()
    variance -= (kappa - chance * (1 - kappa)) ** 2
    with np.errstate(invalid="ignore"):  # rounding may take a variance of 0 below it
        half = ndtri((1 + CONFIDENCE) / 2) * np.sqrt(variance / (1 - chance) ** 2 / n)
    return Kappa(float(kappa), float(max(-1.0, kappa - half)), float(min(1.0, kappa + half)))


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
