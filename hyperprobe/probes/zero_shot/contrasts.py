"""What a number may claim: what the question adds to the noun, and whether success is systematic.

A prompt with the noun and nothing else already calls up a category. So each calibrated probe is
set beside its control prompt, item by item; and success in the singular beside success in the
plural, within categories and as answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from hyperprobe.names import CONTROL, CONTROL_BARE, SHUFFLED
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    calibrated_answers,
    calibrated_outcomes,
)
from hyperprobe.statistics.clusters import bootstrap_over, interval_over_clusters
from hyperprobe.statistics.intervals import mcnemar_exact, share
from hyperprobe.statistics.stratified import cohens_kappa, common_odds_ratio, holm

# The controls of each probe: of several, the one that is right more often counts.
CONTROLS = {
    "singular": (CONTROL, CONTROL_BARE),
    "plural": (CONTROL, CONTROL_BARE),
    "contextual": (SHUFFLED,),
    "paired_singular_plural": (CONTROL, CONTROL_BARE),
}
ADDS_COLUMNS = (
    "diagnostic", "model", "probe", "n_items", "calibrated", "calibrated_low", "calibrated_high",
    "control", "control_calibrated", "adds", "adds_low", "adds_high", "adds_categories_low",
    "adds_categories_high", "design_effect", "only_probe", "only_control", "p_value", "p_holm",
)  # fmt: skip


def question_adds(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Calibrated probe minus its harder calibrated control, in points: `ADDS_COLUMNS`.

    One row per (diagnostic, model, probe) that has a control. `adds_low` and `adds_high` are
    the bootstrap's over synsets, `adds_categories_*` over categories; `only_probe` and
    `only_control` count items that one alone has right, `p_value` is McNemar's exact test on
    them, `p_holm` adjusted for all rows of the set.
    """
    rows = []
    for diagnostic, own in predictions.groupby("diagnostic", sort=False):
        items = own.drop_duplicates("item").set_index("item")[["synset", "hypernym"]]
        outcomes = {
            str(model): calibrated_outcomes(part)
            for model, part in own.groupby("model", sort=False)
        }
        for model, right in outcomes.items():
            for probe, prefixes in CONTROLS.items():
                metric = f"{probe}{CALIBRATED}"
                asked = [f"{p}{model}" for p in prefixes if f"{p}{model}" in outcomes]
                if not asked or right[metric].isna().all():
                    continue
                control = max(asked, key=lambda name: outcomes[name][metric].mean())
                row = {"diagnostic": diagnostic, "model": model, "probe": probe}
                row |= _contrast(right[metric], outcomes[control][metric], items, seed)
                rows.append(row | {"control": control})
    table = pd.DataFrame(rows, columns=list(ADDS_COLUMNS))
    table["p_holm"] = table.groupby("diagnostic")["p_value"].transform(lambda p: holm(p))
    return table


def _contrast(
    right: pd.Series, control: pd.Series, items: pd.DataFrame, seed: int
) -> dict[str, Any]:
    both = pd.concat([right, control], axis=1, keys=("a", "b")).dropna()
    about = items.reindex(both.index)
    difference = (both["a"] - both["b"]).to_numpy()
    low, high = bootstrap_over(difference, about["synset"], seed)
    over = interval_over_clusters(difference, about["hypernym"], differences=True)
    only_probe, only_control, p = mcnemar_exact(both["a"] == 1, both["b"] == 1)
    return {
        "n_items": len(both),
        **share("calibrated", both["a"]),
        "control_calibrated": 100 * both["b"].mean(),
        "adds": 100 * difference.mean(),
        "adds_low": 100 * low,
        "adds_high": 100 * high,
        "adds_categories_low": 100 * over.low,
        "adds_categories_high": 100 * over.high,
        "design_effect": over.design_effect,
        "only_probe": only_probe,
        "only_control": only_control,
        "p_value": p,
    }


def systematicity(predictions: pd.DataFrame) -> pd.DataFrame:
    """Singular and plural together: one row per (diagnostic, model), controls too.

    `odds_ratio` is the Cochran-Mantel-Haenszel common odds ratio, within categories, of being
    right (calibrated) in the singular and in the plural, with interval and `p_value` (`p_holm`
    over the set); `kappa` is Cohen's, of the calibrated answers, wrong ones included. Over the
    `n_items` that can be scored in both. To be read beside the control's: a noun's association
    with its category makes both high.
    """
    rows = []
    for diagnostic, model, own in _of_sets(predictions):
        answers = calibrated_answers(own)
        if not {"singular", "plural"} <= set(answers):
            continue
        answers = answers[["singular", "plural"]].dropna()
        right = calibrated_outcomes(own).reindex(answers.index)
        category = own.drop_duplicates("item").set_index("item")["hypernym"].reindex(answers.index)
        ratio = common_odds_ratio(
            right[f"singular{CALIBRATED}"] == 1, right[f"plural{CALIBRATED}"] == 1, category
        )
        kappa = cohens_kappa(answers["singular"], answers["plural"])
        rows.append(
            {
                "diagnostic": diagnostic,
                "model": model,
                "n_items": len(answers),
                "odds_ratio": ratio.ratio,
                "odds_ratio_low": ratio.low,
                "odds_ratio_high": ratio.high,
                "p_value": ratio.p_value,
                "kappa": kappa.kappa,
                "kappa_low": kappa.low,
                "kappa_high": kappa.high,
            }
        )
    table = pd.DataFrame(rows)
    if len(table):
        table["p_holm"] = table.groupby("diagnostic")["p_value"].transform(lambda p: holm(p))
    return table


def _of_sets(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for (diagnostic, model), own in predictions.groupby(["diagnostic", "model"], sort=False):
        yield str(diagnostic), str(model), own
