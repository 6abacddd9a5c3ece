"""Finished runs read back: `run.json` by its shape, tables by the digests in it."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, TypeVar

import pandas as pd
from pydantic import AfterValidator, Field

from hyperprobe.documents import Document, check, parse_json, read_bytes, read_text
from hyperprobe.errors import UserError
from hyperprobe.names import StrPath
from hyperprobe.runs.command_line import command_line
from hyperprobe.runs.files import file_digest

MAX_TABLE = 4 << 30  # bytes
PICTURES = (".svg", ".png")
# Columns of texts, whatever they look like: a model may be called 7 or NA.
TEXTS = (
    "analysis", "category", "command", "control", "diagnostic", "hypernym", "hyponym", "input",
    "metric", "method", "model", "other", "other_run", "probe", "relation", "run", "setting",
    "signature", "source", "type",
)  # fmt: skip

T = TypeVar("T")


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive:
        raise ValueError("a file of a run must be in its folder")
    return name


FileName = Annotated[str, AfterValidator(_inside)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Option = str | bool | int | float | None | list[str] | dict[str, str]


class RunNotes(Document):
    """The shape of `run.json`; `options` are the arguments that the function was given."""

    command: str
    settings: dict[str, Any]
    files: dict[FileName, Sha256]
    options: dict[str, Option] = Field(default_factory=dict)
    seed: int | None = None
    hyperprobe: str | None = None
    python: str | None = None
    platform: str | None = None
    packages: dict[str, str | None] = Field(default_factory=dict)
    models: dict[str, Any] = Field(default_factory=dict)
    seconds: dict[str, float] = Field(default_factory=dict)
    peak_memory_mb: dict[str, float] = Field(default_factory=dict)
    started: str | None = None
    finished: str | None = None


class CellNotes(Document):
    """The shape of the notes beside a cell's predictions."""

    model: Any
    seconds: float
    sha256: Sha256
    peak_memory_mb: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class FinishedRun:
    """A run folder read back: its `folder` and its `notes` (`run.json`, of the right shape)."""

    folder: Path
    notes: dict[str, Any]

    @property
    def command(self) -> str:
        return str(self.notes["command"])

    @property
    def files(self) -> dict[str, str]:
        """File name -> SHA-256, of every file that the run wrote."""
        return dict(self.notes["files"])

    @property
    def command_line(self) -> str:
        """What to type to make the run again."""
        return command_line(self.command, self.notes.get("options", {}))

    def settings(self, schema: type[T]) -> T:
        """The run's settings, of the shape `schema`. Raises `UserError` if they have another."""
        try:
            return check(schema, self.notes["settings"], "settings")
        except UserError as error:
            raise damaged(self.folder / "run.json") from error

    def has(self, name: str) -> bool:
        return name in self.files

    def table(self, name: str, needs: Sequence[str] = ()) -> pd.DataFrame:
        """A table of the run as it was written; it has the columns `needs` and then a row too.

        Raises `UserError` when it is missing, or is not what the run wrote.
        """
        path = self.folder / name
        if not self.has(name) or not path.is_file():
            raise UserError(f"no {name} in {self.folder}: run the command that made it again")
        data = read_bytes(path, "table", MAX_TABLE)
        if hashlib.sha256(data).hexdigest() != self.files[name]:
            raise damaged(path)
        try:
            frame = _parse(path, data)
        except (OSError, ValueError) as error:
            raise damaged(path) from error
        if needs and (frame.empty or not set(needs) <= set(frame.columns)):
            raise damaged(path)
        return frame


def _parse(path: Path, data: bytes) -> pd.DataFrame:
    if path.suffix == ".parquet":
        return pd.read_parquet(io.BytesIO(data))
    form: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
    if path.suffix == ".tsv":
        form |= {"sep": "\t", "quoting": csv.QUOTE_NONE}
    # (a copy, as the columns of what is read lie apart: to add one to a hundred would be slow)
    return pd.read_csv(io.BytesIO(data), dtype=dict.fromkeys(TEXTS, str), **form).copy()


def damaged(path: Path) -> UserError:
    """The error for a file of a run that is not as the run wrote it."""
    return UserError(f"{path} is damaged or was changed: delete the folder and run again")


def read_run(folder: StrPath) -> FinishedRun:
    """A finished run, every table of which is as it was written (figures are not looked at).

    Raises `UserError` when `folder` is none, or when its `run.json` or a table was changed.
    """
    folder = Path(folder)
    path = folder / "run.json"
    if not path.is_file():
        raise UserError(
            f"no finished run in {folder}: name a folder that a command printed, or repeat an "
            "interrupted command first"
        )
    text = read_text(path, "run")
    try:
        notes: dict[str, Any] = parse_json(text, str(path))
        check(RunNotes, notes, str(path))
    except UserError as error:
        raise damaged(path) from error
    for name, digest in notes["files"].items():
        if not name.endswith(PICTURES):
            _check_file(folder / name, digest)
    return FinishedRun(folder, notes)


def _check_file(path: Path, digest: str) -> None:
    try:
        if file_digest(path) == digest:
            return
    except OSError as error:
        raise UserError(
            f"no {path.name} in {path.parent}: run the command that made it again"
        ) from error
    raise damaged(path)
