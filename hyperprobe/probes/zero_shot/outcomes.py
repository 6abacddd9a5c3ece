"""Item by item: which answers of one model are right, raw, calibrated and by PMI.

All from the scores in a predictions frame; nothing is asked again. Columns of scores are
`score_CATEGORY` and, of the prompts without the noun, `prior_CATEGORY`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hyperprobe.models.base import Ranking, rank_scores
from hyperprobe.statistics.calibration import calibrated, without_prior
from hyperprobe.statistics.ranks import success

OPEN = ("open_p_at_1", "open_p_at_5")
CLOSED = ("singular", "plural", "contextual")
PAIRED = {
    "paired_singular_plural": ("singular", "plural"),
    "paired_aggregate": ("singular", "plural", "contextual"),
}
METRICS = (*OPEN, *CLOSED, *PAIRED)
RAW, CALIBRATED, PMI = "", "_calibrated", "_pmi"  # suffixes of metrics
SCORE, PRIOR = "score_", "prior_"  # prefixes of columns


def outcome_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per item and one column per metric, for one model and set.

    Of closed and paired metrics one column each raw, `_calibrated` and `_pmi`. 1 is right, 0
    wrong, NaN not asked. A gold that ties counts by its `success` (a fraction), and pairs as if
    every tie were broken independently. An item that the model cannot score is wrong, and counts
    in no mean; without the scores of noun-free prompts (vectors, baselines) `_pmi` is NaN.
    """
    items = pd.Index(np.sort(predictions["item"].unique()), name="item")
    asked = {str(probe): rows for probe, rows in predictions.groupby("probe", sort=False)}
    right: dict[str, pd.Series] = {}
    for name, k in zip(OPEN, (1, 5), strict=True):
        right[name] = _stored(asked.get("open"), k).reindex(items)
    for suffix in (RAW, CALIBRATED, PMI):
        for probe in CLOSED:
            one = right_answers(asked[probe], suffix) if probe in asked else pd.Series(dtype=float)
            right[f"{probe}{suffix}"] = one.reindex(items)
        for name, probes in PAIRED.items():
            together = pd.DataFrame({p: right[f"{p}{suffix}"] for p in probes})
            right[f"{name}{suffix}"] = together.prod(axis=1, min_count=len(probes))
    return pd.DataFrame(right, index=items)


def right_answers(rows: pd.DataFrame, suffix: str = CALIBRATED) -> pd.Series:
    """Item -> outcome of one probe's `rows`, 1, 0, or a fraction where gold ties.

    Empty where there are no scores to adjust, or no `prior_CATEGORY` for PMI.
    """
    if suffix == RAW:
        return _stored(rows, 1)
    found = adjusted(rows, suffix)
    if found is None:
        return pd.Series(dtype=float)
    ranking = found[1]
    return pd.Series(success(ranking.gold_rank, ranking.gold_tied), index=rows["item"])


def answers(rows: pd.DataFrame, suffix: str = CALIBRATED) -> pd.Series:
    """Item -> the category that one probe's `rows` answer, None where none can be scored."""
    if suffix == RAW:
        return rows.set_index("item")["best"]
    found = adjusted(rows, suffix)
    if found is None:
        return pd.Series(dtype=object)
    names, ranking = found
    top, known = ranking.top[:, 0], np.isfinite(ranking.top_score[:, 0])
    best = [names[i] if k else None for i, k in zip(top, known, strict=True)]
    return pd.Series(best, index=rows["item"], dtype=object)


def adjusted(rows: pd.DataFrame, suffix: str) -> tuple[list[str], Ranking] | None:
    """The categories that compete in one probe's `rows`, and their ranking by adjusted scores.

    None where there is nothing to adjust (see `right_answers`).
    """
    names = categories(rows)
    if rows.empty or not names:
        return None
    scores = rows[[f"{SCORE}{name}" for name in names]].to_numpy(float)
    if suffix == CALIBRATED:
        scores = calibrated(scores)
    else:
        priors = [f"{PRIOR}{name}" for name in names]
        if not set(priors) <= set(rows) or rows[priors].isna().all(axis=None):
            return None
        scores = without_prior(scores, rows[priors].to_numpy(float))
    gold = rows["hypernym"].map(names.index).tolist()
    return names, rank_scores(scores.astype(np.float64), gold, 1)


def categories(rows: pd.DataFrame) -> list[str]:
    """The categories that competed, in order."""
    columns = [str(c) for c in rows.columns if str(c).startswith(SCORE)]
    return [c.removeprefix(SCORE) for c in columns if rows[c].notna().any()]


def is_scored(predictions: pd.DataFrame, probe: str) -> pd.Series:
    """Item -> whether the model can score it in a closed probe."""
    rows = predictions[predictions["probe"] == probe].set_index("item")
    return rows["gold_rank"] > 0


def _stored(rows: pd.DataFrame | None, k: int) -> pd.Series:
    """Item -> whether gold is among the first `k` of the raw ranking."""
    if rows is None:
        return pd.Series(dtype=float)
    return pd.Series(success(rows["gold_rank"], rows["gold_tied"], k), index=rows["item"])
