"""Variance components are recovered from outcomes whose components are known."""

from __future__ import annotations

import numpy as np
import pytest

from hyperprobe.statistics.generalisability import generalisability


def simulated(random: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Components .5 (category), 1 (noun), .7 (wording), 1.5 (residual)."""
    categories = np.arange(n) % 300
    table = random.normal(0, np.sqrt(0.5), 300)[categories][:, None]
    table = table + random.normal(0, 1, n)[:, None] + random.normal(0, np.sqrt(0.7), k)
    return table + random.normal(0, np.sqrt(1.5), (n, k))


def test_known_components_come_back() -> None:
    random = np.random.default_rng(0)
    runs = [generalisability(simulated(random, 1500, 60), np.arange(1500) % 300) for _ in range(60)]
    category, noun, wording, residual, *_ = np.mean(runs, axis=0)
    assert category == pytest.approx(0.5, rel=0.05)
    assert noun == pytest.approx(1.0, rel=0.05)
    assert wording == pytest.approx(0.7, rel=0.05)
    assert residual == pytest.approx(1.5, rel=0.05)


def test_the_coefficient_is_cronbachs_alpha() -> None:
    table = simulated(np.random.default_rng(1), 200, 12)
    k = table.shape[1]
    alpha = k / (k - 1) * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    found = generalisability(table, np.zeros(200))
    assert found.coefficient == pytest.approx(alpha)
    # Spearman and Brown: so many wordings give .8.
    single = found.coefficient / (k - (k - 1) * found.coefficient)
    assert found.n_needed == pytest.approx(0.8 * (1 - single) / (0.2 * single))


def test_edges() -> None:
    same = generalisability(np.ones((5, 3)), list("aabbb"))
    assert same.noun == same.wording == same.residual == 0
    assert np.isnan(same.coefficient)
    assert np.isnan(generalisability(np.ones((1, 3)), ["a"])).all()
    only_nouns = generalisability(np.repeat([[0.0], [1.0], [0.0], [1.0]], 4, axis=1), list("aabb"))
    assert only_nouns.coefficient == 1
    assert only_nouns.n_needed == 0
