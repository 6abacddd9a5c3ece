"""Question by question: which answers are right, raw and calibrated, from predictions alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.statistics.calibration import without_bias
from hyperprobe.statistics.ranks import success

TRANSITIVITY, TYPICALITY = "transitivity", "typicality"
PLAIN = "plain question"  # the first of the wordings
KEYS = ("diagnostic", "model", "probe", "question", "item")
ABOUT = ("hypernym", "synset", "zipf", "distance", "rating")


def outcomes(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row for each question, with `raw` and `calibrated` outcomes, `chance` and the `margin`;
    the questions of transitivity, which follow from others, are among them.

    An outcome is 1 where the right candidate alone scores highest, a fraction where it ties, 0
    where it cannot be scored. `chance` is one of the candidates. The margin is the calibrated
    score of the right candidate less the best other one, NaN where either has none; `unscored`
    says that the right one has none.
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
    table["unscored"] = ~np.isfinite(flat["scores"][is_gold])
    best_other = np.maximum.reduceat(np.where(is_gold, -np.inf, _finite(adjusted)), starts)
    gold = adjusted[is_gold]
    with np.errstate(invalid="ignore"):
        margin = gold - best_other
    table["margin"] = np.where(np.isfinite(margin), margin, np.nan)
    return pd.concat([table, _transitivity(table)], ignore_index=True)


def _transitivity(asked: pd.DataFrame) -> pd.DataFrame:
    """Questions whose premises hold: where a model is right that a robin is a bird, asked plainly,
    and that a bird is an animal, is it right that a robin is an animal? (Lin & Ng 2022)

    One for each step above the category. `chance` is the share of all nouns of the category that
    are right at that step, whether the model knows their category or not.
    """
    keys = ["diagnostic", "model"]
    steps = asked[(asked["probe"] == "steps") & (asked["calibrated"] == 1)]
    plain = asked[(asked["probe"] == "wordings") & (asked["question"] == PLAIN)]
    known = plain.loc[plain["calibrated"] == 1, [*keys, "item"]]
    above = steps[[*keys, "question", "item"]].rename(columns={"item": "hypernym"})
    chains = asked[asked["probe"] == "levels"].merge(above, on=[*keys, "question", "hypernym"])
    step = chains.groupby([*keys, "question", "hypernym"])["calibrated"]
    chains = chains.assign(probe=TRANSITIVITY, chance=step.transform("mean"))
    return chains.merge(known, on=[*keys, "item"])[asked.columns]


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
