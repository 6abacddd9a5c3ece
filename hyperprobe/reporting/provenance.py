"""What a report says about where its numbers are from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from hyperprobe.render.document import RunFacts
from hyperprobe.render.table import Table, count, counted, make_table, text
from hyperprobe.render.terminal import MISSING
from hyperprobe.runs.read import FinishedRun

PER_MODEL = ("models", "diagnostics")  # settings that have rows of their own
SHOWN = 12  # hex digits that tell digests apart


def provenance(label: str, run: FinishedRun, short: Mapping[str, str]) -> RunFacts:
    """What the notes of a run say; `short` has what the page calls each model."""
    raw = json.dumps(run.notes, ensure_ascii=False, indent=1)
    return RunFacts(label, run.command, tuple(_facts(run)), _models(run, short), raw)


def _facts(run: FinishedRun) -> Iterator[tuple[str, str]]:
    """(what, value) lines, digests shortened."""
    notes = run.notes
    yield "folder", str(run.folder)
    yield "command", run.command_line
    yield "finished", str(notes.get("finished", "?"))
    seconds = notes.get("seconds") or {}
    if seconds:
        yield "time", f"{sum(seconds.values()):.1f} s in {counted(len(seconds), 'part')}"
    packages = {"hyperprobe": notes.get("hyperprobe"), "Python": notes.get("python")}
    packages |= notes.get("packages") or {}
    yield "versions", ", ".join(f"{name} {v}" for name, v in packages.items() if v)
    yield "platform", str(notes.get("platform", "?"))
    if notes.get("seed") is not None:
        yield "seed", str(notes["seed"])
    settings = notes["settings"]
    if sets := settings.get("diagnostics"):
        yield "sets", _readable(sets)
    for name, value in settings.items():
        if name not in PER_MODEL:
            yield name.replace("_", " "), _readable(value)


def _models(run: FinishedRun, short: Mapping[str, str]) -> Table | None:
    """The models of a run, each once."""
    noted = (run.notes.get("models") or {}).values()
    described = [one for one in noted if isinstance(one, dict) and "name" in one]
    if not described:
        return None
    rows = pd.DataFrame(described).drop_duplicates("name")
    full = rows["name"].astype(str)
    rows = rows.assign(called=[short.get(name, name) for name in full], name=full)
    wanted = {
        "model": text("called"),
        "name or path": text("name"),
        "kind": text("kind"),
        "architecture": text("architecture"),
        "parameters": count("n_parameters"),
        "revision": text("revision"),
        "precision": text("dtype"),
        "device": text("device"),
    }
    table = make_table(f"models of run {run.folder.name}", rows, wanted)
    told = [i for i in range(len(wanted)) if any(row[i] != MISSING for row in table.rows)]
    return replace(
        table,
        headers=tuple(table.headers[i] for i in told),
        rows=tuple(tuple(row[i] for i in told) for row in table.rows),
    )


def _readable(value: Any) -> str:
    """A setting as words: digests shortened, yes and no, and what lists and objects hold."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_readable, value)) or "none"
    if value is None or value != value or value == "":
        return "none"
    digest = isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value)
    return f"{value[:SHOWN]}…" if digest else str(value)
