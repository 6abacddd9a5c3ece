"""Context sentences: one TSV format for what ships and for what a user brings.

Columns: `word` as written in the sentence, its `category`, the `kind`, and
the `sentence`. Kinds: `probe` (the word can be replaced by its category),
`hyponym` and `hypernym` (ordinary sentences, for classifiers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hyperprobe.cloze import SLOT
from hyperprobe.data.files import data_folder
from hyperprobe.delimited import read_tsv
from hyperprobe.errors import UserError, quoted

COLUMNS = ("word", "category", "kind", "sentence")
KINDS = ("probe", "hyponym", "hypernym")


@dataclass(frozen=True)
class Context:
    """A sentence that holds `word`; `where` is the line that it was read from, as FILE:LINE."""

    word: str
    category: str
    kind: str
    sentence: str
    where: str = ""


def shipped_files() -> list[Path]:
    """The sentence files that travel with the package."""
    return sorted(data_folder("contexts").glob("*.tsv"))


def read_contexts(path: Path) -> Iterator[Context]:
    """The contexts of one file. Raises `UserError` with file and line on a bad one."""
    for number, row in read_tsv(path, COLUMNS, "contexts file"):
        where = f"{path}:{number}"
        for column in COLUMNS:
            if not row[column].strip():
                raise UserError(f"{where}: {column} is empty: fill it or take the row out")
        if row["kind"] not in KINDS:
            raise UserError(f"{where}: kind {quoted(row['kind'])} is none of {', '.join(KINDS)}")
        yield Context(row["word"], row["category"], row["kind"], row["sentence"], where)


def occurrences(word: str, sentence: str) -> list[re.Match[str]]:
    """Where `word` occurs in `sentence` as a whole word, in exactly this case."""
    return list(_whole(word).finditer(sentence))


@cache
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")


def put_slot(context: Context) -> str:
    """The sentence with the slot instead of the word."""
    (match,) = occurrences(context.word, context.sentence)
    return context.sentence[: match.start()] + SLOT + context.sentence[match.end() :]


@cache
def shipped_probes() -> dict[str, str]:
    """Hyponym -> its contextual prompt, with the slot instead of the hyponym."""
    return {
        context.word: put_slot(context)
        for context in read_all(shipped_files())
        if context.kind == "probe"
    }


def read_all(paths: Iterable[Path]) -> Iterator[Context]:
    for path in paths:
        yield from read_contexts(path)
