"""Run folders: what was asked, what came out, and how to continue after an interrupt.

A run's folder is named after its command and a digest of everything that
decides its numbers, so that the same command finds its unfinished work.
Every file is written under another name and then renamed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

import hyperprobe
from hyperprobe.documents import check, parse_json, read_text
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath, as_given
from hyperprobe.options import check_seed
from hyperprobe.runs.command_line import as_options
from hyperprobe.runs.files import (
    check_writable,
    file_digest,
    write_atomically,
    write_frame,
    write_text,
)
from hyperprobe.runs.read import PICTURES, CellNotes, read_run

PACKAGES = ("torch", "transformers", "tokenizers", "gensim", "numpy", "scipy", "pandas", "wordfreq")


class Run:
    """One command with fixed settings, and its folder under `results`."""

    def __init__(
        self,
        results: StrPath,
        command: str,
        settings: dict[str, Any],
        options: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> None:
        """`options` are the arguments of the function that was called, from which the command
        line can be made again.

        With `name`, which precedes the digest, cells are shared by all runs of the command
        under `results`: their keys must then say all that decides their numbers. Raises
        `UserError` for a seed that is none and for names that are not UTF-8.
        """
        self.command = command
        self.settings = settings
        self.options = as_options(options or {})
        if isinstance(models := self.options.get("models"), list):
            self.options["models"] = [as_given(name) for name in models]
        _check_names([settings, self.options])
        if "seed" in self.options:
            check_seed(self.options["seed"])
        digest = digest_of([command, settings])
        self.folder = Path(results) / "-".join(filter(None, (command, name, digest)))
        self._cells = (Path(results) / command if name else self.folder) / "cells"
        self._notes: dict[str, dict[str, Any]] = {}
        self._started = datetime.now(UTC)
        _sweep(self.folder)
        _sweep(self._cells)

    def cell(self, key: str, compute: Callable[[], tuple[pd.DataFrame, Any]]) -> pd.DataFrame:
        """The predictions of one unit of work, computed once and then read back.

        `compute` returns them with a description of the model for `run.json`. Raises
        `UserError` before it computes what could not be stored.
        """
        frame = self.stored(key)
        if frame is not None:
            return frame
        check_writable(self._cells)
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
            notes = parse_json(read_text(about, "notes"), str(about))
            data = stored.read_bytes()
            if hashlib.sha256(data).hexdigest() != check(CellNotes, notes, str(about)).sha256:
                return None
            frame = pd.read_parquet(io.BytesIO(data))
        except (OSError, ValueError, UserError):
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

        `others` are files of the folder that are there already. A run that is whole already
        is left as it is, so that its `run.json` says how its tables were made.
        """
        files = sorted([*tables, *others])
        about = {"command": self.command, "settings": self.settings, "seed": seed}
        about["hyperprobe"] = hyperprobe.__version__
        if self._is_whole(json.loads(json.dumps(about)), files):
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

    def _is_whole(self, about: dict[str, Any], files: list[str]) -> bool:
        """Whether the folder holds a finished run that `about` describes, with all its files."""
        try:
            run = read_run(self.folder)
            same = all(run.notes.get(key) == value for key, value in about.items())
            # `read_run` has checked every file but the pictures.
            pictures = [name for name in files if name.endswith(PICTURES)]
            return (
                same
                and sorted(run.files) == files
                and all(file_digest(self.folder / name) == run.files[name] for name in pictures)
            )
        except (OSError, UserError):
            return False

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


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
