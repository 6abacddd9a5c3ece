"""Adjusted effects against statsmodels' formulas, and recovered from outcomes that are made."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols

from hyperprobe.statistics.adjusted import adjusted_effects


def simulated(random: np.random.Generator, effect: float, n: int = 400) -> pd.DataFrame:
    """Yes-no outcomes: synsets of two, six categories of their own, `dose` worth `effect`.

    The dose is commoner in easy categories and among frequent words, so that a plain difference
    is too large. `group` is a synset: both its words go right or wrong together mostly.
    """
    group = np.arange(n) // 2
    category = group % 6
    frequency = random.normal(size=n)
    dose = random.random(n) < 0.2 + 0.1 * category * 0.9 + 0.1 * (frequency > 0)
    chance = 0.15 + 0.05 * category + 0.06 * np.clip(frequency, -1, 1) + effect * dose
    luck = np.where(random.random(n) < 0.6, random.random(n // 2)[group], random.random(n))
    right = (luck < chance).astype(float)
    return pd.DataFrame(
        {"right": right, "dose": dose.astype(int), "frequency": frequency,
         "category": [f"c{k}" for k in category], "group": group}
    )  # fmt: skip


def found(table: pd.DataFrame):
    return adjusted_effects(
        table["right"], {"dose": table["dose"]}, {"frequency": table["frequency"]},
        table["category"], table["group"],
    )["dose"]  # fmt: skip


def test_the_effect_is_that_of_statsmodels():
    table = simulated(np.random.default_rng(0), 0.2)
    fit = ols("right ~ dose + frequency + C(category)", table).fit(
        cov_type="cluster", cov_kwds={"groups": table["group"]}, use_t=True
    )
    low, high = fit.conf_int().loc["dose"]
    expected = (fit.params["dose"], low, high, fit.pvalues["dose"])
    assert tuple(found(table)) == pytest.approx(expected)
    missing = pd.concat([table, table.iloc[:9].assign(frequency=np.nan)])
    assert tuple(found(missing)) == pytest.approx(expected)


def test_known_effects_come_back_with_intervals_that_hold():
    random = np.random.default_rng(1)
    runs = pd.DataFrame([found(simulated(random, 0.2)) for _ in range(300)])
    assert runs["effect"].mean() == pytest.approx(0.2, abs=0.01)
    covered = ((runs["low"] < 0.2) & (runs["high"] > 0.2)).mean()
    assert 0.92 < covered < 0.98
    nothing = pd.DataFrame([found(simulated(random, 0.0)) for _ in range(300)])
    assert (nothing["p_value"] < 0.05).mean() < 0.08


def test_what_cannot_be_told_apart_is_empty():
    table = simulated(np.random.default_rng(2), 0.2)
    assert np.isnan(found(table.iloc[:40]).effect)  # 20 synsets, 8 coefficients
    assert np.isnan(found(table.assign(right=1.0)).effect)
    assert np.isnan(found(table.assign(dose=table["category"].eq("c1").astype(int))).effect)
    assert np.isfinite(found(table.iloc[:80]).effect)
