"""Files of labelled word pairs, and of scores of such pairs, in the formats in use.

Columns are separated by tabs, by commas, or, under a header, by spaces. A header is recognised
by its names; without one, columns count from the left: hyponym, hypernym, label or score,
relation. Words may carry a part of speech (`robin-n`) and `_` for the space in a phrase.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError, printable, quoted

Cells = list[str]
Rows = list[tuple[int, dict[str, str]]]  # line number, column -> cell

# What a column may be called, in any case.
NAMES = {
    "hyponym": ("hyponym", "hypo", "word1", "child"),
    "hypernym": ("hypernym", "hyper", "word2", "parent"),
    "label": ("label",),
    "score": ("score", "sim", "avg_score"),
    "fold": ("fold",),
    "pos": ("pos",),
    "is_oov": ("is_oov",),
}
PAIR = ("hyponym", "hypernym")
# Columns of files without a header, by their number.
PAIR_COLUMNS = {2: PAIR, 3: (*PAIR, "third"), 4: (*PAIR, "label", "relation")}
SCORE_COLUMNS = {3: (*PAIR, "score"), 4: (*PAIR, "score", "is_oov")}
LABELS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0, "-1": -1.0}
FOLDS = {"": "", "train": "train", "val": "val", "dev": "val", "validation": "val", "test": "test"}
_SUFFIXES = re.compile(r"(\.(tsv|csv|txt|gz|xz|bz2))+$")
_TAGGED = re.compile("(.+)-([nvjr])")


@dataclass(frozen=True)
class PairSet:
    """Pairs of nouns and what is known of each.

    `frame` has a row for each: `hyponym` and `hypernym` as text, `label` (1: the second word is
    a hypernym of the first, -1: the first of the second, 0: neither; NaN where the file does not
    say), `graded` (how much the first entails the second; or NaN) and `fold` (train, val, test,
    or empty). `n_other_pos` pairs with another part of speech are left out; `n_repeated` stand
    in the file before.
    """

    name: str
    frame: pd.DataFrame
    n_other_pos: int = 0

    @property
    def n_repeated(self) -> int:
        return int(self.frame.duplicated(list(PAIR)).sum())

    @property
    def is_labelled(self) -> bool:
        """Whether it says which pairs are hypernymy and which are not."""
        return bool((self.frame["label"] == 1).any() and (self.frame["label"] == 0).any())

    @property
    def is_directed(self) -> bool:
        """Whether it says of pairs that they are hypernymy the other way round."""
        return bool((self.frame["label"] == -1).any())


def read_pairs(path: Path) -> PairSet:
    """The pairs of a file, named after it. Raises `UserError` with the line of what is wrong."""
    rows = _read_table(path, "file of pairs", PAIR_COLUMNS)
    columns = dict(rows[0][1])
    if "third" in columns:
        kind = "label" if all(row["third"].lower() in LABELS for _, row in rows) else "score"
        rows = [(number, {**row, kind: row["third"]}) for number, row in rows]
        columns[kind] = ""
    labels = [LABELS.get(row.get("label", "").lower(), math.nan) for _, row in rows]
    if "label" in columns and "score" in columns and np.isnan(labels).any():
        labels = [math.nan] * len(rows)  # relations (hyp-1, cohyp) beside the scores
    elif "label" in columns and np.isnan(labels).any():
        number, row = rows[int(np.isnan(labels).argmax())]
        raise UserError(
            f"{path}, line {number}: the label is {quoted(row['label'])}: write True or False, "
            "or 1, 0 and -1 (the first word is the hypernym)"
        )
    elif "label" not in columns and "score" not in columns:
        if unknown := [name for name in columns if name not in (*NAMES, "relation")]:
            raise UserError(
                f"{path}: no column label or score beside {quoted(unknown[0])}: name one so, or "
                "leave only pairs that are hypernymy, in two columns"
            )
        labels = [1.0] * len(rows)  # a list of pairs that are hypernymy
    graded = [_number(row["score"], f"{path}, line {n}") if "score" in row else math.nan
              for n, row in rows]  # fmt: skip
    words, is_noun = _words(path, rows)
    frame = pd.DataFrame(
        {
            "hyponym": [hyponym for hyponym, _ in words],
            "hypernym": [hypernym for _, hypernym in words],
            "label": labels,
            "graded": graded,
            "fold": [_fold(row.get("fold", ""), f"{path}, line {n}") for n, row in rows],
        }
    )
    kept = frame[is_noun].reset_index(drop=True)
    _check(path, kept)
    return PairSet(_SUFFIXES.sub("", path.name) or path.name, kept, len(frame) - len(kept))


def read_scores(path: Path) -> dict[tuple[str, str], float]:
    """(hyponym, hypernym) as `key` writes them -> score, of a user's file.

    Pairs whose `is_oov` is 1 have none. Raises `UserError` with the line of what is wrong, and
    of a pair with two scores.
    """
    scores: dict[tuple[str, str], float] = {}
    for number, row in _read_table(path, "file of scores", SCORE_COLUMNS, ("score",)):
        where = f"{path}, line {number}"
        if row.get("is_oov", "").lower() in ("1", "t", "true"):
            continue
        pair = key(_word(row["hyponym"], where)), key(_word(row["hypernym"], where))
        score = _number(row["score"], where)
        if scores.setdefault(pair, score) != score:
            raise UserError(f"{where}: {quoted(' '.join(pair))} has two scores: keep one")
    if not scores:
        raise UserError(f"{path} scores no pair: write hyponym, hypernym and score, one a line")
    return scores


def key(word: str) -> str:
    """The word as files of scores and counts have it: lower case, `_` for a space."""
    return word.lower().replace(" ", "_")


# -- tables -----------------------------------------------------------------------------------


def _read_table(
    path: Path, what: str, by_number: Mapping[int, tuple[str, ...]], needs: tuple[str, ...] = ()
) -> Rows:
    """The rows under their columns' names of `NAMES`; at least one."""
    lines = _cells(path, what)
    first_line, first, by_spaces = next(lines, (0, [], False))
    if not first:
        raise UserError(f"{what} {path} is empty: write one pair a line")
    named = [_name_of(cell) for cell in first]
    has_header = set(PAIR) <= set(named)
    if not has_header and (by_spaces or len(first) not in by_number):
        numbers = " or ".join(map(str, by_number))
        raise UserError(
            f"{path}, line {first_line}: {len(first)} columns and no header: separate {numbers} "
            "columns by tabs or commas, or name them (word1, word2, label, score, fold, pos)"
        )
    columns = tuple(named) if has_header else by_number[len(first)]
    where = f"{path}, line {first_line}"
    for name in (*PAIR, *needs):
        if columns.count(name) != 1:
            raise UserError(f"{where}: {columns.count(name)} columns are a {name}: name one so")
    rows: Rows = [] if has_header else [(first_line, dict(zip(columns, first, strict=True)))]
    for number, cells, _ in lines:
        # (HyperLex has each person's rating after the columns that its header names)
        fits = len(cells) >= len(columns) if by_spaces else len(cells) == len(columns)
        if not fits:
            raise UserError(
                f"{path}, line {number}: {len(cells)} cells where line {first_line} has "
                f"{len(columns)}: separate them alike"
            )
        rows.append((number, dict(zip(columns, cells, strict=False))))
    if not rows:
        raise UserError(f"{what} {path} has a header and no rows: write one pair a line")
    return rows


