"""Weighted statistics against scikit-learn and scipy on items that are really repeated."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from hyperprobe.statistics.weighted import (
    average_precision,
    bootstrap,
    of_random_scores,
    spearman,
)

RANDOM = np.random.default_rng(5)
N = 60
SCORES = RANDOM.integers(0, 12, N).astype(float)  # with many ties
LABELS = RANDOM.random(N) < 0.3
GRADES = np.round(SCORES / 4 + RANDOM.normal(0, 1, N))
DRAWN = RANDOM.integers(0, 4, N)
REPEATED = np.repeat(np.arange(N), DRAWN)


def test_average_precision_is_scikit_learns():
    statistic = average_precision(SCORES, LABELS)
    assert statistic(np.ones(N)) == pytest.approx(average_precision_score(LABELS, SCORES))
    repeated = average_precision_score(LABELS[REPEATED], SCORES[REPEATED])
    assert statistic(DRAWN.astype(float)) == pytest.approx(repeated)


def test_spearman_is_scipys():
    statistic = spearman(SCORES, GRADES)
    assert statistic(np.ones(N)) == pytest.approx(spearmanr(SCORES, GRADES)[0])
    repeated = spearmanr(SCORES[REPEATED], GRADES[REPEATED])[0]
    assert statistic(DRAWN.astype(float)) == pytest.approx(repeated)


def test_what_cannot_be_said_is_nan():
    assert np.isnan(average_precision([1, 2], [1, 1])(np.ones(2)))
    assert np.isnan(average_precision([1, 2], [0, 0])(np.ones(2)))
    assert np.isnan(spearman([1, 1], [1, 2])(np.ones(2)))
    assert np.isnan(bootstrap(lambda weights: 1.0, ["a", "a"])).all()


def test_whole_clusters_are_drawn():
    """Two clusters, one all right and one all wrong: a sample is one, the other, or both."""
    outcome = np.array([1.0] * 5 + [0.0] * 5)
    seen = set()

    def mean(weights):
        value = (weights * outcome).sum() / weights.sum()
        seen.add(value)
        return value

    assert bootstrap(mean, ["a"] * 5 + ["b"] * 5) == (0, 1)
    assert seen == {0, 0.5, 1}


def test_random_scores_give_a_little_more_than_the_share_of_positives():
    """The expected average precision of a random order is known (Bestgen 2015)."""
    n, positives = 400, 100
    labels = np.arange(n) < positives
    mean, low, high = of_random_scores(average_precision, labels)
    harmonic = (1 / np.arange(1, n + 1)).sum()
    expected = (positives - 1) / (n - 1) + (n - positives) / (n * (n - 1)) * harmonic
    assert mean == pytest.approx(expected, abs=0.003)
    assert low < mean < high
