"""Per-item outcomes of every model of a run, the one input of most analyses, and words for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from hyperprobe.names import MAJORITY
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES


def each_model(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, its predictions) for all but the majority baseline, in order."""
    for (diagnostic, model), rows in predictions.groupby(["diagnostic", "model"], sort=False):
        if model != MAJORITY:
            yield str(diagnostic), str(model), rows


def each_outcome(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, outcomes): the outcomes with `hyponym`, `hypernym` and `zipf` added."""
    for diagnostic, model, rows in each_model(predictions):
        right = outcome_table(rows)
        items = rows.drop_duplicates("item").set_index("item").reindex(right.index)
        yield diagnostic, model, right.join(items[["hyponym", "hypernym", "zipf"]])


def titled(table: pd.DataFrame, what: str) -> str:
    """A table's title: the set that it is about, and what it shows."""
    return f"{table['diagnostic'].iloc[0]}: {what}"


def probe_name(row: dict[str, Any]) -> str:
    """The cell with a row's probe, as people read it."""
    return PROBE_NAMES.get(str(row["probe"]), str(row["probe"]))


def how_sure(row: pd.Series) -> str:
    """A row's `difference` with its interval, and whether it is clear, in words."""
    low, high = row["difference_low"], row["difference_high"]
    verdict = "clear" if low > 0 or high < 0 else "could be chance"
    return f"{row['difference']:+.1f} points, 95 % interval {low:.1f} to {high:.1f}: {verdict}"
