"""The terminal's tables of the zero-shot probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from hyperprobe.metrics.hypernymy import breakdown
from hyperprobe.terminal import MISSING, percent, print_table

HEADERS = {
    "open_p_at_1": "open P@1",
    "open_p_at_5": "open P@5",
    "singular": "singular",
    "plural": "plural",
    "contextual": "contextual",
    "paired_singular_plural": "paired",
    "paired_aggregate": "paired all",
}


def print_metrics(metrics: pd.DataFrame, settings: Sequence[str] = ()) -> None:
    """One table per diagnostic set, laid out as the paper's Table 2.

    Of the columns `settings`, those that vary stand behind the model's name.
    """
    for diagnostic, rows in metrics.groupby("diagnostic", sort=False):
        n_items = rows["n_items"].iloc[0]
        varying = [key for key in settings if rows[key].dropna().nunique() > 1]
        print_table(
            f"{diagnostic} ({n_items} items): percent right ± half the 95 % interval",
            ["model", *HEADERS.values()],
            [
                [
                    " ".join([str(row["model"]), *(row[k] for k in varying if pd.notna(row[k]))]),
                    *(percent(row[m], row[f"{m}_low"], row[f"{m}_high"]) for m in HEADERS),
                ]
                for row in rows.to_dict("records")
            ],
            caption=unscored_note(rows),
        )


def unscored_note(rows: pd.DataFrame) -> str:
    """Which models could not score some items: those count as wrong."""
    notes = [
        f"{r['model']} has no vector for {r['n_unscored_singular']} singular and "
        f"{r['n_unscored_plural']} plural hyponyms: counted as wrong."
        for r in rows.to_dict("records")
        if r["n_unscored_singular"] or r["n_unscored_plural"]
    ]
    return " ".join(notes)


def print_paired(metrics: pd.DataFrame, mcnemar: pd.DataFrame) -> None:
    """Is success systematic? Paired accuracy against independence, and model against model."""
    for diagnostic, rows in metrics.groupby("diagnostic", sort=False):
        print_table(
            f"{diagnostic}: is a model right in both numbers more often than by chance?",
            ["model", "paired", "expected if independent", "difference in points"],
            [
                [
                    str(row["model"]),
                    percent(row["paired_singular_plural"]),
                    percent(row["paired_expected"]),
                    percent(
                        row["paired_difference"],
                        row["paired_difference_low"],
                        row["paired_difference_high"],
                    ),
                ]
                for row in rows.to_dict("records")
                if row["model"] != "majority"
            ],
        )
        own = mcnemar[
            (mcnemar["diagnostic"] == diagnostic) & (mcnemar["metric"] == "paired_singular_plural")
        ]
        print_table(
            f"{diagnostic}: paired accuracy, model against model (exact McNemar test)",
            ["model", "other", "only model right", "only other right", "p"],
            [
                [str(r.model), str(r.other), str(r.only_model), str(r.only_other), _p(r.p_value)]
                for r in own.itertuples()
            ],
        )


def _p(value: Any) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def print_categories(predictions: pd.DataFrame) -> None:
    """Singular / plural accuracy by category, on the largest set."""
    largest = predictions.groupby("diagnostic", sort=False)["item"].nunique().idxmax()
    own = predictions[predictions["diagnostic"] == largest]
    table = breakdown(own)
    table = table[table["by"] == "category"]
    models = list(dict.fromkeys(table["model"]))
    rows = []
    for category in dict.fromkeys(own["hypernym"]):
        part = table[table["value"] == category].set_index("model")
        cells = [
            f"{part['singular'][m]:.0f} / {part['plural'][m]:.0f}" if m in part.index else MISSING
            for m in models
        ]
        rows.append([str(category), str(int(part["n_items"].iloc[0])), *cells])
    print_table(
        f"{largest}: percent right by category, singular / plural",
        ["category", "items", *map(str, models)],
        rows,
    )
