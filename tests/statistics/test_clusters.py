"""Intervals over clusters: wide where clusters decide, ordinary where they do not."""

from __future__ import annotations

import numpy as np
import pytest

from hyperprobe.statistics.clusters import bootstrap_over, interval_over_clusters
from hyperprobe.statistics.intervals import interval, resampled_means

RANDOM = np.random.default_rng(0)


def test_items_of_their_own_are_the_ordinary_bootstrap() -> None:
    values = (RANDOM.random(400) < 0.7).astype(float)
    low, high = bootstrap_over(values, np.arange(400))
    other_low, other_high = interval(resampled_means(values))
    assert (low, high) == pytest.approx((other_low, other_high), abs=0.006)


def test_items_that_go_together_count_once() -> None:
    values = np.repeat((RANDOM.random(50) < 0.5).astype(float), 8)
    clusters = np.repeat(np.arange(50), 8)
    low, high = bootstrap_over(values, clusters)
    alone_low, alone_high = interval(resampled_means(values[::8]))
    assert high - low == pytest.approx(alone_high - alone_low, rel=0.1)
    assert interval_over_clusters(values, clusters).design_effect == pytest.approx(8, rel=0.05)


def test_order_and_names_do_not_matter() -> None:
    values = RANDOM.random(60)
    clusters = RANDOM.integers(0, 9, 60)
    order = RANDOM.permutation(60)
    other = bootstrap_over(values[order], clusters[order] + 100)
    assert bootstrap_over(values, clusters) == pytest.approx(other, abs=1e-12)
    one, two = (
        interval_over_clusters(v, c)
        for v, c in ((values, clusters), (values[order], clusters[order]))
    )
    assert one == pytest.approx(two)


def test_the_interval_covers_what_it_says() -> None:
    """Nine categories of very different ease: the mean of a new sample of nine lies inside."""
    covered = 0
    for _ in range(400):
        ease = RANDOM.beta(2, 1, 9)
        clusters = np.repeat(np.arange(9), 60)
        values = (RANDOM.random(540) < ease[clusters]).astype(float)
        found = interval_over_clusters(values, clusters)
        covered += found.low <= 2 / 3 <= found.high
    assert 0.91 <= covered / 400 <= 0.985


def test_ends_stay_between_0_and_1_and_are_never_a_point() -> None:
    for values in (np.ones(18), np.zeros(18), np.r_[np.ones(17), 0.0]):
        found = interval_over_clusters(values, np.repeat(np.arange(9), 2))
        assert 0 <= found.low < found.high <= 1
        assert found.high - found.low > 0.1


def test_differences_by_hand() -> None:
    # Two clusters of one item each: mean 0.5, variance of the mean 0.25, t(1) = 12.706.
    found = interval_over_clusters([1.0, 0.0, -1.0, 2.0], ["a", "b", "c", "d"], differences=True)
    spread = np.array([1.0, 0.0, -1.0, 2.0]).std(ddof=1) / 2 * 3.182446
    assert (found.low, found.high) == pytest.approx((0.5 - spread, 0.5 + spread), rel=1e-5)


def test_nothing_to_say() -> None:
    assert np.isnan(interval_over_clusters([1.0, 0.0], ["a", "a"])).all()
    assert np.isnan(bootstrap_over([], [])).all()
    assert np.isnan(bootstrap_over([np.nan], ["a"])).all()
