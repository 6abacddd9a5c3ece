"""What a number may claim: what the question adds to the noun, and whether success is systematic.

A prompt with the noun and nothing else already calls up a category. So each calibrated probe is
set beside its control prompt, item by item; and success in the singular beside success in the
plural, within categories and as answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.names import CONTROL, CONTROL_BARE, SHUFFLED
from hyperprobe.predictions import of_items
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    Outcomes,
    answers_to,
    outcome_tables,
)
from hyperprobe.statistics.clusters import interval_over_clusters
from hyperprobe.statistics.columns import paired_columns, share_columns
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.stratified import cohens_kappa, common_odds_ratio, with_holm

# The controls of each probe: of several, the one that is right more often counts.
CONTROLS = {
    "singular": (CONTROL, CONTROL_BARE),
    "plural": (CONTROL, CONTROL_BARE),
    "paired_singular_plural": (CONTROL, CONTROL_BARE),
    "contextual": (SHUFFLED,),
}
ADDS_COLUMNS = (
    "diagnostic", "model", "probe", "n_items", "raw", "calibrated", "calibrated_low",
    "calibrated_high", "control", "control_raw", "control_calibrated", "adds", "adds_low",
    "adds_high", "adds_categories_low", "adds_categories_high", "adds_design_effect", "only_probe",
    "only_control", "p_value", "p_holm",
)  # fmt: skip
SYSTEMATIC_COLUMNS = (
    "diagnostic", "model", "n_items", "odds_ratio", "odds_ratio_low", "odds_ratio_high", "p_value",
    "p_holm", "kappa", "kappa_low", "kappa_high",
)  # fmt: skip


def question_adds(
    predictions: pd.DataFrame, seed: int = 0, outcomes: Outcomes | None = None
) -> pd.DataFrame:
    """Calibrated probe minus its harder calibrated control, in points: `ADDS_COLUMNS`.

    One row per (diagnostic, model, probe) that has a control. `adds_low` and `adds_high` are
    the bootstrap's over synsets, `adds_categories_*` over categories; `only_probe` and
    `only_control` count items that one alone has right, `p_value` is McNemar's exact test on
    them, `p_holm` adjusted for all rows of the set. `outcomes` are those of the predictions.
    """
    outcomes = outcomes or outcome_tables(predictions)
    rows = []
    for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
        items = of_items(of_set, "synset", "hypernym")
        of = {str(model): outcomes[str(diagnostic), model] for model in of_set["model"].unique()}
        for model, right in of.items():
            for probe, prefixes in CONTROLS.items():
                metric = f"{probe}{CALIBRATED}"
                controls = [f"{p}{model}" for p in prefixes if f"{p}{model}" in of]
                controls = [name for name in controls if of[name][metric].notna().any()]
                if not controls or right[metric].isna().all():
                    continue
                control = max(controls, key=lambda name: of[name][metric].mean())
                row = {"diagnostic": diagnostic, "model": model, "probe": probe}
                row |= {"raw": 100 * right[probe].mean(), "control": control}
                row |= {"control_raw": 100 * of[control][probe].mean()}
                rows.append(row | _contrast(right[metric], of[control][metric], items, seed))
    return with_holm(pd.DataFrame(rows)).reindex(columns=list(ADDS_COLUMNS))


def with_adds(metrics: pd.DataFrame, adds: pd.DataFrame) -> pd.DataFrame:
    """The metrics with what the question adds, as `PROBE_adds`, `PROBE_adds_low` and `_high`."""
    keys = ["diagnostic", "model"]
    for probe, rows in adds.groupby("probe", sort=False):
        ends = {name: f"{probe}_{name}" for name in ("adds", "adds_low", "adds_high")}
        metrics = metrics.merge(rows[[*keys, *ends]].rename(columns=ends), on=keys, how="left")
    return metrics


def _contrast(
    right: pd.Series, control: pd.Series, items: pd.DataFrame, seed: int
) -> dict[str, Any]:
    both = pd.DataFrame({"probe": right, "control": control}).dropna()
    only_probe, only_control, p = mcnemar_exact(both["probe"] == 1, both["control"] == 1)
    return {
        "n_items": len(both),
        **share_columns("calibrated", both["probe"]),
        "control_calibrated": 100 * both["control"].mean(),
        **effect_columns(both["probe"] - both["control"], items.reindex(both.index), seed),
        "only_probe": only_probe,
        "only_control": only_control,
        "p_value": p,
    }


def effect_columns(difference: pd.Series, about: pd.DataFrame, seed: int = 0) -> dict[str, float]:
    """`adds`: the mean of a difference [n_items] in points, with its intervals over synsets and
    over categories, of which `about` says each item's."""
    over = interval_over_clusters(difference.to_numpy(), about["hypernym"], differences=True)
    return {
        **paired_columns("adds", difference.to_numpy(), about["synset"], seed),
        "adds_categories_low": 100 * over.low,
        "adds_categories_high": 100 * over.high,
        "adds_design_effect": over.design_effect,
    }


def systematicity(predictions: pd.DataFrame, outcomes: Outcomes | None = None) -> pd.DataFrame:
    """Singular and plural together: one row per (diagnostic, model), controls too.

    `odds_ratio` is the Cochran-Mantel-Haenszel common odds ratio, within categories, of being
    right (calibrated) in the singular and in the plural, with interval and `p_value` (`p_holm`
    over the set); `kappa` is Cohen's, of the calibrated answers, wrong ones included. Over the
    `n_items` that can be scored in both. To be read beside the control's: a noun's association
    with its category makes both high. `outcomes` are those of the predictions.
    """
    outcomes = outcomes or outcome_tables(predictions)
    rows = []
    for (diagnostic, model), asked in predictions.groupby(["diagnostic", "model"], sort=False):
        both = pd.DataFrame(answers_to(asked, ("singular", "plural"))).dropna()
        if both.empty:
            continue
        category = of_items(asked, "hypernym")["hypernym"].reindex(both.index)
        right = outcomes[str(diagnostic), str(model)].reindex(both.index)
        first, second = (right[f"{probe}{CALIBRATED}"] == 1 for probe in both)
        ratio = common_odds_ratio(first, second, category)
        kappa = cohens_kappa(both["singular"], both["plural"])
        rows.append(
            {
                "diagnostic": diagnostic,
                "model": model,
                "n_items": len(both),
                "odds_ratio": ratio.ratio,
                "odds_ratio_low": ratio.low,
                # Without an end above, what is known is that there is none.
                "odds_ratio_high": np.inf if np.isinf(ratio.ratio) else ratio.high,
                "p_value": ratio.p_value,
                "kappa": kappa.kappa,
                "kappa_low": kappa.low,
                "kappa_high": kappa.high,
            }
        )
    return with_holm(pd.DataFrame(rows)).reindex(columns=list(SYSTEMATIC_COLUMNS))
