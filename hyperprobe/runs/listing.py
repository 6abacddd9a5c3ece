"""The runs in a folder of results, from their notes alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.documents import check, parse_json, read_text
from hyperprobe.errors import UserError
from hyperprobe.names import RANDOM, is_subject
from hyperprobe.runs.read import RunNotes

UNFINISHED = "unfinished"


def list_runs(results: Path) -> pd.DataFrame:
    """One row for each run folder, the latest last: `folder`, `command`, `models`, `finished`.

    An interrupted run is unfinished, one whose notes cannot be read damaged.
    """
    rows = sorted(_rows(results), key=lambda row: str(row["finished"]))
    return pd.DataFrame(rows, columns=["folder", "command", "models", "finished"])


def _rows(results: Path) -> Iterator[dict[str, Any]]:
    for folder in sorted(results.glob("*-*")) if results.is_dir() else ():
        path = folder / "run.json"
        if path.is_file():
            yield {"folder": str(folder), **_of_notes(path)}
        elif (folder / "cells").is_dir():
            command = folder.name.rpartition("-")[0]
            yield {"folder": str(folder), "command": command, "finished": UNFINISHED}


def _of_notes(path: Path) -> dict[str, Any]:
    try:
        notes = check(RunNotes, parse_json(read_text(path, "run"), str(path)), str(path))
    except (OSError, UserError):
        return {"command": path.parent.name.rpartition("-")[0], "finished": "damaged"}
    asked = notes.settings.get("models")
    names = [name for name in asked or () if is_subject(name) and not name.startswith(RANDOM)]
    return {"command": notes.command, "models": names, "finished": notes.finished}
