"""Item by item: which answers of one model are right, raw, calibrated and by PMI.

All from the scores in a predictions frame; nothing is asked again. Columns of scores are
`score_CATEGORY` and, of the prompts without the noun, `prior_CATEGORY`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    # In numpy, once for all probes: selecting rows of a frame of texts takes many times longer.
    item_index, items = pd.factorize(predictions["item"], sort=True)
    probe = predictions["probe"].to_numpy(str)
    rank, tied = (predictions[f"gold_{name}"].to_numpy(float) for name in ("rank", "tied"))
    scored = Scored.of(predictions)
    right: dict[str, NDArray[np.float64]] = {}

    def add(metric: str, rows: NDArray[np.bool_], outcomes: NDArray[np.float64] | None) -> None:
        right[metric] = np.full(len(items), np.nan)
        if outcomes is not None:
            right[metric][item_index[rows]] = outcomes

    for name, k in zip(OPEN, (1, 5), strict=True):
        rows = probe == "open"
        add(name, rows, success(rank[rows], tied[rows], k))
    for suffix in (RAW, CALIBRATED, PMI):
        for name in CLOSED:
            rows = probe == name
            if suffix == RAW:
                add(name, rows, success(rank[rows], tied[rows], 1))
            else:
                add(f"{name}{suffix}", rows, _success(scored.of_rows(rows).ranking(suffix)))
        for name, probes in PAIRED.items():  # NaN where one of them was not asked
            right[f"{name}{suffix}"] = np.prod([right[f"{p}{suffix}"] for p in probes], axis=0)
    return pd.DataFrame(right, index=pd.Index(items, name="item", dtype=object))


Outcomes = Mapping[tuple[str, str], pd.DataFrame]


def outcome_tables(predictions: pd.DataFrame) -> Outcomes:
    """(diagnostic, model) -> `outcome_table`: what every table of a run is made of."""
    return {
        (str(diagnostic), str(model)): outcome_table(part)
        for (diagnostic, model), part in predictions.groupby(["diagnostic", "model"], sort=False)
    }


def right_answers(rows: pd.DataFrame, suffix: str = CALIBRATED) -> pd.Series:
    """Item -> outcome of one probe's `rows`, 1, 0, or a fraction where gold ties.

    Empty where there are no scores to adjust, or no `prior_CATEGORY` for PMI.
    """
    if suffix == RAW:
        found: NDArray[np.float64] | None = success(rows["gold_rank"], rows["gold_tied"], 1)
    else:
        found = _success(adjusted(rows, suffix)[1])
    return pd.Series(dtype=float) if found is None else pd.Series(found, index=rows["item"])


def _success(ranking: Ranking | None) -> NDArray[np.float64] | None:
    return None if ranking is None else success(ranking.gold_rank, ranking.gold_tied)


def answers(rows: pd.DataFrame, suffix: str = CALIBRATED) -> pd.Series:
    """Item -> the category that one probe's `rows` answer, None where none can be scored."""
    if suffix == RAW:
        return rows.set_index("item")["best"]
    return _answers(*adjusted(rows, suffix), pd.Index(rows["item"]))


def answers_to(predictions: pd.DataFrame, probes: Sequence[str]) -> dict[str, pd.Series]:
    """Probe -> calibrated `answers`, of one model and set."""
    scored, items = Scored.of(predictions), pd.Index(predictions["item"])
    asked = {name: predictions["probe"].to_numpy(str) == name for name in probes}
    of = {name: scored.of_rows(rows) for name, rows in asked.items()}
    return {
        name: _answers(one.names, one.ranking(CALIBRATED), items[asked[name]])
        for name, one in of.items()
    }


def _answers(names: Sequence[str], ranking: Ranking | None, items: pd.Index) -> pd.Series:
    if ranking is None:
        return pd.Series(dtype=object)
    top, known = ranking.top[:, 0], np.isfinite(ranking.top_score[:, 0])
    best = [names[i] if k else None for i, k in zip(top, known, strict=True)]
    return pd.Series(best, index=items, dtype=object)


def adjusted(rows: pd.DataFrame, suffix: str) -> tuple[list[str], Ranking | None]:
    """The categories that compete in one probe's `rows`, and their ranking by adjusted scores.

    None where there is nothing to adjust (see `right_answers`).
    """
    scored = Scored.of(rows).of_rows(np.ones(len(rows), dtype=bool))
    return scored.names, scored.ranking(suffix)


@dataclass(frozen=True)
class Scored:
    """The scores [n_rows, n_names] of rows of predictions, those of their prompts without the
    noun, where there are any, and the right category of each row."""

    names: list[str]
    scores: NDArray[np.float64]
    prior: NDArray[np.float64] | None
    gold: NDArray[np.object_]

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Scored:
        names = [str(c).removeprefix(SCORE) for c in rows if str(c).startswith(SCORE)]
        priors = [f"{PRIOR}{name}" for name in names]
        return cls(
            names,
            rows[[f"{SCORE}{name}" for name in names]].to_numpy(float),
            rows[priors].to_numpy(float) if set(priors) <= set(rows) else None,
            rows["hypernym"].to_numpy(object),
        )

    def of_rows(self, rows: NDArray[np.bool_]) -> Scored:
        """Some rows, and the categories that competed there."""
        competed: NDArray[np.bool_] = np.array(~np.isnan(self.scores[rows]).all(axis=0))
        prior = None if self.prior is None else self.prior[rows][:, competed]
        names = [name for name, known in zip(self.names, competed, strict=True) if known]
        return Scored(names, self.scores[rows][:, competed], prior, self.gold[rows])

    def ranking(self, suffix: str) -> Ranking | None:
        """The ranking by calibrated scores or by PMI; None where there is nothing to adjust."""
        if not self.scores.size:
            return None
        if suffix == CALIBRATED:
            scores = calibrated(self.scores)
        elif self.prior is None or np.isnan(self.prior).all():
            return None
        else:
            scores = without_prior(self.scores, self.prior)
        index = {name: i for i, name in enumerate(self.names)}
        return rank_scores(scores.astype(np.float64), [index[name] for name in self.gold], 1)
