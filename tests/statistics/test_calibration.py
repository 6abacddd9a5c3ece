"""Calibration takes a bias away and nothing else; ties are shared."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hyperprobe.models.base import rank_scores
from hyperprobe.statistics.calibration import calibrated, without_prior
from hyperprobe.statistics.ranks import success as of_rank

SCORES = arrays(np.float64, (6, 3), elements=st.floats(-20, 0, width=32))


def success(scores: np.ndarray, gold: np.ndarray) -> np.ndarray:
    ranking = rank_scores(scores, list(gold), 1)
    return of_rank(ranking.gold_rank, ranking.gold_tied)


def test_by_hand() -> None:
    scores = np.array([[-1.0, -3.0], [-2.0, -3.0], [-3.0, -6.0]])
    # First item: the others' means are -2.5 and -4.5.
    expected = [[1.5, 1.5], [0.0, 1.5], [-1.5, -3.0]]
    np.testing.assert_allclose(calibrated(scores), expected)
    np.testing.assert_allclose(without_prior(scores, np.array([-1.0, -2.0]))[0], [0.0, -1.0])


def test_a_constant_bias_is_chance_to_the_last_digit() -> None:
    bias = np.random.default_rng(0).normal(size=9).astype(np.float32).astype(float)
    scores = np.tile(bias, (576, 1))
    gold = np.arange(576) % 9
    np.testing.assert_array_equal(success(calibrated(scores), gold), np.full(576, 1 / 9))
    assert success(scores, gold).mean() == pytest.approx(1 / 9)  # raw: the favourite's share


def test_knowledge_is_seen_through_a_bias() -> None:
    random = np.random.default_rng(1)
    gold = np.arange(90) % 9
    knows = np.eye(9)[gold] * 2.0
    biased = knows + np.linspace(0, 50, 9) + random.normal(scale=0.1, size=(90, 9))
    assert success(biased, gold).mean() == pytest.approx(1 / 9)
    assert success(calibrated(biased), gold).all()


@given(SCORES, arrays(np.float64, 3, elements=st.floats(-50, 50, width=16)))
def test_a_shift_of_categories_changes_nothing(scores: np.ndarray, shift: np.ndarray) -> None:
    np.testing.assert_allclose(calibrated(scores), calibrated(scores + shift), atol=1e-4)


def test_unscored_items_count_nowhere() -> None:
    scores = np.array([[-1.0, -3.0], [np.nan, np.nan], [-2.0, -3.0], [-np.inf, -6.0]])
    found = calibrated(scores)
    assert np.isnan(found[1]).all()
    assert found[3, 0] == -np.inf
    np.testing.assert_allclose(found[0], [1.0, 1.5])
    np.testing.assert_array_equal(success(found, np.array([0, 0, 1, 0])), [0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(calibrated(scores[:1]), [[0.0, 0.0]])
