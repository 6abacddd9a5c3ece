import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import binom, binomtest, bootstrap

from hyperprobe.statistics.columns import share_columns
from hyperprobe.statistics.intervals import (
    N_RESAMPLES,
    interval,
    mcnemar_exact,
    resampled_means,
    resampled_totals,
)


def bootstrap_interval(values: ArrayLike, seed: int = 0) -> tuple[float, float]:
    return interval(resampled_means(values, seed))


outcomes = st.lists(st.booleans(), min_size=1, max_size=60)


@given(outcomes)
@settings(max_examples=50, deadline=None)
def test_an_interval_holds_its_mean_and_ignores_order(values: list[bool]):
    low, high = bootstrap_interval(values)
    assert 0 <= low <= np.mean(values) <= high <= 1
    assert bootstrap_interval(values[::-1]) == (low, high)


def test_the_interval_is_scipys():
    values = np.random.default_rng(3).random(300) < 0.6
    theirs = bootstrap(
        (values.astype(float),),
        np.mean,
        method="percentile",
        n_resamples=4000,
        random_state=np.random.default_rng(1),
    ).confidence_interval
    low, high = bootstrap_interval(values)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.24 / 300), rel=0.1)


def test_no_items_have_no_interval():
    assert np.isnan(list(share_columns("x", []).values())).all()


def test_seeds_are_honoured():
    values = np.random.default_rng(3).random(301)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
@settings(deadline=None)
def test_mcnemar_is_symmetric_and_a_probability(pairs: list[tuple[bool, bool]]):
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    only_a, only_b, p = mcnemar_exact(a, b)
    assert mcnemar_exact(b, a) == (only_b, only_a, pytest.approx(p))
    assert 0 < p <= 1
    assert only_a + only_b == sum(x != y for x, y in pairs)


def test_the_sign_test_is_that_of_scipy():
    for k, n in [(0, 1), (3, 7), (4, 8), (0, 20), (41, 60), (280, 576)]:
        _, _, p = mcnemar_exact([1] * k + [0] * (n - k), [0] * k + [1] * (n - k))
        assert p == pytest.approx(binomtest(k, n).pvalue, rel=1e-12)


def test_mcnemar_by_hand():
    # Six items only the first has right, one only the second: two-sided 2 * P(X <= 1 | 7, 1/2).
    a, b = [1] * 6 + [0] + [1] * 10, [0] * 6 + [1] + [1] * 10
    assert mcnemar_exact(a, b) == (6, 1, pytest.approx(2 * binom.cdf(1, 7, 0.5)))
    with pytest.raises(ValueError, match="different items"):
        mcnemar_exact([1], [1, 0])


def test_many_draws_are_the_same_in_any_blocks(monkeypatch: pytest.MonkeyPatch):
    counts, values = np.array([3, 5, 2, 90]), np.array([[0.0], [1.0], [0.5], [0.25]])
    whole = resampled_totals(counts, values, np.random.default_rng(1))
    monkeypatch.setattr("hyperprobe.statistics.intervals.COUNTS_AT_ONCE", 100)
    blocks = resampled_totals(counts, values, np.random.default_rng(1))
    assert np.array_equal(whole, blocks) and whole.shape == (N_RESAMPLES, 1)


def test_counts_and_indices_draw_from_the_same_distribution(monkeypatch: pytest.MonkeyPatch):
    ranks = np.random.default_rng(0).geometric(0.1, 5000)
    by_counts = interval(resampled_means(1 / ranks))
    monkeypatch.setattr("hyperprobe.statistics.intervals.FEW_SHARE", 0)
    by_indices = interval(resampled_means(1 / ranks))
    assert by_counts != by_indices
    assert by_counts == pytest.approx(by_indices, abs=1e-3)
    assert by_counts[1] - by_counts[0] == pytest.approx(by_indices[1] - by_indices[0], rel=0.05)
