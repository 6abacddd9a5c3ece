"""Which documents are near a question: a sparse table of weighted n-grams, mapped from its files.

A row for each bucket of n-grams, a column for each document. The weight of a bucket in a document
that has it `tf` times is log(1 + tf) * idf, with idf = max(0, log((N - n + .5) / (n + .5))) for n
of N documents that have it; a question is weighted alike, and a score is the product (Chen et al.
2017, section 3.1).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.errors import UserError, quoted
from hyperprobe.reading.ngrams import bucket, ngrams, search_words

Floats = NDArray[np.float64]
Found = list[tuple[int, float]]  # (column, score), best first


@dataclass(frozen=True)
class Index:
    """The table in the layout of scipy's `csr_array`, how many documents have each bucket (None:
    those that it is stored for), and how to get a document, (id, text), by its column."""

    path: Path  # for messages
    data: Floats
    indices: NDArray[Any]
    indptr: NDArray[Any]
    document_counts: NDArray[Any] | None
    n_documents: int
    longest: int
    document: Callable[[int], tuple[str, str]]

    def __post_init__(self) -> None:
        n_stored, n_buckets, counts = len(self.data), len(self.indptr) - 1, self.document_counts
        if (
            len(self.indices) != n_stored
            or (counts is not None and len(counts) != n_buckets)
            or (int(self.indptr[0]), int(self.indptr[-1])) != (0, n_stored)
        ):
            raise UserError(f"{self.path}: its tables do not fit each other: it is damaged")

    def question(self, text: str) -> tuple[NDArray[np.int64], Floats]:
        """The buckets of a question, ascending, and their weights."""
        n_buckets = len(self.indptr) - 1
        grams = ngrams(search_words(text), self.longest)
        counts = sorted(Counter(bucket(gram, n_buckets) for gram in grams).items())
        buckets = np.array([b for b, _ in counts], dtype=np.int64)
        tf = np.array([n for _, n in counts], dtype=float)
        if self.document_counts is None:
            n_with = self.indptr[buckets + 1] - self.indptr[buckets]
        else:
            n_with = self.document_counts[buckets]
        return buckets, np.log1p(tf) * idf(n_with, self.n_documents)

    def scores(self, text: str) -> Found:
        """All documents with a score above zero, the best first; equal ones as they were read."""
        columns, values = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for row, weight in zip(*self.question(text), strict=True):
            part = slice(int(self.indptr[row]), int(self.indptr[row + 1]))
            columns.append(np.asarray(self.indices[part], dtype=np.int64))
            values.append(weight * self.data[part])
        documents, place = np.unique(np.concatenate(columns), return_inverse=True)
        if len(documents) and not 0 <= documents[0] <= documents[-1] < self.n_documents:
            raise UserError(f"{self.path}: it names documents that it does not have: it is damaged")
        total = np.bincount(place, np.concatenate(values), minlength=len(documents))
        order = [i for i in np.argsort(-total, kind="stable") if total[i] > 0]
        return [(int(documents[i]), float(total[i])) for i in order]


def idf(n_with: NDArray[Any], n_documents: int) -> Floats:
    """The weight of what `n_with` of `n_documents` documents have; 0 for what most have."""
    n = np.asarray(n_with, dtype=float)
    # (a damaged table may count more documents than there are)
    weights: Floats = np.log(np.maximum((n_documents - n + 0.5) / (n + 0.5), 1.0))
    return weights


def connect(path: Path) -> sqlite3.Connection:
    """A database of documents, to be read only. Raises `UserError` if it is none."""
    if not path.is_file():
        raise UserError(f"no documents {path}: name the index with its docs.db beside it")
    # Quoted, so that a `?` or `#` in a name is no option.
    database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        database.execute("SELECT id, text FROM documents LIMIT 1").fetchall()
    except sqlite3.Error as error:
        database.close()
        raise UserError(
            f"{path}: no database of documents ({error}): name DrQA's docs.db, with a table "
            "documents(id, text)"
        ) from error
    return database


def one_row(path: Path, database: sqlite3.Connection, query: str, key: Any) -> tuple[Any, ...]:
    """The one row that a query finds for `key`. Raises `UserError` if there is none."""
    try:
        with closing(database.execute(query, (key,))) as cursor:
            row: tuple[Any, ...] | None = cursor.fetchone()
    except sqlite3.Error as error:
        raise UserError(f"cannot read {path} ({error}): it is damaged") from error
    if row is None or not all(isinstance(value, str) for value in row):
        raise UserError(f"{path}: no document {quoted(key)}, which the index has: fetch both again")
    return row