def _cells(path: Path, what: str) -> Iterator[tuple[int, Cells, bool]]:
    """(line number, cells, whether spaces separate them) of each line that is not blank."""
    split: Callable[[str], Cells] | None = None
    by_spaces = False
    for number, line in read_lines(path, what):
        if not line.strip():
            continue
        if split is None:
            by_spaces = "\t" not in line and "," not in line
            split = _by_tabs if "\t" in line else str.split if by_spaces else _by_commas
        try:
            cells = split(line)
        except csv.Error as error:
            raise UserError(
                f"{path}, line {number}: not comma-separated ({error}): close the quotes"
            ) from error
        yield number, [cell.strip() for cell in cells], by_spaces


def _by_tabs(line: str) -> Cells:
    return line.split("\t")


def _by_commas(line: str) -> Cells:
    return next(csv.reader([line], strict=True))


def _name_of(cell: str) -> str:
    """What we call the column that a header calls `cell`; unknown ones keep their names."""
    lowered = cell.lower()
    return next((name for name, names in NAMES.items() if lowered in names), lowered)


# -- cells ------------------------------------------------------------------------------------


def _words(path: Path, rows: Rows) -> tuple[list[tuple[str, str]], list[bool]]:
    """The two words of each row as text, and whether both are nouns as far as the file says."""
    cells = [(row["hyponym"], row["hypernym"]) for _, row in rows]
    tags = [[_TAGGED.fullmatch(word) for word in pair] for pair in cells]
    if all(tag for pair in tags for tag in pair):
        found = [[tag for tag in pair if tag] for pair in tags]
        cells = [(first[1], second[1]) for first, second in found]
        is_noun = [first[2] == second[2] == "n" for first, second in found]
    else:
        parts = [row.get("pos", "n").lower() for _, row in rows]
        is_noun = [part in ("n", "noun") for part in parts]
    wheres = [f"{path}, line {number}" for number, _ in rows]
    words = [
        (_word(first, where), _word(second, where))
        for (first, second), where in zip(cells, wheres, strict=True)
    ]
    return words, is_noun


def _word(cell: str, where: str) -> str:
    text = " ".join(cell.replace("_", " ").split())
    if not text:
        raise UserError(f"{where}: a word is empty: fill it or take the row out")
    if printable(text) != text:
        raise UserError(f"{where}: {quoted(text)} holds control characters: take them out")
    return text


def _number(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(
            f"{where}: the score is {quoted(cell)}: write a number (or in a header the names "
            "word1, word2, and label or score)"
        )
    return value


def _fold(cell: str, where: str) -> str:
    fold = FOLDS.get(cell.lower())
    if fold is None:
        raise UserError(f"{where}: the fold is {quoted(cell)}: write train, val or test")
    return fold


def _check(path: Path, frame: pd.DataFrame) -> None:
    """Raise `UserError` where the pairs leave nothing to measure."""
    if frame.empty:
        raise UserError(f"{path} has no pair of nouns: the prompts ask for nouns alone")
    if frame["label"].notna().any() and not (frame["label"] != 0).any():
        raise UserError(f"{path} labels no pair of nouns True: add pairs that are hypernymy")
    if frame["graded"].notna().any() and frame["graded"].nunique() < 2:
        raise UserError(f"{path} gives every pair the same score: give each its own")
