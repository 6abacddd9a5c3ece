"""Question by question: which answers are right, raw and calibrated, from predictions alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.statistics.calibration import without_bias
from hyperprobe.statistics.ranks import success

KEYS = ("diagnostic", "model", "probe", "question", "item")
ABOUT = ("hypernym", "synset", "zipf", "distance", "rating")


def outcomes(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row for each question, with `raw` and `calibrated` outcomes, `chance` and the `margin`.

    An outcome is 1 where the right candidate alone scores highest, a fraction where it ties, 0
    where it cannot be scored. `chance` is one of the candidates. The margin is the calibrated
    score of the right candidate less the best other one, NaN where either has none.
    """
    sizes = predictions["candidates"].map(len).to_numpy()
    starts = np.cumsum(sizes) - sizes
    flat = {name: np.concatenate(predictions[name].to_list()) for name in ("scores", "bias")}
    names = np.concatenate([np.asarray(c, dtype=object) for c in predictions["candidates"]])
    is_gold = names == np.repeat(predictions["gold"].to_numpy(object), sizes)
    kept = [name for name in (*KEYS, *ABOUT) if name in predictions]
    table = predictions[kept].copy()
    adjusted = without_bias(flat["scores"], flat["bias"])
    table["raw"] = _right(flat["scores"], is_gold, starts, sizes)
    table["calibrated"] = _right(adjusted, is_gold, starts, sizes)
    table["chance"] = 1 / sizes
    best_other = np.maximum.reduceat(np.where(is_gold, -np.inf, _finite(adjusted)), starts)
    gold = adjusted[is_gold]
    with np.errstate(invalid="ignore"):
        margin = gold - best_other
    table["margin"] = np.where(np.isfinite(margin), margin, np.nan)
    return table


def _right(
    scores: NDArray[np.float64],
    is_gold: NDArray[np.bool_],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The outcomes [n_questions] of scores that lie one question behind the other."""
    gold = scores[is_gold]
    values, own = _finite(scores), np.repeat(gold, sizes)
    rank = 1 + np.add.reduceat(values > own, starts)
    tied = np.add.reduceat(values == own, starts) - 1
    return success(np.where(np.isfinite(gold), rank, 0), np.where(np.isfinite(gold), tied, 0))


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(scores), -np.inf, scores)
