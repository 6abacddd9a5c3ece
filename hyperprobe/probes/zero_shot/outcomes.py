"""Item by item: which answers of one model are right, raw, calibrated and by PMI.

All from the scores in a predictions frame; nothing is asked again. Columns of scores are
`score_CATEGORY` and, of the prompts without the noun, `prior_CATEGORY`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.statistics.calibration import answers, calibrated, without_prior
from hyperprobe.statistics.calibration import success as success_by_scores
from hyperprobe.statistics.ranks import success

OPEN = ("open_p_at_1", "open_p_at_5")
CLOSED = ("singular", "plural", "contextual")
PAIRED = {
    "paired_singular_plural": ("singular", "plural"),
    "paired_aggregate": ("singular", "plural", "contextual"),
}
METRICS = (*OPEN, *CLOSED, *PAIRED)
CALIBRATED, PMI = "_calibrated", "_pmi"
SCORE, PRIOR = "score_", "prior_"  # prefixes of columns


def outcome_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per item and one column per raw metric, for one model and set.

    1 is right, 0 wrong, NaN not asked. A gold that ties counts by its `success` (a
    fraction), and pairs as if every tie were broken by itself.
    """
    wide = predictions.pivot(index="item", columns="probe", values=["gold_rank", "gold_tied"])
    right = pd.DataFrame(index=wide.index)
    for name, probe, k in (
        ("open_p_at_1", "open", 1),
        ("open_p_at_5", "open", 5),
        *((name, name, 1) for name in CLOSED),
    ):
        asked = ("gold_rank", probe) in wide
        right[name] = (
            success(wide["gold_rank", probe], wide["gold_tied", probe], k) if asked else np.nan
        )
    return _with_pairs(right, "")


def calibrated_outcomes(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per item; of every closed and paired metric a column `_calibrated` and one `_pmi`.

    As in `outcome_table`. An item that the model cannot score is wrong, and counts in no mean;
    without the scores of noun-free prompts (vectors, baselines) `_pmi` is NaN.
    """
    right = pd.DataFrame(index=pd.unique(predictions["item"]))
    right.index.name = "item"
    for probe, part, scores, gold in _closed(predictions):
        unscored = np.isnan(scores).all(axis=1)
        for suffix, adjusted in ((CALIBRATED, calibrated(scores)), (PMI, _pmi(part, scores))):
            if adjusted is None:
                continue
            outcome = np.where(unscored, 0.0, success_by_scores(adjusted, gold))
            right[f"{probe}{suffix}"] = pd.Series(outcome, index=part["item"].to_numpy())
    for suffix in (CALIBRATED, PMI):
        for probe in CLOSED:
            if f"{probe}{suffix}" not in right:
                right[f"{probe}{suffix}"] = np.nan
        right = _with_pairs(right, suffix)
    return right


def calibrated_answers(predictions: pd.DataFrame) -> pd.DataFrame:
    """The calibrated answer of each item (a category, None unscored): one column per probe."""
    columns = {}
    for probe, part, scores, _ in _closed(predictions):
        names = np.array([*_categories(part), None], dtype=object)
        columns[probe] = pd.Series(names[answers(calibrated(scores))], index=part["item"])
    return pd.DataFrame(columns)


def scored_items(predictions: pd.DataFrame, probe: str) -> pd.Series:
    """Whether the model can score each item of a closed probe, by item."""
    part = predictions[predictions["probe"] == probe].set_index("item")
    return part["gold_rank"] > 0


def _closed(
    predictions: pd.DataFrame,
) -> Iterator[tuple[str, pd.DataFrame, NDArray[np.float64], NDArray[np.int64]]]:
    """(probe, its rows, scores [n_items, n_categories], index of gold [n_items])."""
    for probe in CLOSED:
        part = predictions[predictions["probe"] == probe]
        names = _categories(part)
        if part.empty or not names:
            continue
        index = {name: i for i, name in enumerate(names)}
        gold = np.array([index[name] for name in part["hypernym"]], dtype=np.int64)
        yield probe, part, part[[f"{SCORE}{name}" for name in names]].to_numpy(float), gold


def _categories(part: pd.DataFrame) -> list[str]:
    """The categories that competed, in order."""
    columns = [str(c) for c in part.columns if str(c).startswith(SCORE)]
    return [c.removeprefix(SCORE) for c in columns if part[c].notna().any()]


def _pmi(part: pd.DataFrame, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
    names = [f"{PRIOR}{name}" for name in _categories(part)]
    if any(name not in part for name in names):
        return None
    prior = part[names].to_numpy(float)
    return None if np.isnan(prior).all() else without_prior(scores, prior)


def _with_pairs(right: pd.DataFrame, suffix: str) -> pd.DataFrame:
    for name, probes in PAIRED.items():
        right[f"{name}{suffix}"] = right[[f"{p}{suffix}" for p in probes]].prod(
            axis=1, min_count=len(probes)
        )
    return right
