"""Run folders: what was asked, what came out, and how to continue after an interrupt.

A run's folder is named after its command and a digest of everything that
decides its numbers, so that the same command finds its unfinished work.
Every file is written under another name and then renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import hyperprobe
from hyperprobe.aliases import as_given
from hyperprobe.documents import check, parse_json, read_text
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath
from hyperprobe.options import check_seed
from hyperprobe.runs.command_line import as_options
from hyperprobe.runs.files import (
    check_writable,
    file_digest,
    write_bytes,
    write_frame,
    write_text,
)
from hyperprobe.runs.frames import Frames
from hyperprobe.runs.read import PICTURES, CellNotes, FinishedRun, read_run
from hyperprobe.runs.signature import COLUMN, signed

PACKAGES = ("torch", "transformers", "tokenizers", "gensim", "numpy", "scipy", "pandas", "wordfreq")
QUOTED = ("metrics.csv", "adds.csv")  # tables whose rows are signed


@dataclass(frozen=True)
class Computed:
    """The predictions of one cell, as stored, and the notes on them."""

    data: bytes  # Parquet
    notes: dict[str, Any]


def measured(compute: Callable[[], tuple[pd.DataFrame, Any]]) -> Computed:
    """What `compute` returns, with its time and the memory that this process has held."""
    started = time.perf_counter()
    frame, model = compute()
    data = frame.to_parquet(None, index=False)
    notes = {
        "model": model,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_memory_mb": peak_memory(),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return Computed(data, notes)


class Run:
    """One command with fixed settings, and its folder under `results`."""

    def __init__(
        self,
        results: StrPath,
        command: str,
        settings: dict[str, Any],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are the arguments of the function that was called, from which the command
        line can be made again.

        Raises `UserError` for a seed that is none and for names that are not UTF-8.
        """
        self.command = command
        self.settings = settings
        self.options = as_options(options or {})
        if isinstance(models := self.options.get("models"), list):
            self.options["models"] = [as_given(name) for name in models]
        _check_names([settings, self.options])
        if "seed" in self.options:
            check_seed(self.options["seed"])
        self._digest = digest_of([command, settings])
        self.folder = Path(results) / f"{command}-{self._digest}"
        self.shares_cells = False
        self._cells = self.folder / "cells"
        self._notes: dict[str, dict[str, Any]] = {}
        self._started = datetime.now(UTC)
        _sweep(self.folder)

    def in_study(self, name: str) -> Run:
        """This run as a part of the study `name`, which precedes the digest of its folder.

        Its cells are shared by all studies under the same `results`: their keys must say all
        that decides their numbers.
        """
        run = copy(self)
        run.folder = self.folder.with_name(f"{self.command}-{name}-{self._digest}")
        run.shares_cells = True
        run._cells = self.folder.with_name(self.command) / "cells"
        run._notes = {}
        _sweep(run.folder)
        _sweep(run._cells)
        return run

    def cell(self, key: str, compute: Callable[[], tuple[pd.DataFrame, Any]]) -> pd.DataFrame:
        """The predictions of one unit of work, computed once and then read back.

        `compute` returns them with a description of the model for `run.json`. Raises
        `UserError` before it computes what could not be stored.
        """
        self.compute(key, compute)
        return Frames(self, [key])[0]

    def compute(self, key: str, compute: Callable[[], tuple[pd.DataFrame, Any]]) -> None:
        """Compute and store a cell, as `cell` does, unless it is stored."""
        if self._read_cell(key) is None:
            check_writable(self._cells)
            self.store(key, measured(compute))

    def store(self, key: str, computed: Computed) -> None:
        """Store what was computed, here or elsewhere, as the cell `key`."""
        stored, about = self._cell_files(key)
        # The notes come first: a cell counts only once the predictions that they name are there.
        write_text(about, json.dumps(computed.notes))
        write_bytes(stored, computed.data)

    def seconds(self, key: str) -> float | None:
        """How long the stored cell took, or None when that is still to be computed."""
        found = self._read_cell(key)
        return None if found is None else float(found[0]["seconds"])

    def stored(self, key: str) -> bytes:
        """The cell `key` as it is stored, in Parquet. Raises `UserError` if it is not."""
        if (found := self._read_cell(key)) is None:
            raise UserError(f"{key} was deleted while the run was made: start it again")
        self._notes.setdefault(key, found[0])
        return found[1]

    def _read_cell(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """The notes of a cell and its predictions as they were written, if they are whole."""
        stored, about = self._cell_files(key)
        try:
            notes = parse_json(read_text(about, "notes"), str(about))
            data = stored.read_bytes()
            digest = check(CellNotes, notes, str(about)).sha256
        except (OSError, UserError):
            return None
        return (notes, data) if hashlib.sha256(data).hexdigest() == digest else None

    def _cell_files(self, key: str) -> tuple[Path, Path]:
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._cells / f"{name}.parquet", self._cells / f"{name}.json"

    def finish(
        self, tables: dict[str, pd.DataFrame], seed: int | None = None, others: Sequence[str] = ()
    ) -> None:
        """Write `tables` (file name -> frame) and `run.json`, which marks the run as whole.

        Rows of models in the tables that papers quote get their `signature` as the last column;
        the frames that are passed get it too, so that they are the same as read back.
        `others` are files of the folder that are there already. A run that is whole already
        is left as it is, so that its `run.json` says how its tables were made.
        """
        files = sorted([*tables, *others])
        about = self._about(seed)
        described = (notes["model"] for notes in self._notes.values())
        models = {one["name"]: one for one in described if one and "name" in one}
        for frame in (tables[name] for name in QUOTED if name in tables):
            if "model" in frame and "models" in self.settings:
                frame[COLUMN] = signed(frame, about, models)
        finished = self.finished(seed)
        if finished and sorted(finished.files) == files:
            return
        for name, frame in tables.items():
            write_frame(self.folder / name, frame)
        notes = {
            **about,
            "options": self.options,
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
        text = json.dumps(notes, indent=2, ensure_ascii=False)
        write_text(self.folder / "run.json", text + "\n")

    def finished(self, seed: int | None = None) -> FinishedRun | None:
        """The run as this version has finished it before, with all its files as they were."""
        about = json.loads(json.dumps(self._about(seed)))
        try:
            run = read_run(self.folder)
            # `read_run` has checked every file but the pictures.
            pictures = [name for name in run.files if name.endswith(PICTURES)]
            whole = all(run.notes.get(key) == value for key, value in about.items()) and all(
                file_digest(self.folder / name) == run.files[name] for name in pictures
            )
        except (OSError, UserError):
            return None
        return run if whole else None

    def _about(self, seed: int | None) -> dict[str, Any]:
        about = {"command": self.command, "settings": self.settings, "seed": seed}
        return about | {"hyperprobe": hyperprobe.__version__}

    def _peak_memory(self) -> dict[str, float]:
        """The most that this process or any that computed a cell has held."""
        peaks = [peak_memory()]
        peaks += [notes.get("peak_memory_mb", {}) for notes in self._notes.values()]
        kinds = sorted({kind for peak in peaks for kind in peak})
        return {kind: max(peak.get(kind, 0.0) for peak in peaks) for kind in kinds}


def _check_names(value: Any) -> None:
    """Raise `UserError` for a text that cannot be written as UTF-8."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{quoted(value)} is not UTF-8: rename it") from error
    elif isinstance(value, Mapping):
        _check_names([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple)):
        for one in value:
            _check_names(one)


def digest_of(identity: Any) -> str:
    """Ten hex digits that identify `identity` (JSON) under this version of hyperprobe."""
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


def _sweep(folder: Path) -> None:
    """Delete the unfinished files that killed processes of this machine have left."""
    if os.name != "posix":  # elsewhere there is no harmless way to ask whether a process lives
        return
    for path in folder.glob(f"**/.*.{platform.node()}.*.partial"):
        with suppress(OSError, ValueError):
            try:
                os.kill(int(path.name.split(".")[-2]), 0)
            except ProcessLookupError:
                path.unlink()


@cache
def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
