"""Accuracy with a threshold that is set on a few pairs, as hypernymysuite measures it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_SPLITS, SHARE, SEED = 1000, 0.02, 42  # of hypernymysuite: its numbers depend on them

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def threshold_accuracy(
    score: Floats, label: Floats, reverse: Floats | None = None
) -> tuple[float, Floats]:
    """Mean accuracy on the other pairs with the threshold that is best for a random 2 %, over a
    thousand splits; and the share of the splits in which each pair [n] is right (NaN for a pair
    that is never among the others).

    A pair is said to be hypernymy (`label` 1 and not 0) if its `score` reaches the threshold.
    With the scores of the `reverse` pairs, the higher of the two counts, and the answer is 1 or
    -1, whichever direction scores higher (1 if they are equal). NaN for too few pairs to split.
    """
    # The old generator: its draws are those of the splits.
    random = np.random.RandomState(SEED)
    answer = np.ones(len(label))
    if reverse is not None:
        answer, score = np.where(score >= reverse, 1.0, -1.0), np.maximum(score, reverse)
    right, asked, means = np.zeros(len(label)), np.zeros(len(label)), []
    for _ in range(N_SPLITS):
        tuning = random.rand(len(label)) < SHARE
        if not tuning.any() or tuning.all():
            continue
        threshold = best_threshold(score[tuning], label[tuning] != 0)
        hits = np.where(score >= threshold, answer, 0) == label
        means.append(hits[~tuning].mean())
        right += hits & ~tuning
        asked += ~tuning
    of_pair = np.full(len(label), np.nan)
    np.divide(right, asked, out=of_pair, where=asked > 0)
    return (float(np.mean(means)) if means else float("nan")), of_pair


def best_threshold(score: Floats, positive: Booleans) -> float:
    """Of the scores [n] the one that gives the most right answers as a threshold; the lowest of
    equally good ones."""
    order = np.argsort(score, kind="stable")
    score, positive = score[order], positive[order]
    first = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    negatives_below = np.append(0, np.cumsum(~positive))[first]
    positives_above = positive.sum() - np.append(0, np.cumsum(positive))[first]
    return float(score[first[int(np.argmax(negatives_below + positives_above))]])
