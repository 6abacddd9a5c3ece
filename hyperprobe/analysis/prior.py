"""Does a category win because it is a frequent word? Accuracy with the prior taken off."""

from __future__ import annotations

import pandas as pd

from hyperprobe.analysis.outcomes import each_model
from hyperprobe.probes.zero_shot.metrics import prior_corrected_outcomes
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.statistics.intervals import bootstrap_interval

PROBES = ("singular", "plural")


def prior_correction(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Accuracy (percent) as it is, and by the log-probability minus that under the control prompt.

    One row per (diagnostic, language model, probe), and `paired_singular_plural`;
    `difference` is corrected minus raw, in points, with its interval over items.
    """
    rows = []
    for diagnostic, model, own in each_model(predictions):
        control = predictions[
            (predictions["diagnostic"] == diagnostic) & (predictions["model"] == f"control:{model}")
        ]
        if control.empty:
            continue
        raw = outcome_table(own)
        table = {probe: prior_corrected_outcomes(own, control, probe) for probe in PROBES}
        table["paired_singular_plural"] = table["singular"] * table["plural"]
        for probe, corrected in table.items():
            change = (corrected - raw[probe]).dropna()
            if change.empty:
                continue
            low, high = bootstrap_interval(change.to_numpy(), seed=seed)
            rows.append(
                {
                    "diagnostic": diagnostic,
                    "model": model,
                    "probe": probe,
                    "n_items": len(change),
                    "raw": 100 * raw[probe].mean(),
                    "corrected": 100 * corrected.mean(),
                    "difference": 100 * change.mean(),
                    "difference_low": 100 * low,
                    "difference_high": 100 * high,
                }
            )
    return pd.DataFrame(rows)
