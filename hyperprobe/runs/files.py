"""Files written whole or not at all, and the digests that tell one from another."""

from __future__ import annotations

import csv
import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa

from hyperprobe.errors import UserError
from hyperprobe.progress import progress

ROWS_AT_ONCE = 25_000  # of a table that is written part by part


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then move it to `path` in one step.

    Raises `UserError` when the folder cannot be written; `path` is then as before.
    """
    # (process ids are those of one machine; others may write to the same folder)
    partial = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise UserError(
            f"cannot write {path} ({error.strerror or error}): free some space or choose "
            "another folder with --results"
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


def write_frames(path: Path, frames: Iterable[pd.DataFrame], schema: pa.Schema) -> None:
    """Write frames one below the other as Parquet, atomically, and hold few of them at a time.

    Columns of the `schema` that a frame lacks are empty there. There is a row group for each
    `ROWS_AT_ONCE` rows or a few more.
    """
    from pyarrow.parquet import ParquetWriter

    def tables() -> Iterator[pa.Table]:
        held = [schema.empty_table()]
        for frame in frames:
            held.append(pa.Table.from_pandas(frame, preserve_index=False))
            if sum(map(len, held)) >= ROWS_AT_ONCE:
                yield pa.concat_tables(held, promote_options="permissive")
                held = held[:1]
        yield pa.concat_tables(held, promote_options="permissive")

    def write(partial: Path) -> None:
        with ParquetWriter(partial, schema) as writer:
            for table in tables():
                writer.write_table(table.cast(schema))

    write_atomically(path, write)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def corpus_digests(files: Sequence[Path]) -> dict[str, str]:
    """File -> SHA-256 of its content, which tells an edited corpus from the one before.

    Raises `UserError` for a file that cannot be read.
    """
    digests = {}
    try:
        total = sum(path.stat().st_size for path in files)
        with progress("reading the corpus", total, unit="bytes") as advance:
            for path in files:
                digests[os.fsencode(path).decode("utf-8", "backslashreplace")] = file_digest(path)
                advance(path.stat().st_size)
    except OSError as error:
        raise UserError(f"cannot read {error.filename} ({error.strerror}): leave it out") from error
    return digests


def check_writable(folder: Path) -> None:
    """Raise `UserError` if `folder` is, or would be made, where we may not write."""
    parent = folder
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UserError(
            f"cannot write {folder} ({parent} is read-only or no folder): choose another folder "
            "with --results"
        )
