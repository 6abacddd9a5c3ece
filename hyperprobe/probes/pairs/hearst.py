"""Counts of pairs in Hearst's patterns as scores, after Roller, Kiela & Nickel (2018).

The words of a count file are a square matrix: rows are hyponyms, columns hypernyms. A pair is
scored by its count, by the positive pointwise mutual information of its words in the patterns,
and by that matrix with its rank reduced, which says something of pairs that were never seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.wordnet import noun_lemma
from hyperprobe.probes.pairs.files import key
from hyperprobe.probes.pairs.scoring import Answers, Pair

COUNT, PPMI, SVD_PPMI = "count", "ppmi", "svd-ppmi"
RANK = 50
COUNTS_FILE = "file of pair counts"
DECIMALS = 9  # of products of factors: what is below is rounding, and would order what is equal
UNKNOWN = 0  # a row and a column of zeros


@dataclass(frozen=True)
class PatternCounts:
    """`counts` [n, n] of words, the row and column of each word (from 1 on), and the rank to
    which the third measure reduces them."""

    row: dict[str, int]
    counts: Any  # csr_matrix
    rank: int = RANK

    @classmethod
    def read(cls, path: Path, rank: int = RANK) -> PatternCounts:
        """A file of hyponym, hypernym and count, tab-separated, without a header; packed or not.

        Words of a phrase are joined by `_`; a pair that stands there twice is added up. Raises
        `UserError` with the line of a bad row.
        """
        row: dict[str, int] = {}
        rows, columns, values = [], [], []
        for number, line in read_lines(path, COUNTS_FILE):
            if not line.strip():
                continue
            cells = line.split("\t")
            if len(cells) != 3 or not all(cell.strip() for cell in cells):
                raise UserError(
                    f"{path}, line {number}: write hyponym, hypernym and count, tab-separated"
                )
            rows.append(row.setdefault(cells[0], len(row) + 1))
            columns.append(row.setdefault(cells[1], len(row) + 1))
            values.append(_count(cells[2], f"{path}, line {number}"))
        if not values:
            raise UserError(f"{path} is empty: write hyponym, hypernym and count, one pair a line")
        n = len(row) + 1
        return cls(row, csr_matrix((values, (rows, columns)), shape=(n, n), dtype=np.float64), rank)

    def score(self, pairs: Sequence[Pair]) -> dict[str, Answers]:
        """The three measures. A pair is known if the counts have both words as they stand; they
        are looked up by their lemmas, as in the original, and what is not found scores 0."""
        keys = [(key(first), key(second)) for first, second in pairs]
        known = np.array([a in self.row and b in self.row for a, b in keys], dtype=bool)
        first, second = (
            np.array([self.row.get(noun_lemma(pair[side]), UNKNOWN) for pair in keys])
            for side in (0, 1)
        )
        left, right = self.factors
        found = {
            COUNT: np.asarray(self.counts[first, second]).ravel(),
            # (in single precision, in which equal values are equal however they were summed)
            PPMI: np.asarray(self.ppmi[first, second]).ravel().astype(np.float32).astype(float),
            SVD_PPMI: np.einsum("ij,ij->i", left[first], right[second]).round(DECIMALS),
        }
        return {measure: Answers(scores, known) for measure, scores in found.items()}

    @cached_property
    def ppmi(self) -> Any:
        """max(0, log of the count over what independent words would have) [n, n], sparse."""
        table = self.counts.tocoo()
        of_row, of_column = (np.asarray(self.counts.sum(axis=axis)).ravel() for axis in (1, 0))
        pmi = (
            np.log(of_row.sum())
            + np.log(table.data)
            - np.log(of_row[table.row])
            - np.log(of_column[table.col])
        )
        return csr_matrix((np.maximum(pmi, 0), (table.row, table.col)), shape=table.shape)

    @cached_property
    def factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Two matrices [n, rank] whose products are the best approximation of `ppmi` of that
        rank: its truncated singular value decomposition."""
        from scipy.sparse.linalg import svds

        n = self.counts.shape[0]
        if not self.ppmi.count_nonzero():
            return np.zeros((n, 1)), np.zeros((n, 1))
        start = np.random.default_rng(0).uniform(size=n)  # so that every run is the same
        u, s, vt = svds(self.ppmi, k=min(self.rank, n - 1), v0=start)
        return u * s, vt.T


def _count(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e15:
        raise UserError(f"{where}: the count is {quoted(cell)}: write a number above 0")
    return value
