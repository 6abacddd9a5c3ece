"""Diagnostic sets read back: those that ship by name, a user's from a file."""

from __future__ import annotations

import csv
import hashlib
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator

from hyperprobe.cloze import SLOT
from hyperprobe.data.files import table as shipped
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.documents import Document, check, read_jsonl, read_tsv
from hyperprobe.errors import UserError, printable, quoted
from hyperprobe.lexicon.morphology import indefinite_article

REQUIRED = ("hyponym", "hyponym_plural", "hypernym", "hypernym_plural", "singular", "plural")
_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,30})?")


def _clean(text: str) -> str:
    if printable(text) != text:
        raise ValueError("must hold no control characters")
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: fill it or take the row out")
    if text != text.strip():
        raise ValueError("must have no space at its ends")
    return text


def _with_slot(text: str) -> str:
    if text and text.count(SLOT) != 1:
        raise ValueError(f"must hold {SLOT} once")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Word = Annotated[Text, AfterValidator(_filled)]
Prompt = Annotated[Text, AfterValidator(_with_slot)]


class Item(Document):
    """One row of a diagnostic set: a word, its category, and the prompts that ask for it."""

    hyponym: Word
    hyponym_plural: Word
    hypernym: Word
    hypernym_plural: Word
    singular: Annotated[Prompt, AfterValidator(_filled)]
    plural: Annotated[Prompt, AfterValidator(_filled)]
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

    A file needs the columns of `REQUIRED`; `hyponym` identifies a row. Missing
    optional columns (see `hyperprobe.diagnostic.build.COLUMNS`) are filled: empty prompts, no
    frequency, control prompts from the words. Raises `UserError` with file and line
    on anything else.
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
    return _complete(list(_rows(path)), path)


def article_note(name: str) -> str | None:
    """A note on a user's set whose prompts reveal answers by their article.

    That is so when some of its categories take `a` and others `an`: an item counts when
    its article leaves half of the categories or fewer.
    """
    if name in NAMES:
        return None
    frame = load_diagnostic(name)
    of_category = {word: indefinite_article(word) for word in frame["hypernym"].unique()}
    articles = list(of_category.values())
    if len(set(articles)) < 2:
        return None
    before = frame["singular"].str.extract(rf"\b(an?) {re.escape(SLOT)}", flags=re.IGNORECASE)[0]
    n_left = before.str.lower().map(lambda article: articles.count(article))
    n_told = int(((n_left > 0) & (2 * n_left <= len(articles))).sum())
    if not n_told:
        return None
    return (
        f"{name}: the article before the slot leaves half of the categories or fewer for {n_told} "
        f"of {len(frame)} items: --article marginal gives nothing away"
    )


def frame_digest(frame: pd.DataFrame) -> str:
    """The SHA-256 of a set's content, in hex."""
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, row) with the values of the file; empty and null ones are left out."""
    what = "diagnostic set"
    read: Any
    if path.suffix == ".jsonl":
        read = read_jsonl(path, dict[str, Any], what)
    else:
        read = read_tsv(path, REQUIRED, what)
    for number, row in read:
        where = f"{path}, line {number}"
        given = {key: value for key, value in row.items() if value is not None and value != ""}
        if isinstance(zipf := given.get("zipf"), str) and path.suffix != ".jsonl":
            if not _NUMBER.fullmatch(zipf):
                raise UserError(f"{where}: zipf must be a number, not {quoted(zipf)}: correct it")
            given["zipf"] = float(zipf)
        for column in REQUIRED:
            if column in row and column not in given:
                raise UserError(f"{where}: {column} is empty: fill it or take the row out")
        item = check(Item, given, where)
        if item.hyponym == item.hypernym:
            raise UserError(f"{where}: hyponym and hypernym are the same word: take the row out")
        yield number, {**row, **item.model_dump()}


def _complete(rows: list[tuple[int, dict[str, Any]]], path: Path) -> pd.DataFrame:
    """The frame of the rows, or a `UserError` for what is wrong between them."""
    if not rows:
        raise UserError(f"diagnostic set {path} is empty: write one row per item")
    lines: dict[str, int] = {}
    plurals: dict[str, str] = {}
    for number, row in rows:
        where = f"{path}, line {number}"
        hyponym, hypernym, many = row["hyponym"], row["hypernym"], row["hypernym_plural"]
        if lines.setdefault(hyponym, number) != number:
            raise UserError(f"{where}: {quoted(hyponym)} occurs twice: keep one row")
        if plurals.setdefault(hypernym, many) != many:
            raise UserError(
                f"{where}: {quoted(hypernym)} has two different plurals: make them agree"
            )
        row["control"] = row["control"] or f"{hyponym} {SLOT}."
        row["control_plural"] = row["control_plural"] or f"{row['hyponym_plural']} {SLOT}."
    if len(plurals) < 2:
        raise UserError(
            f"{path}: all items have one hypernym, {quoted(next(iter(plurals)))}, so that every "
            "answer is right: add items of another"
        )
    frame = pd.DataFrame([row for _, row in rows])
    return frame if frame["false_hypernym"].any() else frame.drop(columns="false_hypernym")
