"""A folds file read back: a user's own, or one that an earlier run wrote.

What a probe's number means hangs on what the folds keep apart, so it is checked
when the file is read, not trusted because it was once made right.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from hyperprobe.documents import read_tsv
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.embedding import find_word
from hyperprobe.probes.classify.pairs import COLUMNS, PARTITIONS, SETTINGS

Place = Callable[[object], str]  # index of a row -> where it was read


def read_folds(path: Path) -> pd.DataFrame:
    """The folds of a `.tsv` file with the columns of `hyperprobe.probes.classify.pairs.COLUMNS`.

    Raises `UserError` with the line of the first row that breaks a rule of `check_folds`.
    """
    rows = read_tsv(path, COLUMNS, "folds file")
    lines = [number for number, _ in rows]
    folds = pd.DataFrame([row for _, row in rows])[list(COLUMNS)]

    def place(i: object) -> str:
        return f"{path}:{lines[int(str(i))]}"

    for column, values in (
        ("setting", SETTINGS),
        ("partition", PARTITIONS),
        ("label", ("0", "1")),
    ):
        _refuse(~folds[column].isin(values), place, f"{column} must be one of {', '.join(values)}")
    _refuse(~folds["fold"].str.fullmatch("[1-9][0-9]{0,4}"), place, "fold must be a number from 1")
    for column in ("group", "hyponym", "hypernym", "hyponym_sentence", "hypernym_sentence"):
        _refuse(folds[column].str.strip() == "", place, f"{column} is empty: fill it")
    folds = folds.astype({"fold": int, "label": int})
    check_folds(folds, place)
    return folds


def check_folds(folds: pd.DataFrame, place: Place = lambda i: f"row {i}") -> None:
    """Raise `UserError`, with the place of the first row that is wrong, unless in each fold

    - training, dev and test are there, each with as many positive as negative rows;
    - no hyponym and no sentence is in two partitions; in `unseen` no hypernym of dev
      or test is in training, in `seen` each one is;
    - no pair has two labels, no row is there twice, dev and test have each pair once;

    and unless each word is of one group, and stands in its sentences.
    """
    _check_words(folds, place)
    for (setting, fold), own in folds.groupby(["setting", "fold"], sort=False):
        where = f"fold {fold} of {setting}"
        for partition in PARTITIONS:
            rows = own[own["partition"] == partition]
            n_positive = int(rows["label"].sum())
            if rows.empty:
                raise UserError(f"{place(own.index[0])}: {where} has no {partition} rows: add some")
            if 2 * n_positive != len(rows):
                raise UserError(
                    f"{place(rows.index[0])}: {partition} of {where} has {n_positive} positive "
                    f"rows of {len(rows)}: make it half of them"
                )
        for column in ("hyponym", "hyponym_sentence", "hypernym_sentence"):
            elsewhere = own.groupby(column)["partition"].transform("nunique") > 1
            _refuse(elsewhere, place, f"this {column} is in two partitions of {where}", own[column])
        trained = set(own["hypernym"][own["partition"] == "train"])
        in_training = own["hypernym"].isin(trained)
        if setting == "unseen":
            wrong, what = in_training & (own["partition"] != "train"), "is in training as well"
        else:
            wrong, what = ~in_training, "is not in training"
        _refuse(wrong, place, f"this hypernym of {where} {what}", own["hypernym"])
        pair = own["hyponym"] + " - " + own["hypernym"]
        two_labels = own.groupby(["hyponym", "hypernym"])["label"].transform("nunique") > 1
        _refuse(two_labels, place, f"this pair has two labels in {where}", pair)
        _refuse(own.duplicated(), place, f"this row is there twice in {where}", pair)
        asked = own[own["partition"] != "train"]
        again = asked.duplicated(["hyponym", "hypernym"])
        _refuse(again, place, f"this pair is asked twice in {where}", pair)


def _check_words(folds: pd.DataFrame, place: Place) -> None:
    for column in ("hyponym", "hypernym"):
        groups = folds.groupby(column)["group"].transform("nunique")
        _refuse(groups > 1, place, f"this {column} is in two groups", folds[column])
        distinct = folds.drop_duplicates([column, f"{column}_sentence"])
        for i, word, text in zip(
            distinct.index, distinct[column], distinct[f"{column}_sentence"], strict=True
        ):
            try:
                find_word(word, text)
            except UserError as error:
                raise UserError(
                    f"{place(i)}: {quoted(word)} does not stand in {quoted(text)}: correct the "
                    "sentence or the word"
                ) from error


def _refuse(wrong: pd.Series, place: Place, what: str, shown: pd.Series | None = None) -> None:
    """Raise `UserError` for the first row that is wrong, if any."""
    if wrong.any():
        first = wrong.idxmax()
        detail = "" if shown is None else f": {quoted(shown[first])}"
        raise UserError(f"{place(first)}: {what}{detail}")
