"""Short names for the models of a page, the same in every table, figure and sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from hyperprobe.names import is_baseline
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
    return short_names(name for table in _metrics(runs) for name in names_in(table))


def page_models(runs: Mapping[str, FinishedRun], short: Mapping[str, str]) -> tuple[str, ...]:
    """What the page calls the models in the metrics of all runs; no baselines and no controls."""
    named = [str(name) for table in _metrics(runs) if "model" in table for name in table["model"]]
    return tuple(short[name] for name in dict.fromkeys(named) if not is_baseline(name))


def _metrics(runs: Mapping[str, FinishedRun]) -> list[pd.DataFrame]:
    return [run.table(METRICS) for run in runs.values() if run.has(METRICS)]


def with_names(runs: Mapping[str, FinishedRun], short: Mapping[str, str]) -> dict[str, FinishedRun]:
    """The runs, by label, as a page shows them."""
    return {label: ShownRun(run.folder, run.notes, short) for label, run in runs.items()}
