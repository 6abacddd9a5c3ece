"""Short names for the models of a page, the same in every table, figure and sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from hyperprobe.render.labels import names_in, short_names, shortened
from hyperprobe.runs.read import FinishedRun

METRICS = "metrics.csv"


@dataclass(frozen=True)
class ShownRun(FinishedRun):
    """A finished run whose tables have the short names of a page; its notes have the full ones."""

    short: Mapping[str, str]

    def table(self, name: str, needs: Sequence[str] = ()) -> pd.DataFrame:
        return shortened(super().table(name, needs), self.short)


def page_names(runs: Mapping[str, FinishedRun]) -> dict[str, str]:
    """The name of each model in the metrics of all runs -> what the page calls it."""
    tables = [run.table(METRICS) for run in runs.values() if run.has(METRICS)]
    return short_names(name for table in tables for name in names_in(table))


def with_names(runs: Mapping[str, FinishedRun], short: Mapping[str, str]) -> dict[str, FinishedRun]:
    """The runs, by label, as a page shows them."""
    return {label: ShownRun(run.folder, run.notes, short) for label, run in runs.items()}
