"""The numbers of the zero-shot probes, from a predictions frame alone.

Predictions have one row per (diagnostic, model, probe, item); see
`hyperprobe.probes.zero_shot.predictions` for the columns. All shares are percentages, as in the
paper's Table 2 (Ravichander et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.diagnostic.tags import GIVEAWAY, TAGS, load_tags, tags_of
from hyperprobe.predictions import of_items
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    CLOSED,
    METRICS,
    PAIRED,
    PMI,
    RAW,
    Outcomes,
    outcome_tables,
)
from hyperprobe.statistics.clusters import interval_over_clusters
from hyperprobe.statistics.columns import share_columns
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.pairs import pairs_compared
from hyperprobe.statistics.stratified import with_holm

FREQUENCY_BANDS = (0.0, 1.5, 2.0, 2.5, 3.0, 3.5, 9.0)  # Zipf: log10 of occurrences per 10^9 words
TESTED = (*METRICS, *(f"{name}{CALIBRATED}" for name in (*CLOSED, *PAIRED)))
# What a headline is made of: with an interval over categories and a macro average.
HEADLINE = tuple(f"{name}{suffix}" for suffix in (RAW, CALIBRATED) for name in (*CLOSED, *PAIRED))
ADJUSTED = tuple(f"{name}{suffix}" for suffix in (CALIBRATED, PMI) for name in (*CLOSED, *PAIRED))
NUMBERS = ("singular", "plural")
BEST_BY = f"paired_singular_plural{CALIBRATED}"


def summarise(
    predictions: pd.DataFrame,
    among: pd.DataFrame | None = None,
    outcomes: Outcomes | None = None,
) -> pd.DataFrame:
    """One row per (diagnostic, model): every metric with its interval, NaN where none applies.

    `METRIC_low` and `METRIC_high` are Wilson's interval over items. Of headline metrics
    `METRIC_macro` is the mean over categories, `METRIC_categories_low` and `_high` the interval
    over categories (as if they were a sample), `METRIC_design_effect` how many times as large
    clustering makes its variance. `n_scored` items can be scored, paired, by every model
    of the set (in `among`, by default the same predictions), and `METRIC_scored` are accuracies
    on those. `outcomes` are those of the predictions.
    """
    outcomes = outcomes or outcome_tables(predictions)
    lacking = pd.concat(
        [unscored(part) for _, _, part in _models(predictions if among is None else among)]
    )
    rows = [
        summary(diagnostic, model, asked, outcomes[diagnostic, model])
        for diagnostic, model, asked in _models(predictions)
    ]
    return pd.DataFrame(with_scored(rows, lacking, outcomes))


def summary(
    diagnostic: str, model: str, asked: pd.DataFrame, right: pd.DataFrame
) -> dict[str, Any]:
    """The row of `summarise` for the predictions `asked` of one model and set, with their
    outcomes, but for what depends on the other models."""
    category = of_items(asked, "hypernym")["hypernym"]
    row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "n_items": len(right)}
    row["n_contextual"] = int(right["contextual"].notna().sum())
    for metric in (*METRICS, *ADJUSTED):
        row |= share_columns(metric, right[metric])
    row |= _over_categories(right[list(HEADLINE)], category.reindex(right.index))
    for probe in NUMBERS:
        of_probe = asked.loc[asked["probe"] == probe, ["gold", "gold_rank", "margin"]]
        row[f"chance_corrected_{probe}"] = _above_chance(right[probe], of_probe["gold"])
        row[f"margin_{probe}"] = of_probe["margin"].mean()
        row[f"n_unscored_{probe}"] = int((of_probe["gold_rank"] == 0).sum())
    return row


def unscored(asked: pd.DataFrame) -> pd.DataFrame:
    """The items (`diagnostic`, `item`) that cannot be scored in the singular or in the plural."""
    lacking = asked["probe"].isin(NUMBERS) & (asked["gold_rank"] == 0)
    return asked.loc[lacking, ["diagnostic", "item"]].drop_duplicates()


def with_scored(
    rows: Sequence[dict[str, Any]], lacking: pd.DataFrame, outcomes: Outcomes
) -> Iterator[dict[str, Any]]:
    """Rows of `summary` with the accuracies on the items that no model is `lacking`."""
    for row in rows:
        right = outcomes[row["diagnostic"], row["model"]]
        some = lacking["item"][lacking["diagnostic"] == row["diagnostic"]]
        on_shared = right[~right.index.isin(some)]
        shared: dict[str, Any] = {"n_scored": len(on_shared)}
        for metric in (*NUMBERS, "paired_singular_plural"):
            for name in (metric, f"{metric}{CALIBRATED}"):
                shared[f"{name}_scored"] = 100 * on_shared[name].mean()
        yield row | shared


def _over_categories(right: pd.DataFrame, category: pd.Series) -> dict[str, float]:
    means, clusters = right.groupby(category).mean(), category.to_numpy(str)
    row: dict[str, float] = {}
    for metric in right:
        found = interval_over_clusters(right[metric].to_numpy(float), clusters)
        row |= {
            f"{metric}_macro": 100 * means[metric].mean(),
            f"{metric}_categories_low": 100 * found.low,
            f"{metric}_categories_high": 100 * found.high,
            f"{metric}_design_effect": found.design_effect,
        }
    return row


def _above_chance(right: pd.Series, gold: pd.Series) -> float:
    """Accuracy in percent such that chance among the right answers is 0 (as in kappa)."""
    chance = 1 / max(1, gold.nunique())
    return float("nan") if chance == 1 else 100 * float((right.mean() - chance) / (1 - chance))


def breakdown(predictions: pd.DataFrame, outcomes: Outcomes | None = None) -> pd.DataFrame:
    """Every metric by category, frequency band and tag: `by`, `value`, `n_items`, percentages.

    Calibrated over the whole set, and then broken down. Tags (`hyperprobe.diagnostic.tags`)
    overlap; `without spells-category` are the nouns that do not give their category away.
    `outcomes` are those of the predictions.
    """
    outcomes = outcomes or outcome_tables(predictions)
    tags = load_tags()
    rows = []
    for diagnostic, model, asked in _models(predictions):
        right = outcomes[diagnostic, model]
        items = of_items(asked, "hyponym", "hypernym", "zipf").reindex(right.index)
        bands = pd.cut(items["zipf"], list(FREQUENCY_BANDS), include_lowest=True).astype(str)
        groups = [
            (by, str(value), part)
            for by, values in (("category", items["hypernym"]), ("zipf", bands))
            for value, part in right.groupby(values, sort=True)
            if value != "nan"
        ]
        pairs = zip(items["hyponym"], items["hypernym"], strict=True)
        own_tags = [tags_of(noun, category, tags) for noun, category in pairs]
        tagged = {tag: [tag in own for own in own_tags] for tag in TAGS}
        tagged[f"without {GIVEAWAY}"] = [not given for given in tagged[GIVEAWAY]]
        if any(tagged[GIVEAWAY]):
            groups += [("tag", tag, right[mask]) for tag, mask in tagged.items() if any(mask)]
        for by, value, part in groups:
            row = {"diagnostic": diagnostic, "model": model, "by": by, "value": value}
            rows.append({**row, "n_items": len(part), **(100 * part.mean()).to_dict()})
    return pd.DataFrame(rows)


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """How many items of each category (`hypernym`) were given each answer (`best`)."""
    closed = predictions[predictions["probe"] != "open"]
    keys = ["diagnostic", "model", "probe", "hypernym", "best"]
    return closed.groupby(keys, sort=False).size().rename("n_items").reset_index()


def compare_models(predictions: pd.DataFrame, outcomes: Outcomes | None = None) -> pd.DataFrame:
    """Exact McNemar tests between two models (`pairs_compared`: the best is that with the most
    nouns right, paired and calibrated) on each set and metric.

    An item is right only where the outcome is 1: gold alone is best. `p_holm` is adjusted for
    all tests of a set (Holm 1979). `outcomes` are those of the predictions.
    """
    outcomes = outcomes or outcome_tables(predictions)
    rows = []
    for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
        items = pd.Index(of_set["item"].unique())
        right = {
            model: outcomes[str(diagnostic), model].reindex(items)
            for model in of_set["model"].unique()
        }
        n_right = {model: float(outcome[BEST_BY].sum()) for model, outcome in right.items()}
        for first, second in pairs_compared(list(right), n_right.__getitem__):
            for metric in TESTED:
                one, other = (right[name][metric].to_numpy() for name in (first, second))
                both = ~np.isnan(one) & ~np.isnan(other)
                if both.any():
                    test = mcnemar_exact(one[both] == 1, other[both] == 1)
                    rows.append((diagnostic, metric, first, second, *test))
    columns = ["diagnostic", "metric", "model", "other", "only_model", "only_other", "p_value"]
    return with_holm(pd.DataFrame(rows, columns=columns))


def _models(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (diagnostic, model), asked in predictions.groupby(["diagnostic", "model"], sort=False):
        yield str(diagnostic), str(model), asked
