"""Run folders: what was asked, what came out, and how to go on after an interrupt.

A run's folder is named after its command and a digest of everything that
decides its numbers, so that the same command finds its own unfinished work.
Every file is written beside its place and moved there whole.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
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


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""

    def write(partial: Path) -> None:
        partial.write_bytes(content)

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

    def __init__(
        self, results: Path, command: str, settings: dict[str, Any], name: str | None = None
    ) -> None:
        """`name` takes the digest's place for work that may grow: the keys of its cells must
        then say all that decides their numbers."""
        self.command = command
        self.settings = settings
        self.folder = results / f"{command}-{name or digest_of([command, settings])}"
        self._cells = self.folder / "cells"
        self._notes: dict[str, dict[str, Any]] = {}
        self._started = datetime.now(UTC)
        _sweep(self.folder)

    def cell(self, key: str, compute: Callable[[], tuple[pd.DataFrame, Any]]) -> pd.DataFrame:
        """The predictions of one unit of work, computed once and then read back.

        `compute` returns them with a description of the model for `run.json`. Raises
        `UserError` before it computes what could not be stored.
        """
        frame = self.stored(key)
        if frame is not None:
            return frame
        check_writable(self.folder)
        started = time.perf_counter()
        frame, model = compute()
        data = io.BytesIO()
        frame.to_parquet(data, index=False)
        notes = {
            "model": model,
            "seconds": round(time.perf_counter() - started, 3),
            "peak_memory_mb": peak_memory(),
            "sha256": hashlib.sha256(data.getbuffer()).hexdigest(),
        }
        self._notes[key] = notes
        stored, about = self._cell_files(key)
        # The notes come first: a cell counts only once the predictions that they name are there.
        write_text(about, json.dumps(notes))
        write_atomically(stored, lambda partial: _write_bytes(partial, data))
        return frame

    def stored(self, key: str) -> pd.DataFrame | None:
        """What `cell` has stored under this key, or None when that is still to be computed.

        What was damaged since it was written counts as not stored.
        """
        stored, about = self._cell_files(key)
        try:
            notes = json.loads(about.read_text(encoding="utf-8"))
            data = stored.read_bytes()
            if hashlib.sha256(data).hexdigest() != notes["sha256"]:
                return None
            frame = pd.read_parquet(io.BytesIO(data))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        self._notes[key] = notes
        return frame

    def _cell_files(self, key: str) -> tuple[Path, Path]:
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._cells / f"{name}.parquet", self._cells / f"{name}.json"

    def finish(
        self, tables: dict[str, pd.DataFrame], seed: int | None = None, others: Sequence[str] = ()
    ) -> None:
        """Write `tables` (file name -> frame) and `run.json`, which marks the run as whole.

        `others` are files of the folder that are there already.
        """
        for name, frame in tables.items():
            write_frame(self.folder / name, frame)
        self._write_notes(sorted([*tables, *others]), seed)

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
            "models": {key: notes["model"] for key, notes in self._notes.items()},
            "seconds": {key: notes["seconds"] for key, notes in self._notes.items()},
            "peak_memory_mb": self._peak_memory(),
            "started": self._started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": {name: file_digest(self.folder / name) for name in files},
        }
        write_text(path, json.dumps(notes, indent=2, ensure_ascii=False) + "\n")

    def _peak_memory(self) -> dict[str, float]:
        """The most that this process or any that computed a cell has held."""
        peaks = [peak_memory()]
        peaks += [notes.get("peak_memory_mb", {}) for notes in self._notes.values()]
        kinds = sorted({kind for peak in peaks for kind in peak})
        return {kind: max(peak.get(kind, 0.0) for peak in peaks) for kind in kinds}


def digest_of(identity: Any) -> str:
    """Ten hex digits that stand for `identity` (JSON) under this version of hyperprobe."""
    text = json.dumps([identity, hyperprobe.__version__], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def peak_memory() -> dict[str, float]:
    """The most memory that this process has held so far, in MB: `ram`, and `gpu` if it used one."""
    peaks = {}
    if sys.platform != "win32":
        import resource

        unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
        peaks["ram"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        every = range(torch.cuda.device_count())
        peaks["gpu"] = round(sum(torch.cuda.max_memory_allocated(i) for i in every) / 1e6, 1)
    return peaks


def check_writable(folder: Path) -> None:
    """Raise `UserError` if `folder` is, or would be made, where we may not write."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise UserError(
            f"cannot write {folder} ({place} is read-only or no folder): choose another place "
            "with --results"
        )


def _write_bytes(path: Path, data: io.BytesIO) -> None:
    path.write_bytes(data.getbuffer())


def _sweep(folder: Path) -> None:
    """Delete the unfinished files that killed processes have left."""
    if os.name != "posix":  # elsewhere there is no harmless way to ask whether a process lives
        return
    for path in folder.glob("**/.*.partial"):
        with suppress(OSError, ValueError):
            try:
                os.kill(int(path.name.split(".")[-2]), 0)
            except ProcessLookupError:
                path.unlink()


@dataclass(frozen=True)
class FinishedRun:
    """A run folder read back: its `folder` and its `notes` (`run.json`)."""

    folder: Path
    notes: dict[str, Any]

    @property
    def command(self) -> str:
        return str(self.notes["command"])

    @property
    def command_line(self) -> str:
        """What was typed."""
        return " ".join(["hyperprobe", *map(str, self.notes.get("arguments", ()))])

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def table(self, name: str) -> pd.DataFrame:
        """A table of the run. Raises `UserError` when it is missing or damaged."""
        path = self.folder / name
        if not path.is_file():
            raise UserError(f"no {name} in {self.folder}: run the command that made it again")
        try:
            return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is damaged: delete the folder and run again") from error


def read_run(folder: Path) -> FinishedRun:
    """A finished run. Raises `UserError` when `folder` is none or its `run.json` is damaged."""
    path = folder / "run.json"
    try:
        notes = json.loads(path.read_text(encoding="utf-8"))
        str(notes["command"]), dict(notes["settings"])
    except OSError as error:
        raise UserError(
            f"no finished run in {folder}: name a folder that a command printed, or repeat an "
            "interrupted command first"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: delete the folder and run again") from error
    return FinishedRun(folder, notes)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
