"""Tests within categories, against formulas written out by hand."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.inter_rater import cohens_kappa as kappa_of_statsmodels
from statsmodels.stats.multitest import multipletests

from hyperprobe.statistics.stratified import cohens_kappa, common_odds_ratio, holm


def outcomes(tables: list[tuple[int, int, int, int]]) -> tuple[list[int], list[int], list[int]]:
    """Items of strata with so many (both, first only, second only, neither)."""
    first: list[int] = []
    second: list[int] = []
    strata: list[int] = []
    for i, (both, one, other, neither) in enumerate(tables):
        first += [1] * (both + one) + [0] * (other + neither)
        second += [1] * both + [0] * one + [1] * other + [0] * neither
        strata += [i] * (both + one + other + neither)
    return first, second, strata


def test_cmh_by_hand() -> None:
    tables = [(20, 5, 4, 11), (8, 6, 3, 13), (15, 2, 7, 9)]
    found = common_odds_ratio(*outcomes(tables))
    ratio = sum(a * d / (a + b + c + d) for a, b, c, d in tables) / sum(
        b * c / (a + b + c + d) for a, b, c, d in tables
    )
    assert found.ratio == pytest.approx(ratio)
    excess = variance = 0.0
    for a, b, c, d in tables:
        n = a + b + c + d
        excess += a - (a + b) * (a + c) / n
        variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1))
    statistic = (abs(excess) - 0.5) ** 2 / variance
    assert found.p_value == pytest.approx(float(chi2.sf(statistic, 1)))
    assert found.low < ratio < found.high


def test_cmh_and_kappa_are_those_of_statsmodels() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        tables = random.integers(1, 30, (5, 4))
        theirs = StratifiedTable([table.reshape(2, 2) for table in tables])
        p = theirs.test_null_odds(correction=True).pvalue
        wanted = [theirs.oddsratio_pooled, *theirs.oddsratio_pooled_confint(), p]
        ours = common_odds_ratio(*outcomes([tuple(table) for table in tables]))
        assert ours == pytest.approx(wanted, rel=1e-12, abs=1e-15)
        counts = random.integers(0, 30, (4, 4))
        first, second = (np.repeat(side.ravel(), counts.ravel()) for side in np.indices((4, 4)))
        kappa = kappa_of_statsmodels(counts)
        ends = [max(-1, kappa.kappa_low), min(1, kappa.kappa_upp)]
        assert cohens_kappa(first, second) == pytest.approx([kappa.kappa, *ends], rel=1e-12)


def test_easy_and_hard_categories_alone_give_nothing() -> None:
    """Independent successes within categories of 95 and 10 %: together they look tied."""
    random = np.random.default_rng(0)
    strata = np.repeat([0, 1], 400)
    chance = np.where(strata == 0, 0.95, 0.1)
    first, second = random.random(800) < chance, random.random(800) < chance
    pooled = common_odds_ratio(first, second, np.zeros(800))
    within = common_odds_ratio(first, second, strata)
    assert pooled.ratio > 20
    assert within.low < 1 < within.high


def test_strata_without_variation_are_left_out() -> None:
    tables = [(20, 5, 4, 11), (30, 0, 0, 0), (0, 12, 0, 0)]
    assert common_odds_ratio(*outcomes(tables)) == common_odds_ratio(*outcomes(tables[:1]))
    assert np.isnan(common_odds_ratio(*outcomes(tables[1:]))).all()
    assert common_odds_ratio(*outcomes([(10, 0, 0, 10)])).ratio == np.inf


def test_kappa_by_hand_and_by_scikit_learn() -> None:
    first = ["bird"] * 25 + ["fish"] * 25
    second = ["bird"] * 20 + ["fish"] * 5 + ["bird"] * 10 + ["fish"] * 15
    found = cohens_kappa(first, second)
    assert found.kappa == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert found.low < found.kappa < found.high
    assert np.isnan(cohens_kappa(["bird"] * 5, ["bird"] * 5)).all()


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, np.nan, 0.03]), [0.03, 0.06, np.nan, 0.06])
    assert np.isnan(holm([np.nan])).all()
    assert len(holm([])) == 0


def test_holm_is_statsmodels() -> None:
    p_values = np.random.default_rng(0).integers(0, 60, 200) / 1000  # with ties
    gc.freeze()  # theirs collects garbage, over all objects of a test run
    theirs = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(p_values), theirs)
