"""Scores without the bias of a prompt or of a word towards some categories.

A model that answers "fish" to whatever it is asked is right on every fish. Subtracting from each
category's score what the category gets anyway takes that away, without a look at the labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
# Scores are stored in single precision: below this, differences are rounding, and so ties.
DECIMALS = 6


def calibrated(scores: Scores) -> Scores:
    """`scores` [n_items, n_categories] minus each category's mean over the *other* items.

    Batch calibration (Zhou et al. 2024, arXiv 2309.17249), leaving one out. Items without
    scores (NaN) stay so and count in no mean; a category that an item cannot have (minus
    infinity) stays so too. With fewer than two scored items there is nothing to subtract: zeros.
    """
    known = np.isfinite(scores)
    n = known.sum(axis=0)
    total = np.where(known, scores, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        others = (total - scores) / np.maximum(n - 1, 1)
        centred = np.where(n > 1, scores - others, 0.0)
    result: Scores = np.where(known, np.round(centred, DECIMALS) + 0.0, scores)
    return result


def without_prior(scores: Scores, prior: NDArray[np.float64]) -> Scores:
    """`scores` [n_items, n_categories] minus the scores [n_categories] of a noun-free prompt.

    Pointwise mutual information of noun and category, up to a constant per item, if the scores
    are log-probabilities (Zhao et al. 2021; Holtzman et al. 2021).
    """
    result: Scores = np.round(scores - prior, DECIMALS) + 0.0
    return result


def success(scores: Scores, gold: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chance [n_items] that gold is answered when ties are broken at random; NaN unscored.

    1 where gold alone scores highest, 1/(m+1) where it ties with m others, else 0.
    """
    own = scores[np.arange(len(scores)), gold]
    above = (scores > own[:, None]).sum(axis=1)
    tied = (scores == own[:, None]).sum(axis=1)
    unscored = np.isnan(scores).all(axis=1)
    right = np.where((above == 0) & np.isfinite(own), 1 / np.maximum(tied, 1), 0.0)
    return np.where(unscored, np.nan, right)


def answers(scores: Scores) -> NDArray[np.int64]:
    """The place [n_items] of the highest score, the first of tied ones; -1 for unscored items."""
    unscored = np.isnan(scores).all(axis=1)
    best = np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1)
    result: NDArray[np.int64] = np.where(unscored, -1, best)
    return result
