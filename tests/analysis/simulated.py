"""Predictions whose right answers are known: two categories, calibrated as raw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.outcomes import Outcomes, each_outcome


def answered(
    right: Mapping[str, Any], zipf: Any = 3.0, model: str = "m", **columns: Any
) -> pd.DataFrame:
    """Predictions on birds (odd items) and fish that are right where `right` says, by probe.

    The better category's score is 0, the other's -1: a difference of means that is less than 1
    changes no answer, so that calibrated outcomes are the raw ones.
    """
    parts = []
    for probe, outcomes in right.items():
        is_right = np.asarray(outcomes, dtype=bool)
        n = len(is_right)
        is_bird = np.arange(n) % 2 == 1
        says_bird = is_right == is_bird
        gold = np.where(is_bird, "bird", "fish")
        names = [f"x{i}" for i in range(n)]
        part = {
            "diagnostic": "d", "model": model, "probe": probe, "item": names, "hyponym": names,
            "hypernym": gold, "gold": gold, "synset": names, "zipf": zipf,
            "gold_rank": np.where(is_right, 1, 2), "gold_tied": 0,
            "best": np.where(says_bird, "bird", "fish"), "margin": 0.0,
            "score_bird": np.where(says_bird, 0.0, -1.0),
            "score_fish": np.where(says_bird, -1.0, 0.0),
        }  # fmt: skip
        parts.append(pd.DataFrame(part | columns))
    return pd.concat(parts, ignore_index=True)


def made(n: int = 40, model: str = "m") -> pd.DataFrame:
    """Singular and plural predictions on n nouns with frequencies that matter a little."""
    random = np.random.default_rng(3)
    zipf = random.uniform(1, 4, n).round(2)
    right = {"singular": random.random(n) < zipf / 4, "plural": random.random(n) < 0.5}
    return answered(right, zipf, model)


def scored(predictions: pd.DataFrame) -> Outcomes:
    """What analyses of outcomes are given."""
    return each_outcome(predictions, scored=True)
