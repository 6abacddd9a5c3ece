"""Folds made of a diagnostic set, or read back: a user's file, or one that an earlier run wrote.

What a probe's number means depends on what the folds separate, so that is checked
whenever they are made or read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from hyperprobe.delimited import read_tsv
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sentences import read_all, shipped_files
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.embedding import find_word
from hyperprobe.probes.classify.pairs import (
    COLUMNS,
    PARTITIONS,
    SETTINGS,
    has_groups,
    make_folds,
    n_parts_of,
)

Where = Callable[[object], str]  # index of a row -> where it was read


def folds_of(
    diagnostic: str, contexts: Sequence[Path], settings: Sequence[str], seed: int
) -> tuple[pd.DataFrame, list[str]]:
    """Folds of both settings, as far as the set has them, and notes.

    Both are always encoded together, so that the numbers of one do not depend on whether the
    other is asked for.
    """
    items, notes = load_diagnostic(diagnostic), []
    is_shipped = diagnostic in NAMES
    possible = list(SETTINGS)
    n_parts = items["group"].nunique() if has_groups(items) else n_parts_of(items)
    if n_parts < 2:
        why = f"{diagnostic}: unseen needs two groups, or four categories without any"
        if "seen" not in settings:
            raise UserError(f"{why}: add some, or choose --setting seen")
        possible = ["seen"]
        notes += [f"{why}: left out"] if "unseen" in settings else []
    paths = contexts or (shipped_files() if is_shipped else [])
    made = make_folds(items, read_all(paths), possible, seed, bare=not is_shipped)
    for (setting, fold), rows in made.groupby(["setting", "fold"]):
        if rows["partition"].nunique() == len(PARTITIONS):
            continue
        if setting in settings:
            raise UserError(
                f"{diagnostic} has too few nouns for fold {fold} of {setting}: add some, so that "
                "each category has seven or more"
            )
        made = made[made["setting"] != setting].reset_index(drop=True)
    check_folds(made)
    bare = made.loc[made["hyponym"] == made["hyponym_sentence"], "hyponym"].nunique()
    if bare:
        notes.append(f"{bare} nouns have no context sentence: they stand by themselves")
    return made, notes


def read_folds(path: Path, settings: Sequence[str] = ()) -> pd.DataFrame:
    """The folds of a `.tsv` file with the columns of `hyperprobe.probes.classify.pairs.COLUMNS`.

    Raises `UserError` with the line of the first row that breaks a rule of `check_folds`, and for
    a file without folds of one of `settings`.
    """
    rows = read_tsv(path, COLUMNS, "folds file")
    lines = [number for number, _ in rows]
    folds = pd.DataFrame([row for _, row in rows])[list(COLUMNS)]

    def where(i: object) -> str:
        return f"{path}:{lines[int(str(i))]}"

    for column, values in (
        ("setting", SETTINGS),
        ("partition", PARTITIONS),
        ("label", ("0", "1")),
    ):
        _refuse(~folds[column].isin(values), where, f"{column} must be one of {', '.join(values)}")
    _refuse(~folds["fold"].str.fullmatch("[1-9][0-9]{0,4}"), where, "fold must be a number from 1")
    for column in ("group", "hyponym", "hypernym", "hyponym_sentence", "hypernym_sentence"):
        _refuse(folds[column].str.strip() == "", where, f"{column} is empty: fill it")
    folds = folds.astype({"fold": int, "label": int})
    check_folds(folds, where)
    for setting in settings:
        if setting not in set(folds["setting"]):
            raise UserError(f"{path} has no {setting} folds: add them or choose another --setting")
    return folds


def check_folds(folds: pd.DataFrame, where: Where = lambda i: f"row {i}") -> None:
    """Raise `UserError`, with the file and line of the first row that is wrong, unless in each fold

    - training, dev and test are present, each with as many positive as negative rows;
    - no hyponym and no sentence is in two partitions; in `unseen` no hypernym of dev
      or test is in training, in `seen` each one is;
    - no pair has two labels, no row occurs twice, dev and test have each pair once;

    and unless each word is of one group in a setting, and occurs in its sentences.
    """
    _check_words(folds, where)
    for (setting, fold), rows in folds.groupby(["setting", "fold"], sort=False):
        name = f"fold {fold} of {setting}"
        for partition in PARTITIONS:
            part = rows[rows["partition"] == partition]
            n_positive = int(part["label"].sum())
            if part.empty:
                raise UserError(f"{where(rows.index[0])}: {name} has no {partition} rows: add some")
            if 2 * n_positive != len(part):
                raise UserError(
                    f"{where(part.index[0])}: {partition} of {name} has {n_positive} positive "
                    f"rows of {len(part)}: make it half of them"
                )
        for column in ("hyponym", "hyponym_sentence", "hypernym_sentence"):
            elsewhere = rows.groupby(column)["partition"].transform("nunique") > 1
            if column == "hypernym_sentence":  # a word by itself is no sentence
                elsewhere &= rows[column] != rows["hypernym"]
            _refuse(elsewhere, where, f"this {column} is in two partitions of {name}", rows[column])
        trained = set(rows["hypernym"][rows["partition"] == "train"])
        in_training = rows["hypernym"].isin(trained)
        if setting == "unseen":
            wrong, what = in_training & (rows["partition"] != "train"), "is in training as well"
        else:
            wrong, what = ~in_training, "is not in training"
        _refuse(wrong, where, f"this hypernym of {name} {what}", rows["hypernym"])
        pair = rows["hyponym"] + " - " + rows["hypernym"]
        two_labels = rows.groupby(["hyponym", "hypernym"])["label"].transform("nunique") > 1
        _refuse(two_labels, where, f"this pair has two labels in {name}", pair)
        _refuse(rows.duplicated(), where, f"this row occurs twice in {name}", pair)
        asked = rows[rows["partition"] != "train"]
        again = asked.duplicated(["hyponym", "hypernym"])
        _refuse(again, where, f"this pair is asked twice in {name}", pair)


def _check_words(folds: pd.DataFrame, where: Where) -> None:
    for column in ("hyponym", "hypernym"):
        groups = folds.groupby(["setting", column])["group"].transform("nunique")
        _refuse(groups > 1, where, f"this {column} is in two groups", folds[column])
        distinct = folds.drop_duplicates([column, f"{column}_sentence"])
        for i, word, text in zip(
            distinct.index, distinct[column], distinct[f"{column}_sentence"], strict=True
        ):
            try:
                find_word(word, text)
            except UserError as error:
                raise UserError(
                    f"{where(i)}: {quoted(word)} is not in {quoted(text)}: correct the "
                    "sentence or the word"
                ) from error


def _refuse(wrong: pd.Series, where: Where, what: str, shown: pd.Series | None = None) -> None:
    """Raise `UserError` for the first row that is wrong, if any."""
    if wrong.any():
        first = wrong.idxmax()
        detail = "" if shown is None else f": {quoted(shown[first])}"
        raise UserError(f"{where(first)}: {what}{detail}")
