"""Diagnostic sets read back: those that ship by name, a user's from a file."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator

from hyperprobe.cloze import SLOT
from hyperprobe.data.files import table as shipped
from hyperprobe.delimited import read_tsv
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.templates import (
    WITHOUT_ARTICLE,
    Templates,
    fill_in,
    noun_of,
    templates_beside,
)
from hyperprobe.documents import Document, check, read_jsonl
from hyperprobe.errors import UserError, printable, quoted

REQUIRED = ("hyponym", "hyponym_plural", "hypernym", "hypernym_plural")
# A file has both, or neither: then the set's templates make them.
PROMPTS = ("singular", "plural")
MADE = (*PROMPTS, "control", "control_plural", "negated")  # prompts that templates can make
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,30})?")


def _clean(text: str) -> str:
    if printable(text) != text:
        raise ValueError("must hold no control characters")
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: fill it or take the row out")
    return _trimmed(text)


def _trimmed(text: str) -> str:
    if text != text.strip():
        raise ValueError("must have no space at its ends")
    return text


def _with_slot(text: str) -> str:
    if text and text.count(SLOT) != 1:
        raise ValueError(f"must hold {SLOT} once")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Word = Annotated[Text, AfterValidator(_filled)]
Form = Annotated[Text, AfterValidator(_trimmed)]
Prompt = Annotated[Text, AfterValidator(_with_slot)]


class Item(Document):
    """One row of a diagnostic set: a word, its category, and the prompts that ask for it."""

    hyponym: Word
    hyponym_plural: Form = ""
    hypernym: Word
    hypernym_plural: Form = ""
    singular: Prompt = ""
    plural: Prompt = ""
    hyponym_article: Form = ""
    hypernym_article: Form = ""
    group: Text = ""
    synset: Text = ""
    zipf: float = math.nan
    control: Prompt = ""
    control_plural: Prompt = ""
    negated: Prompt = ""
    contextual: Prompt = ""
    false_hypernym: Text = ""


def load_diagnostic(name: str) -> pd.DataFrame:
    """A diagnostic set by its name (as shipped) or from a `.tsv` or `.jsonl` file.

    A file needs the columns of `REQUIRED`; `hyponym` identifies a row. Prompts that it leaves out
    are made from its words by the templates beside it, or else by the usual ones; to a file that
    brings its own questions, and has no templates, nothing but control prompts is added. Other
    missing columns (see `hyperprobe.diagnostic.build.COLUMNS`) are empty. Raises `UserError` with
    file and line on anything else.
    """
    if name in NAMES:
        with shipped(f"{name}.tsv").open(encoding="utf-8") as file:
            return pd.read_csv(
                file,
                sep="\t",
                dtype={"zipf": float},
                keep_default_na=False,
                quoting=csv.QUOTE_NONE,
            )
    if not os.path.isfile(name):  # noqa: PTH113 - Path.is_file raises on a name that is too long
        raise UserError(
            f"no diagnostic set {quoted(name)}: name a file or one of {', '.join(NAMES)}"
        )
    path = Path(name)
    templates = templates_beside(path)
    rows = (
        (number, _with_prompts(row, templates, f"{path}, line {number}"))
        for number, row in _rows(path, templates or Templates())
    )
    return _complete(rows, path)


def frame_digest(frame: pd.DataFrame) -> str:
    """The SHA-256 of a set's content, in hex."""
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()


def _rows(path: Path, templates: Templates) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) with the values of the file; empty and null ones are left out."""
    what = "diagnostic set"
    needed = [c for c in REQUIRED if templates.plural or not c.endswith("_plural")]
    read: Any
    if path.suffix == ".jsonl":
        read = read_jsonl(path, dict[str, Any], what)
    else:
        read = read_tsv(path, needed, what)
    for number, row in read:
        where = f"{path}, line {number}"
        given = {key: value for key, value in row.items() if value is not None and value != ""}
        if isinstance(zipf := given.get("zipf"), str) and path.suffix != ".jsonl":
            if not _NUMBER.fullmatch(zipf):
                raise UserError(f"{where}: zipf must be a number, not {quoted(zipf)}: correct it")
            given["zipf"] = float(zipf)
        if any(column in row for column in PROMPTS):
            needed = list(dict.fromkeys([*needed, *PROMPTS[: 1 + bool(templates.plural)]]))
        for column in needed:
            if column not in row:
                raise UserError(f"{where}: no column {column}: add it")
            if column not in given:
                raise UserError(f"{where}: {column} is empty: fill it or take the row out")
        item = check(Item, given, where)
        if item.hyponym == item.hypernym:
            raise UserError(f"{where}: hyponym and hypernym are the same word: take the row out")
        yield number, {**row, **item.model_dump()}


def _with_prompts(row: dict[str, Any], given: Templates | None, where: str) -> dict[str, Any]:
    """The row with the prompts that it lacks, as far as `load_diagnostic` adds them."""
    templates = given or Templates()
    for column, text in () if templates.is_english else templates.needs().items():
        if not row[column]:
            raise UserError(
                f"{where}: {column} is empty, but the template {quoted(text)} needs it: fill it, "
                f"with {WITHOUT_ARTICLE} for no article"
            )
    noun, answer = (
        noun_of(row[kind], row[f"{kind}_plural"], row[f"{kind}_article"], templates)
        for kind in ("hyponym", "hypernym")
    )
    made = MADE if given or not row["singular"] else ("control", "control_plural")
    for column in made:
        row[column] = row[column] or fill_in(getattr(templates, column), noun, answer)
    return row


def _complete(rows: Iterable[tuple[int, dict[str, Any]]], path: Path) -> pd.DataFrame:
    """The frame of the rows, or a `UserError` for what is wrong between them."""
    cells: dict[str, list[Any]] = {}  # by column: of many items, dictionaries fill the memory
    lines: dict[str, int] = {}
    plurals: dict[str, str] = {}
    articles: dict[str, str] = {}
    for number, row in rows:
        where = f"{path}, line {number}"
        hyponym, hypernym, many = row["hyponym"], row["hypernym"], row["hypernym_plural"]
        if lines.setdefault(hyponym, number) != number:
            raise UserError(f"{where}: {quoted(hyponym)} occurs twice: keep one row")
        if plurals.setdefault(hypernym, many) != many:
            raise UserError(
                f"{where}: {quoted(hypernym)} has two different plurals: make them agree"
            )
        if articles.setdefault(hypernym, row["hypernym_article"]) != row["hypernym_article"]:
            raise UserError(
                f"{where}: {quoted(hypernym)} has two different articles: make them agree"
            )
        for column in (one for one in row if one not in cells):
            cells[column] = [math.nan] * (len(lines) - 1)
        for column, of_column in cells.items():
            of_column.append(row.get(column, math.nan))
    if not lines:
        raise UserError(f"diagnostic set {path} is empty: write one row per item")
    if len(plurals) < 2:
        raise UserError(
            f"{path}: all items have one hypernym, {quoted(next(iter(plurals)))}, so that every "
            "answer is right: add items of another"
        )
    frame = pd.DataFrame(cells)
    return frame if frame["false_hypernym"].any() else frame.drop(columns="false_hypernym")
