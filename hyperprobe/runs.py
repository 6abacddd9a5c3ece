"""Run folders: what was asked, what came out, and how to go on after an interrupt.

A run's folder is named after its command and a digest of everything that
decides its numbers, so that the same command finds its own unfinished work.
Every file is written beside its place and moved there whole.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import hyperprobe
from hyperprobe.errors import UserError

PACKAGES = ("torch", "transformers", "tokenizers", "gensim", "numpy", "scipy", "pandas", "wordfreq")


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then move it to `path` in one step.

    Raises `UserError` when the place cannot be written; `path` is then as before.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path} ({error.strerror or error}): free some space or choose "
            "another place with --results"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""

    def write(partial: Path) -> None:
        partial.write_text(text, encoding="utf-8")

    write_atomically(path, write)


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write `.parquet`, `.csv`, `.tsv` or `.jsonl` atomically, by the ending of `path`."""

    def write(partial: Path) -> None:
        if path.suffix == ".parquet":
            frame.to_parquet(partial, index=False)
        elif path.suffix == ".jsonl":
            frame.to_json(partial, orient="records", lines=True, force_ascii=False)
        else:
            separator = "\t" if path.suffix == ".tsv" else ","
            quoting = csv.QUOTE_NONE if path.suffix == ".tsv" else csv.QUOTE_MINIMAL
            frame.to_csv(partial, index=False, sep=separator, lineterminator="\n", quoting=quoting)

    write_atomically(path, write)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Run:
    """One command with fixed settings, and its folder under `results`."""

    def __init__(self, results: Path, command: str, settings: dict[str, Any]) -> None:
        self.command = command
        self.settings = settings
        identity = json.dumps([command, settings, hyperprobe.__version__], sort_keys=True)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
        self.folder = results / f"{command}-{digest}"
        self._cells = self.folder / "cells"
        self._timings: dict[str, float] = {}
        self._models: dict[str, Any] = {}
        self._started = datetime.now(UTC)

    def cell(self, key: str, compute: Callable[[], tuple[pd.DataFrame, Any]]) -> pd.DataFrame:
        """The predictions of one unit of work, computed once and then read back.

        `compute` returns them with a description of the model for `run.json`.
        """
        frame = self.stored(key)
        if frame is not None:
            return frame
        started = time.perf_counter()
        frame, model = compute()
        self._models[key] = model
        self._timings[key] = round(time.perf_counter() - started, 3)
        notes = {"model": model, "seconds": self._timings[key]}
        stored, about = self._cell_files(key)
        # The notes come first: a cell counts only once its predictions are there too.
        write_text(about, json.dumps(notes))
        write_frame(stored, frame)
        return frame

    def stored(self, key: str) -> pd.DataFrame | None:
        """What `cell` has stored under this key, or None when that is still to be computed."""
        stored, about = self._cell_files(key)
        if not (stored.exists() and about.exists()):
            return None
        try:
            frame = pd.read_parquet(stored)
            notes = json.loads(about.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None  # damaged after it was written: do it again
        self._models[key], self._timings[key] = notes["model"], notes["seconds"]
        return frame

    def _cell_files(self, key: str) -> tuple[Path, Path]:
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._cells / f"{name}.parquet", self._cells / f"{name}.json"

    def finish(self, tables: dict[str, pd.DataFrame], seed: int | None = None) -> None:
        """Write `tables` (file name -> frame) and `run.json`, which marks the run as whole."""
        for name, frame in tables.items():
            write_frame(self.folder / name, frame)
        self._write_notes(sorted(tables), seed)

    def _write_notes(self, files: list[str], seed: int | None) -> None:
        path = self.folder / "run.json"
        notes = {
            "command": self.command,
            "arguments": sys.argv[1:],
            "settings": self.settings,
            "seed": seed,
            "hyperprobe": hyperprobe.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {name: _version(name) for name in PACKAGES},
            "models": self._models,
            "seconds": self._timings,
            "started": self._started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": {name: file_digest(self.folder / name) for name in files},
        }
        write_text(path, json.dumps(notes, indent=2, ensure_ascii=False) + "\n")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
