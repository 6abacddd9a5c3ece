"""Several run folders as one body of tables, each row marked with the run that it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from hyperprobe.documents import Document
from hyperprobe.errors import UserError
from hyperprobe.probes.zero_shot.outcomes import METRICS
from hyperprobe.render.table import RUN
from hyperprobe.runs.read import FinishedRun, damaged, read_run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# The tables of a zero-shot run, and columns that each must have (none: it may be empty).
ZERO_SHOT: dict[str, tuple[str, ...]] = {
    "metrics": ("diagnostic", "model", "n_items", *METRICS),
    "mcnemar": ("diagnostic", "metric", "model", "other", "p_value"),
    "breakdown": ("diagnostic", "model", "by", "value", "n_items", "singular", "plural"),
    "confusion": (),
}


class AnalysisSettings(Document):
    """What a report must know of an analysis's settings."""

    predictions: str


@dataclass
class Material:
    """What a report is made of.

    `runs`: label -> run. `zero_shot` and `analysis`: table name -> frame with a
    `run` column, over all such runs; `others`: labels of runs of other commands.
    """

    runs: dict[str, FinishedRun] = field(default_factory=dict)
    zero_shot: dict[str, pd.DataFrame] = field(default_factory=dict)
    analysis: dict[str, pd.DataFrame] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def collect(folders: Sequence[Path]) -> Material:
    """The runs in `folders`, and the analyses of them that lie beside them.

    A model that was asked in two ways gets its run's label into its name. Raises
    `UserError` when a folder holds no finished run.
    """
    if not folders:
        raise UserError("name the folder of at least one run")
    distinct = {Path(folder).resolve(): Path(folder) for folder in folders}
    runs = [read_run(folder) for folder in distinct.values()]
    asked = [run for run in runs if run.command == "zero-shot"]
    analysed = {run.folder.resolve() for run in runs if run.command == "analyze"}
    for run in asked:
        found = find_analysis(run)
        if found and found.folder.resolve() not in analysed:
            runs.append(found)
            analysed.add(found.folder.resolve())
    material = Material({_label(i): run for i, run in enumerate(runs)})
    renamed: dict[tuple[str, str], str] = {}
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ZERO_SHOT}
    for label, run in material.runs.items():
        if run.command == "zero-shot":
            for name, needs in ZERO_SHOT.items():
                parts[name].append(run.table(f"{name}.csv", needs).assign(**{RUN: label}))
        elif run.command != "analyze":
            material.others.append(label)
    if asked:
        metrics = pd.concat(parts["metrics"], ignore_index=True)
        kept, renamed = _name_models(metrics)
        for name, frames in parts.items():
            frame = pd.concat(frames, ignore_index=True)
            material.zero_shot[name] = _rename(frame, kept, renamed)
    by_digest = {
        run.files.get("predictions.parquet"): label
        for label, run in material.runs.items()
        if run.command == "zero-shot"
    }
    tables: dict[str, list[pd.DataFrame]] = {}
    for label, run in material.runs.items():
        if run.command != "analyze":
            continue
        if not run.has("agreement.csv"):
            raise damaged(run.folder / "run.json")
        of = by_digest.get(run.settings(AnalysisSettings).predictions, label)
        for file in run.files:
            if file.endswith(".csv") and file != "metrics.csv":
                frame = run.table(file, ("diagnostic", "model")).assign(**{RUN: of})
                keep = kept if asked and of != label else None
                frame = _rename(frame, keep, renamed).assign(**{RUN: label})
                tables.setdefault(file.removesuffix(".csv"), []).append(frame)
    material.analysis = {name: pd.concat(t, ignore_index=True) for name, t in tables.items()}
    return material


def _label(i: int) -> str:
    return LETTERS[i % 26] + (str(i // 26) if i >= 26 else "")


def find_analysis(run: FinishedRun) -> FinishedRun | None:
    """The latest analysis of a zero-shot run among the folders beside it."""
    digest = run.files.get("predictions.parquet")
    found = []
    for notes in run.folder.parent.glob("analyze-*/run.json"):
        other = read_run(notes.parent)
        if digest and other.settings(AnalysisSettings).predictions == digest:
            found.append(other)
    return max(found, key=lambda other: str(other.notes.get("finished")), default=None)


Kept = set[tuple[str, str, str]]  # (run, diagnostic, model)


def _name_models(metrics: pd.DataFrame) -> tuple[Kept, dict[tuple[str, str], str]]:
    """Which rows are not repetitions, and new names where one name gave different numbers."""
    # Vectors answer open questions from the vocabulary of the run's language model.
    closed = [metric for metric in METRICS if not metric.startswith("open_")]
    rounded = metrics.assign(**metrics[closed].round(6))
    distinct = rounded.drop_duplicates(["diagnostic", "model", *closed])
    twice = distinct[distinct.duplicated(["diagnostic", "model"], keep=False)]
    renamed = {(r.run, r.model): f"{r.model} [{r.run}]" for r in twice.itertuples()}
    kept = {(r.run, r.diagnostic, r.model) for r in distinct.itertuples()}
    return kept, renamed


def _rename(
    frame: pd.DataFrame, kept: Kept | None, renamed: dict[tuple[str, str], str]
) -> pd.DataFrame:
    """Only `kept` rows, under their new names; in a comparison both models must be of one run."""
    if kept is not None:
        keys = zip(frame[RUN], frame["diagnostic"], frame["model"], strict=True)
        mask = [key in kept for key in keys]
        if "other" in frame:  # a pair is a repetition only if both sides are
            others = zip(frame[RUN], frame["diagnostic"], frame["other"], strict=True)
            mask = [a or b for a, b in zip(mask, [key in kept for key in others], strict=True)]
        frame = frame[mask]
    frame = frame.copy()
    for column in ("model", "other"):
        if column in frame:
            frame[column] = [
                renamed.get((run, name), name)
                for run, name in zip(frame[RUN], frame[column], strict=True)
            ]
    return frame.reset_index(drop=True)
