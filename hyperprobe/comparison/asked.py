"""How the runs of a comparison were asked: which parts of their signatures differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import pandas as pd

from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.signature import ANY, COLUMN, common, differences

ASKED = "asked.csv"
COLUMNS = ("run", "other", "part", "value", "other_value")
OF_RUN = ("model", "source", "relation", "setting", "method", "control", "input", "measure", "fold")


def how_runs_differ(runs: Sequence[FinishedRun]) -> pd.DataFrame:
    """One row for each pair of runs of a command and each part in which they differ: `COLUMNS`.

    Parts that tell the rows of one run apart, such as the model, are left out. Runs without
    signatures, of earlier versions, have no rows.
    """
    signed = {run.folder.name: (run.command, _common(run)) for run in runs}
    rows = [
        (one, other, part, *values)
        for (one, (command, a)), (other, (another, b)) in combinations(signed.items(), 2)
        if command == another and a and b
        for part, values in differences(a, b).items()
        if part not in OF_RUN
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _common(run: FinishedRun) -> str:
    """What the signatures of a run's rows have in common; empty without any."""
    metrics = run.table("metrics.csv") if run.has("metrics.csv") else pd.DataFrame()
    return common(metrics[COLUMN]) if COLUMN in metrics else ""


def sentences(differing: pd.DataFrame) -> Iterator[str]:
    """A sentence for each pair of runs: which parts differ."""
    for (one, other), rows in differing.groupby(["run", "other"], sort=False):
        parts = "; ".join(
            f"{r.part}: {_told(r.value)} against {_told(r.other_value)}" for r in rows.itertuples()
        )
        yield f"{one} and {other} were asked differently: {parts}."


def _told(value: str) -> str:
    return "several" if value == ANY else value
