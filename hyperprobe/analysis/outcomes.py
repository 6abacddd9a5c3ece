"""Per-item outcomes of every model of a run, the one input of most analyses, and words for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.names import MAJORITY
from hyperprobe.predictions import of_items
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    CLOSED,
    PAIRED,
    PMI,
    RAW,
    outcome_table,
)
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES
from hyperprobe.render.table import format_p_value
from hyperprobe.statistics.stratified import ALPHA

Outcomes = Sequence[tuple[str, str, pd.DataFrame]]  # of each (diagnostic, model)
PROBES = ("singular", "plural", "paired_singular_plural", "contextual")


def each_model(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, its predictions) for all but the majority baseline, in order."""
    for (diagnostic, model), rows in predictions.groupby(["diagnostic", "model"], sort=False):
        if model != MAJORITY:
            yield str(diagnostic), str(model), rows


def each_outcome(
    predictions: pd.DataFrame, scored: bool = False
) -> list[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, outcomes): with `hyponym`, `hypernym`, `synset` and `zipf` added.

    Items that a model cannot score are wrong; with `scored`, they have no outcome.
    """
    make = scored_outcomes if scored else outcome_table
    return [
        (diagnostic, model, with_items(make(rows), rows))
        for diagnostic, model, rows in each_model(predictions)
    ]


def scored_outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """The `outcome_table` of one model and set, NaN where the model cannot score the item."""
    right = outcome_table(rows)
    unscored = rows.loc[~(rows["gold_rank"] > 0), ["item", "probe"]]
    for probe, lost in unscored.groupby("probe"):
        names = [name for name in (*CLOSED, *PAIRED) if probe in PAIRED.get(name, (name,))]
        columns = [f"{name}{suffix}" for name in names for suffix in (RAW, CALIBRATED, PMI)]
        right.loc[lost["item"], columns] = np.nan
    return right


def with_items(outcomes: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Outcomes by item with what `rows` say about the items."""
    return outcomes.join(of_items(rows, "hyponym", "hypernym", "synset", "zipf"))


def titled(table: pd.DataFrame, what: str) -> str:
    """A table's title: the set that it is about, and what it shows."""
    return f"{table['diagnostic'].iloc[0]}: {what}"


def probe_name(row: dict[str, Any]) -> str:
    """The cell with a row's probe, as people read it."""
    return PROBE_NAMES.get(str(row["probe"]), str(row["probe"]))


def is_shown(row: pd.Series, effect: str, p: str = "p_holm") -> bool:
    """Whether a row shows an effect: its interval and its Holm-adjusted test both say so."""
    beyond_zero = row[f"{effect}_low"] > 0 or row[f"{effect}_high"] < 0
    return bool(beyond_zero and row[p] < ALPHA)


def points(row: pd.Series, effect: str, p: str = "p_holm") -> str:
    """A row's effect in points with its interval and its adjusted p-value, in words."""
    value, low, high = (
        round(float(row[f"{effect}{end}"]), 1) + 0.0 for end in ("", "_low", "_high")
    )
    return f"{value:+.1f} points [{low:.1f}, {high:.1f}], p {format_p_value(row[p])}"
