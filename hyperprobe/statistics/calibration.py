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


def biases(scores: Scores) -> Scores:
    """What each score of `scores` [n_items, n_categories] would be on the other items: the
    category's mean over them, leaving one out.

    Items without scores (NaN) and categories that an item cannot have (minus infinity) count in
    no mean. NaN where no other item has a score.
    """
    known = np.isfinite(scores)
    n = known.sum(axis=0)
    total = np.where(known, scores, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        others = (total - np.where(known, scores, 0.0)) / np.maximum(n - known, 1)
        result: Scores = np.where(n - known > 0, others, np.nan)
    return result


def calibrated(scores: Scores) -> Scores:
    """`scores` [n_items, n_categories] minus each category's mean over the *other* items.

    Batch calibration (Zhou et al. 2024, arXiv 2309.17249), leaving one out. Items without
    scores (NaN) stay so and count in no mean; a category that an item cannot have (minus
    infinity) stays so too. With fewer than two scored items there is nothing to subtract: zeros.
    """
    return without_bias(scores, biases(scores))


def without_bias(scores: Scores, bias: Scores) -> Scores:
    """`scores` minus `bias`; zero where there is nothing to subtract (NaN), and what is not
    finite as it is."""
    centred = np.where(np.isnan(bias), 0.0, scores - bias)
    result: Scores = np.where(np.isfinite(scores), np.round(centred, DECIMALS) + 0.0, scores)
    return result


def without_prior(scores: Scores, prior: NDArray[np.float64]) -> Scores:
    """`scores` [n_items, n_categories] minus the scores [n_categories] of a noun-free prompt.

    Pointwise mutual information of noun and category, up to a constant per item, if the scores
    are log-probabilities (Zhao et al. 2021; Holtzman et al. 2021). A category that an item cannot
    have (minus infinity) stays so.
    """
    known = np.isfinite(prior)
    result: Scores = np.round(scores - np.where(known, prior, 0.0), DECIMALS) + 0.0
    return result
