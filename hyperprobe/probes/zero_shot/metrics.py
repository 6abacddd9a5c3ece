"""The numbers of the zero-shot probes, from a predictions frame alone.

Predictions have one row per (diagnostic, model, probe, item); see
`hyperprobe.probes.zero_shot.probe` for the columns. All shares are percentages, as in the
paper's Table 2 (Ravichander et al. 2020).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.models.base import rank_scores
from hyperprobe.statistics.columns import mean_columns
from hyperprobe.statistics.intervals import bootstrap_interval, mcnemar_exact
from hyperprobe.statistics.ranks import success

METRICS = (
    "open_p_at_1",
    "open_p_at_5",
    "singular",
    "plural",
    "contextual",
    "paired_singular_plural",
    "paired_aggregate",
)
SCORE = "score_"  # prefix of the columns with one score for each category
FREQUENCY_BANDS = (0.0, 1.5, 2.0, 2.5, 3.0, 3.5, 9.0)  # Zipf: log10 of occurrences per 10^9 words


def outcome_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per item and one column per metric, for one model and set.

    1 is right, 0 wrong, NaN not asked. A gold that ties counts by its `success` (a
    fraction), and pairs as if every tie were broken independently.
    """
    wide = predictions.pivot(index="item", columns="probe", values=["gold_rank", "gold_tied"])
    right = pd.DataFrame(index=wide.index)
    for name, probe, k in (
        ("open_p_at_1", "open", 1),
        ("open_p_at_5", "open", 5),
        ("singular", "singular", 1),
        ("plural", "plural", 1),
        ("contextual", "contextual", 1),
    ):
        asked = ("gold_rank", probe) in wide
        right[name] = (
            success(wide["gold_rank", probe], wide["gold_tied", probe], k) if asked else np.nan
        )
    right["paired_singular_plural"] = right["singular"] * right["plural"]
    right["paired_aggregate"] = right["paired_singular_plural"] * right["contextual"]
    return right


def summarise(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (diagnostic, model): every metric with its interval, NaN where none applies."""
    rows = []
    for (diagnostic, model), of_model in predictions.groupby(["diagnostic", "model"], sort=False):
        right = outcome_table(of_model)
        row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "n_items": len(right)}
        row["n_contextual"] = int(right["contextual"].notna().sum())
        for metric in METRICS:
            row.update(mean_columns(metric, right[metric].dropna(), seed))
        row.update(independence(right["singular"], right["plural"], seed))
        control = predictions[
            (predictions["diagnostic"] == diagnostic) & (predictions["model"] == f"control:{model}")
        ]
        for probe in ("singular", "plural"):
            chance = 1 / max(1, of_model["gold"][of_model["probe"] == probe].nunique())
            corrected = (right[probe].mean() - chance) / (1 - chance) if chance < 1 else np.nan
            row[f"chance_corrected_{probe}"] = 100 * corrected
            row[f"prior_corrected_{probe}"] = 100 * prior_corrected(of_model, control, probe)
            row[f"margin_{probe}"] = of_model["margin"][of_model["probe"] == probe].mean()
            row[f"n_unscored_{probe}"] = int(
                (of_model["gold_rank"][of_model["probe"] == probe] == 0).sum()
            )
        rows.append(row)
    return pd.DataFrame(rows)


def independence(singular: pd.Series, plural: pd.Series, seed: int = 0) -> dict[str, float]:
    """Paired accuracy if the two successes were independent, and the difference to it (points).

    A difference near zero says that being right in the singular says nothing
    about the plural: the answers are not systematic.
    """
    table = np.column_stack([singular, plural, singular * plural]).astype(float)
    table = table[~np.isnan(table).any(axis=1)]
    if not len(table):
        empty = ("paired_expected", "paired_difference", "paired_difference_low")
        return dict.fromkeys((*empty, "paired_difference_high"), np.nan)

    def difference(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return means[:, 2] - means[:, 0] * means[:, 1]

    means = table.mean(axis=0, keepdims=True)
    low, high = bootstrap_interval(table, difference, seed)
    return {
        "paired_expected": 100 * float(means[0, 0] * means[0, 1]),
        "paired_difference": 100 * float(difference(means)[0]),
        "paired_difference_low": 100 * low,
        "paired_difference_high": 100 * high,
    }


def prior_corrected(answers: pd.DataFrame, control: pd.DataFrame, probe: str) -> float:
    """Accuracy (share) by `prior_corrected_outcomes`, NaN without a control."""
    return float(prior_corrected_outcomes(answers, control, probe).mean())


def prior_corrected_outcomes(answers: pd.DataFrame, control: pd.DataFrame, probe: str) -> pd.Series:
    """Item -> `success` by the log-probability minus that under the control prompt.

    So no category wins for being a frequent word. Empty without a control.
    """
    columns = [c for c in answers.columns if c.startswith(SCORE)]
    a = answers[answers["probe"] == probe].set_index("item")
    b = control[control["probe"] == probe].set_index("item").reindex(a.index)
    if a.empty or control.empty or not columns:
        return pd.Series(dtype=float)
    lifted = (a[columns] - b[columns]).to_numpy(dtype=float)
    gold = [columns.index(f"{SCORE}{category}") for category in a["hypernym"]]
    ranking = rank_scores(lifted, gold, 1)
    return pd.Series(success(ranking.gold_rank, ranking.gold_tied), index=a.index)


def breakdown(predictions: pd.DataFrame) -> pd.DataFrame:
    """Every metric by category and by frequency band: `by`, `value`, `n_items` and percentages."""
    rows = []
    for (diagnostic, model), of_model in predictions.groupby(["diagnostic", "model"], sort=False):
        right = outcome_table(of_model)
        items = of_model.drop_duplicates("item").set_index("item").reindex(right.index)
        bands = pd.cut(items["zipf"], list(FREQUENCY_BANDS), include_lowest=True).astype(str)
        for by, values in (("category", items["hypernym"]), ("zipf", bands)):
            for value, part in right.groupby(values, sort=True):
                if value == "nan":
                    continue
                row = {"diagnostic": diagnostic, "model": model, "by": by, "value": value}
                rows.append({**row, "n_items": len(part), **(100 * part.mean()).to_dict()})
    return pd.DataFrame(rows)


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """How many items of each category (`hypernym`) were given each answer (`best`)."""
    closed = predictions[predictions["probe"] != "open"]
    keys = ["diagnostic", "model", "probe", "hypernym", "best"]
    return closed.groupby(keys, sort=False).size().rename("n_items").reset_index()


def compare_models(predictions: pd.DataFrame) -> pd.DataFrame:
    """Exact McNemar tests between any two models on each set and metric."""
    rows = []
    for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
        right = {model: outcome_table(part) for model, part in of_set.groupby("model", sort=False)}
        for (first, a), (second, b) in combinations(right.items(), 2):
            for metric in METRICS:
                both = pd.concat([a[metric], b[metric]], axis=1, keys=("a", "b")).dropna()
                if both.empty:
                    continue
                only_first, only_second, p = mcnemar_exact(both["a"], both["b"])
                rows.append((diagnostic, metric, first, second, only_first, only_second, p))
    columns = ["diagnostic", "metric", "model", "other", "only_model", "only_other", "p_value"]
    return pd.DataFrame(rows, columns=columns)
