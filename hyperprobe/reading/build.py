"""Texts -> an index of them in a folder: counted block by block, so that a killed run continues."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.errors import UserError, quoted
from hyperprobe.progress import progress
from hyperprobe.reading.index import Index, connect, idf, one_row
from hyperprobe.reading.ngrams import LONGEST, N_BUCKETS, bucket, is_empty, search_words
from hyperprobe.reading.texts import Text, blocks
from hyperprobe.runs.files import write_atomically, write_text
from hyperprobe.workers import in_order

DATABASE, ABOUT = "docs.db", "index.json"
TABLES = ("data.npy", "indices.npy", "indptr.npy")
COUNTED = "counted"  # the folder of what is counted already
BY_COLUMN = "SELECT id, text FROM documents WHERE rowid = ?"
MOST_PROCESSES = 8
BYTES_STORED = 12  # of each (bucket, document) in the tables
Counts = NDArray[np.int32]


def open_or_build(files: Sequence[Path], folder: Path) -> Index:
    """The index of the documents in `files`, kept in `folder`, where it is made if it is not
    there. Raises `UserError` for texts that cannot be read, and for a full disk."""
    if not _is_whole(folder):
        folder.mkdir(parents=True, exist_ok=True)
        n_documents = _count(files, folder)
        _merge(sorted((folder / COUNTED).glob("*.npy")), n_documents, folder)
        sizes = {name: (folder / name).stat().st_size for name in (*TABLES, DATABASE)}
        write_text(folder / ABOUT, json.dumps({"n_documents": n_documents, "sizes": sizes}))
        shutil.rmtree(folder / COUNTED, ignore_errors=True)
    return _opened(folder)


def _is_whole(folder: Path) -> bool:
    try:
        sizes = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["sizes"]
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def _opened(folder: Path) -> Index:
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    data, indices, indptr = (np.load(folder / name, mmap_mode="r") for name in TABLES)
    path = folder / DATABASE
    database = connect(path)

    def document(column: int) -> tuple[str, str]:
        found, text = one_row(path, database, BY_COLUMN, column)
        return str(found), str(text)

    return Index(folder, data, indices, indptr, None, about["n_documents"], LONGEST, document)


# -- counting -------------------------------------------------------------------------------


def _count(files: Sequence[Path], folder: Path) -> int:
    """Put all documents into the database, and the counts of each block into a file of its own.
    Returns how many documents there are."""
    processes = min(os.cpu_count() or 1, MOST_PROCESSES) if os.name == "posix" else 1
    (folder / COUNTED).mkdir(exist_ok=True)
    remedy = "close other programs, and the same command continues"
    total = sum(path.stat().st_size for path in files)
    with (
        closing(_new_database(folder / DATABASE)) as database,
        progress("indexing the documents", total, unit="bytes") as advance,
    ):
        uncounted = _stored(database, blocks(files, advance), folder)
        for _ in in_order(_count_block, uncounted, processes, remedy):
            pass
        n_documents: int = database.execute("SELECT COUNT(*) FROM documents").fetchone()[0]
    if not n_documents:
        raise UserError(f"no text in {files[0]}: name files or folders with documents")
    return n_documents


def _new_database(path: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE IF NOT EXISTS documents (id PRIMARY KEY, text)")
    except sqlite3.Error as error:
        raise UserError(f"cannot write {path} ({error}): delete the folder around it") from error
    return database


def _stored(
    database: sqlite3.Connection, texts: Iterator[list[Text]], folder: Path
) -> Iterator[tuple[Path, int, list[str]]]:
    """Each block that is not counted: its file, its first column, its texts. The documents go
    into the database in whole blocks, those that are there already once."""
    known: int = database.execute("SELECT COUNT(*) FROM documents").fetchone()[0]
    first = 0
    for i, block in enumerate(texts):
        if first >= known:
            try:
                with database:
                    rows = ((first + j, *text) for j, text in enumerate(block))
                    insert = "INSERT INTO documents (rowid, id, text) VALUES (?, ?, ?)"
                    database.executemany(insert, rows)
            except sqlite3.IntegrityError as error:
                raise UserError(_twice(database, block)) from error
            except sqlite3.Error as error:
                raise UserError(
                    f"cannot write {folder / DATABASE} ({error}): free some space or choose "
                    "another folder with --results"
                ) from error
        path = folder / COUNTED / f"{i:06d}.npy"
        if not path.is_file():
            yield path, first, [text.text for text in block]
        first += len(block)


def _twice(database: sqlite3.Connection, block: list[Text]) -> str:
    seen: set[str] = set()
    found = "SELECT 1 FROM documents WHERE id = ?"
    for text in block:
        if text.id in seen or database.execute(found, (text.id,)).fetchone():
            return f"two documents have the id {quoted(text.id)}: give each its own"
        seen.add(text.id)
    raise AssertionError("no id is there twice")


class _Buckets(dict[str, int]):
    """N-gram -> bucket, each computed once; -1 for a word that says nothing."""

    def __missing__(self, ngram: str) -> int:
        value = self[ngram] = -1 if is_empty(ngram) else bucket(ngram, N_BUCKETS)
        return value


def _count_block(asked: tuple[Path, int, list[str]]) -> None:
    path, first, texts = asked
    counts = count_texts(texts, first)
    write_atomically(path, partial(_save, counts))


def _save(counts: Counts, path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, counts)


def count_texts(texts: Sequence[str], first: int = 0) -> Counts:
    """How often each bucket is in each text: rows (bucket, column, count), in this order; the
    column of the first text is `first`."""
    of_word, of_pair = _Buckets(), _Buckets()
    found: list[int] = []
    sizes = []
    for text in texts:
        words = search_words(text)
        single = [of_word[word] for word in words]
        before = len(found)
        found += [b for b in single if b >= 0]
        found += [
            of_pair[f"{one} {two}"]
            for one, two, a, b in zip(words, words[1:], single, single[1:], strict=False)
            if a >= 0 and b >= 0
        ]
        sizes.append(len(found) - before)
    columns = np.repeat(np.arange(len(texts), dtype=np.int64), sizes)
    keys = np.array(found, dtype=np.int64) * len(texts) + columns
    distinct, counts = np.unique(keys, return_counts=True)
    rows = np.empty((3, len(distinct)), dtype=np.int32)
    rows[0], rows[1], rows[2] = distinct // len(texts), distinct % len(texts) + first, counts
    return rows


# -- merging --------------------------------------------------------------------------------


def _merge(counted: Sequence[Path], n_documents: int, folder: Path) -> None:
    """The tables, from the counts of all blocks: within a bucket in the order of the columns."""
    lengths = np.zeros(N_BUCKETS, dtype=np.int32)
    for path in counted:
        buckets, n_with = np.unique(np.load(path, mmap_mode="r")[0], return_counts=True)
        lengths[buckets] += n_with
    indptr = np.zeros(N_BUCKETS + 1, dtype=np.int64)
    np.cumsum(lengths, out=indptr[1:])
    n_stored = int(indptr[-1])
    if shutil.disk_usage(folder).free < BYTES_STORED * n_stored + indptr.nbytes:
        needed = (BYTES_STORED * n_stored + indptr.nbytes) >> 20
        raise UserError(f"{folder} needs {needed} MB: free some space, or choose another --results")
    np.save(folder / "indptr.npy", indptr)
    new: Any = partial(np.lib.format.open_memmap, mode="w+", shape=(n_stored,))
    data, indices = new(folder / "data.npy", dtype="f8"), new(folder / "indices.npy", dtype="i4")
    free = indptr[:-1]  # where the next document of each bucket goes
    for path in counted:
        rows = np.load(path)
        starts = np.flatnonzero(np.diff(rows[0], prepend=-1))
        runs = np.diff(starts, append=rows.shape[1])
        places = free[rows[0]] + np.arange(rows.shape[1]) - np.repeat(starts, runs)
        indices[places] = rows[1]
        weights = idf(lengths[rows[0][starts]], n_documents)
        data[places] = np.log1p(rows[2]) * np.repeat(weights, runs)
        free[rows[0][starts]] += runs
    data.flush()
    indices.flush()
