"""What a report says about where its numbers are from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hyperprobe.runs.read import FinishedRun


def provenance(run: FinishedRun, short: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(what, value) lines from a run's notes, the long hashes shortened.

    `short` has what the page calls each model.
    """
    notes = run.notes
    yield "folder", str(run.folder)
    yield "command", run.command_line
    yield "finished", str(notes.get("finished", "?"))
    seconds = notes.get("seconds") or {}
    if seconds:
        yield "time", f"{sum(seconds.values()):.1f} s in {len(seconds)} parts"
    packages = {"hyperprobe": notes.get("hyperprobe"), "Python": notes.get("python")}
    packages |= notes.get("packages") or {}
    yield "versions", ", ".join(f"{name} {v}" for name, v in packages.items() if v)
    yield "platform", str(notes.get("platform", "?"))
    if notes.get("seed") is not None:
        yield "seed", str(notes["seed"])
    yield "settings", json.dumps(_shortened(notes["settings"]), ensure_ascii=False)
    for name, about in (notes.get("models") or {}).items():
        if isinstance(about, dict):
            facts = {k: v for k, v in _shortened(about).items() if v is not None and k != "sha256"}
            called = short.get(full := str(about.get("name")), full)
            if called != full:
                facts["on this page"] = called
            yield f"{name}", ", ".join(f"{k} {v}" for k, v in facts.items() if k != "name")
    for name, digest in (notes.get("files") or {}).items():
        yield name, f"SHA-256 {str(digest)[:16]}…"


def _shortened(value: Any) -> Any:
    """The same with hex digests cut to what tells them apart."""
    if isinstance(value, dict):
        return {k: _shortened(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_shortened(v) for v in value]
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value):
        return value[:12]
    return value
