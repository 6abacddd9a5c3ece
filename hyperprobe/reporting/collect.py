"""The runs of a report, each with a label, and the runs about them that lie beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hyperprobe.documents import Document
from hyperprobe.errors import UserError
from hyperprobe.registry import COMMANDS
from hyperprobe.runs.read import FinishedRun, read_run

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PREDICTIONS = "predictions.parquet"


class AboutPredictions(Document):
    """The settings of a run that is about the predictions of another."""

    predictions: str


def collect(folders: Sequence[Path]) -> dict[str, FinishedRun]:
    """Label -> run: those in `folders`, and the latest about each of them that lies beside it.

    Raises `UserError` when a folder holds no finished run.
    """
    if not folders:
        raise UserError("name the folder of at least one run")
    distinct = {Path(folder).resolve(): Path(folder) for folder in folders}
    runs = {where: read_run(folder) for where, folder in distinct.items()}
    for run in list(runs.values()):
        for command in commands_about(run.command):
            if found := latest_about(run, command):
                runs.setdefault(found.folder.resolve(), found)
    return {_label(i): run for i, run in enumerate(runs.values())}


def commands_about(command: str) -> list[str]:
    """The commands that are about runs of `command`."""
    return [name for name, entry in COMMANDS.items() if entry.about == command]


def latest_about(run: FinishedRun, command: str) -> FinishedRun | None:
    """The latest run of `command` about `run`, of those in the folder that it lies in."""
    digest = run.files.get(PREDICTIONS)
    found = []
    for notes in run.folder.parent.glob(f"{command}-*/run.json"):
        other = read_run(notes.parent)
        if digest and other.settings(AboutPredictions).predictions == digest:
            found.append(other)
    return max(found, key=lambda other: str(other.notes.get("finished")), default=None)


def _label(i: int) -> str:
    return LETTERS[i % 26] + (str(i // 26) if i >= 26 else "")
