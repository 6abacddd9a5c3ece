"""Diagnostic sets read back: the shipped ones by name, a user's own from a file."""

from __future__ import annotations

import csv
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic import NAMES
from hyperprobe.errors import UserError

REQUIRED = ("hyponym", "hyponym_plural", "hypernym", "hypernym_plural", "singular", "plural")


def load_diagnostic(name: str) -> pd.DataFrame:
    """A diagnostic set by its name (as shipped) or from a `.tsv` or `.jsonl` file.

    A file needs the columns of `REQUIRED`; `hyponym` identifies a row. Missing
    optional columns (see `hyperprobe.diagnostic.COLUMNS`) are filled: empty prompts, no
    frequency, control prompts from the words. Raises `UserError` with file and line
    on anything else.
    """
    if name in NAMES:
        with (files("hyperprobe") / "tables" / f"{name}.tsv").open(encoding="utf-8") as file:
            return _read_tsv(file)
    path = Path(name)
    if not path.is_file():
        raise UserError(f"no diagnostic set {name}: name a file or one of {', '.join(NAMES)}")
    try:
        if path.suffix == ".jsonl":
            frame = _read_jsonl(path)
        else:
            with path.open(encoding="utf-8") as file:
                frame = _read_tsv(file)
    except (UnicodeDecodeError, pd.errors.ParserError) as error:
        raise UserError(f"{path}: {str(error).splitlines()[0]}: write UTF-8 with tabs") from error
    except pd.errors.EmptyDataError as error:
        raise UserError(f"{path} is empty: write a header line and one row per item") from error
    return _complete(frame, path)


def frame_digest(frame: pd.DataFrame) -> str:
    """The SHA-256 of a set's content, in hex."""
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()


def _read_tsv(file: Any) -> pd.DataFrame:
    frame = pd.read_csv(file, sep="\t", dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE)
    if "zipf" in frame:
        frame["zipf"] = pd.to_numeric(frame["zipf"], errors="coerce")
    return frame


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(
                f"{path}, line {number}: {error.msg}: write one object a line"
            ) from error
        if not isinstance(row, dict):
            raise UserError(f"{path}, line {number}: no JSON object: write one object a line")
        rows.append(row)
    return pd.DataFrame(rows)


def _complete(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The frame with all of `COLUMNS`, or a `UserError` that names the first bad row."""
    if missing := [column for column in REQUIRED if column not in frame]:
        raise UserError(f"{path} has no column {missing[0]}: it needs {', '.join(REQUIRED)}")
    if frame.empty:
        raise UserError(f"{path} has no rows: write one per item")
    for column, value in (
        ("group", ""),
        ("synset", ""),
        ("zipf", float("nan")),
        ("control", frame["hyponym"].astype(str) + f" {SLOT}."),
        ("control_plural", frame["hyponym_plural"].astype(str) + f" {SLOT}."),
        ("negated", ""),
        ("contextual", ""),
    ):
        frame[column] = frame.get(column, value)
    prompts = ("singular", "plural", "control", "control_plural", "contextual")
    texts = [*REQUIRED, *prompts[2:]]
    frame[texts] = frame[texts].fillna("")
    first_line = 1 if path.suffix == ".jsonl" else 2
    seen: set[str] = set()
    for number, row in enumerate(frame.to_dict("records"), start=first_line):
        where = f"{path}, line {number}"
        for column in REQUIRED:
            if not isinstance(row[column], str) or not row[column].strip():
                raise UserError(f"{where}: {column} is empty: fill it or take the row out")
        for column in prompts:
            if row[column] and row[column].count(SLOT) != 1:
                raise UserError(f"{where}: {column} must hold {SLOT} once: {row[column]!r}")
        if row["hyponym"] in seen:
            raise UserError(f"{where}: {row['hyponym']} is there twice: keep one row")
        seen.add(row["hyponym"])
    if frame.groupby("hypernym")["hypernym_plural"].nunique().max() > 1:
        raise UserError(f"{path}: a hypernym has two different plurals: make them agree")
    return frame
