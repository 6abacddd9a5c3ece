"""Scores from elsewhere: a table of questions, candidates and scores, read as a model.

The table is TSV, CSV or Parquet with the columns `text` (the question with its slot), `candidate`
and `score`, as `hyperprobe export items` writes it but for the scores.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.delimited import normalised, read_table
from hyperprobe.documents import read_bytes
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.base import Ranking, Scores, rank_scores
from hyperprobe.models.blocks import Block

COLUMNS = ("text", "candidate", "score")
WHAT = "scores"
MAX_PARQUET = 1 << 30  # bytes

# Text of a question -> candidate -> (score, where it was read).
Table = Mapping[str, Mapping[str, tuple[float, str]]]


class ScoresModel:
    """A table of scores as a `ClozeModel` and `PartialModel`: higher is better."""

    kind = "scores"
    reads_text = True

    def __init__(self, name: str, path: Path, table: Table, source: dict[str, Any]) -> None:
        self.name = name
        self.path = path
        self.table = table
        self._source = source

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """The files that identify the model. Raises `UserError` for one that is not there."""
        if not path.is_file():
            raise UserError(f"no {WHAT} {path}: check the name")
        return [path]

    @classmethod
    def load(cls, name: str, path: Path, source: dict[str, Any]) -> ScoresModel:
        """The scores in a file. Raises `UserError` for what is no table of scores."""
        return cls(name, path, read_scores(path), source)

    def describe(self) -> dict[str, Any]:
        n_scores = sum(map(len, self.table.values()))
        return {"name": self.name, "kind": self.kind, **self._source, "n_scores": n_scores}

    def has(self, blocks: Sequence[Block]) -> bool:
        """Whether all of these questions are answered; False if none is.

        Raises `UserError` when some are: what is left out of a probe would bias its numbers.
        """
        asked = [(cloze, block.candidates) for block in blocks for cloze in block.clozes]
        missing = [one for one in asked if self._unanswered(*one)]
        if 0 < len(missing) < len(asked):
            cloze, candidates = missing[0]
            raise UserError(
                f"{self.path} answers {len(asked) - len(missing)} of {len(asked)} questions that "
                f"belong together, but for {quoted(cloze.text)} it has no score of "
                f"{quoted(self._unanswered(cloze, candidates)[0])}: add what is missing, or leave "
                "all of them out"
            )
        return not missing

    def _unanswered(self, cloze: Cloze, candidates: CandidateSet) -> list[str]:
        """The candidates that have no score."""
        known = self.table.get(normalised(cloze.text), {})
        return [word for word in candidates.words if normalised(word) not in known]

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """The scores [n_clozes, n_candidates] as they are in the file, not rounded to 32 bits.

        Raises `UserError` for a question that is not answered.
        """
        words = [normalised(word) for word in candidates.words]
        scores = np.empty((len(clozes), len(words)))
        for i, cloze in enumerate(clozes):
            if lacking := self._unanswered(cloze, candidates):
                raise UserError(
                    f"{self.path} has no score of {quoted(lacking[0])} for {quoted(cloze.text)}: "
                    "add it (hyperprobe export items lists what zero-shot asks)"
                )
            of_text = self.table[normalised(cloze.text)]
            scores[i] = [of_text[word][0] for word in words]
        return scores  # type: ignore[return-value]

    def rank(
        self, clozes: Sequence[Cloze], candidates: CandidateSet, gold: Sequence[int | None], k: int
    ) -> Ranking:
        return rank_scores(self.score(clozes, candidates), gold, k)

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        """The clozes as they are."""
        return list(clozes)

    def words(self) -> list[str]:
        """None: a table has no vocabulary."""
        return []

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """NaN for each text: how it was read is not known."""
        return [float("nan")] * len(texts)


def read_scores(path: Path) -> Table:
    """The scores of each question. Raises `UserError`, with the line, for a score that is no
    finite number and for one that is given twice."""
    table: dict[str, dict[str, tuple[float, str]]] = {}
    for where, row in _rows(path):
        text, candidate = row["text"], row["candidate"]
        of_text = table.setdefault(text, {})
        if candidate in of_text:
            raise UserError(
                f"{where}: {quoted(candidate)} in {quoted(text)} has a score already "
                f"({of_text[candidate][1]}): keep one"
            )
        of_text[candidate] = _number(row["score"], where), where.rpartition(", ")[2]
    return table


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(where, row) of a table of any of the formats."""
    if path.suffix != ".parquet":
        for number, row in read_table(path, COLUMNS, (), WHAT):
            yield f"{path}, line {number}", row
        return
    try:
        frame = pd.read_parquet(io.BytesIO(read_bytes(path, WHAT, MAX_PARQUET)))
    except (OSError, ValueError) as error:  # (pyarrow's errors are among these)
        raise UserError(f"cannot read {WHAT} {path}: it is no Parquet file, or damaged") from error
    if lacking := [name for name in COLUMNS if name not in frame]:
        raise UserError(f"{path}: no column {lacking[0]}: it needs {', '.join(COLUMNS)}")
    if frame.empty:
        raise UserError(f"{WHAT} {path} has no rows: write one for each candidate of a question")
    cells = zip(*(frame[name].tolist() for name in COLUMNS), strict=True)
    for number, (text, candidate, score) in enumerate(cells, start=1):
        where = f"{path}, row {number}"
        if not isinstance(text, str) or not isinstance(candidate, str):
            raise UserError(f"{where}: text and candidate must be texts: correct it")
        yield where, {
            "text": normalised(text), "candidate": normalised(candidate), "score": score
        }  # fmt: skip


def _number(cell: Any, where: str) -> float:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{where}: the score is {quoted(cell)}: write a finite number")
    return value
