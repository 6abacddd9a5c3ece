"""Does a category win because it is a frequent word? Accuracy with the prior removed."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hyperprobe.analysis.base import Analysis, Material
from hyperprobe.analysis.outcomes import each_model, probe_name, titled
from hyperprobe.probes.zero_shot.metrics import outcome_table, prior_corrected_outcomes
from hyperprobe.render.table import Table, make_table, number, share, text
from hyperprobe.statistics.columns import mean_columns

PROBES = ("singular", "plural")


def prior_correction(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Accuracy (percent) as it is, and by the log-probability minus that under the control prompt.

    One row per (diagnostic, language model, probe), and `paired_singular_plural`;
    `difference` is corrected minus raw, in points, with its interval over items.
    """
    rows = []
    for diagnostic, model, asked in each_model(predictions):
        control = predictions[
            (predictions["diagnostic"] == diagnostic) & (predictions["model"] == f"control:{model}")
        ]
        if control.empty:
            continue
        raw = outcome_table(asked)
        table = {probe: prior_corrected_outcomes(asked, control, probe) for probe in PROBES}
        table["paired_singular_plural"] = table["singular"] * table["plural"]
        for probe, corrected in table.items():
            change = (corrected - raw[probe]).dropna()
            if change.empty:
                continue
            rows.append(
                {
                    "diagnostic": diagnostic,
                    "model": model,
                    "probe": probe,
                    "n_items": len(change),
                    "raw": 100 * raw[probe].mean(),
                    "corrected": 100 * corrected.mean(),
                    **mean_columns("difference", change, seed),
                }
            )
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "with the control prompt's log-probabilities subtracted (percent right)"),
        table,
        {
            "model": text("model"),
            "probe": probe_name,
            "as it is": number("raw", 1),
            "corrected": number("corrected", 1),
            "difference": share("difference"),
        },
        "The control prompt is the noun and the slot alone. What it knows already is subtracted "
        "too, so a large drop says that the question adds little to the noun.",
        "prior.csv",
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return (
        f"with what {model} says about the bare noun subtracted, singular accuracy goes "
        f"from {row['raw']:.1f} % to {row['corrected']:.1f} %."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    return {"prior": prior_correction(material.predictions, material.seed)}


ANALYSIS = Analysis(
    name="prior",
    title="The prior of the categories",
    words="Does a category win for being a frequent word?",
    files=("prior",),
    compute=_compute,
    tables={"prior": _tables},
    lead="Prior",
    sentence=_sentence,
    reason=lambda material: "no language model was asked",
)
