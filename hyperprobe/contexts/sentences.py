"""Context sentences: one TSV format for what ships and for what a user brings.

Columns: `word` as it stands in the sentence, its `category`, the `kind`, and
the `sentence`. Kinds: `probe` (the word can be replaced by its category),
`hyponym` and `hypernym` (ordinary sentences, for classifiers).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hyperprobe.cloze import SLOT
from hyperprobe.data import data_folder
from hyperprobe.errors import UserError

COLUMNS = ("word", "category", "kind", "sentence")
KINDS = ("probe", "hyponym", "hypernym")


@dataclass(frozen=True)
class Context:
    """A sentence that holds `word`; `place` says where it was read, as FILE:LINE."""

    word: str
    category: str
    kind: str
    sentence: str
    place: str = ""


def shipped_files() -> list[Path]:
    """The sentence files that travel with the package."""
    return sorted(data_folder("contexts").glob("*.tsv"))


def read_contexts(path: Path) -> Iterator[Context]:
    """The contexts of one file. Raises `UserError` with file and line on a bad one."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise UserError(f"no contexts file {path}: check the name") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: no UTF-8: save the file as UTF-8") from error
    rows = csv.reader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    if tuple(next(rows, ())) != COLUMNS:
        raise UserError(f"{path}:1: the columns must be {', '.join(COLUMNS)}, tab-separated")
    for number, row in enumerate(rows, start=2):
        place = f"{path}:{number}"
        if len(row) != len(COLUMNS) or not all(cell.strip() for cell in row):
            raise UserError(f"{place}: a row needs {len(COLUMNS)} filled cells, tab-separated")
        if row[2] not in KINDS:
            raise UserError(f"{place}: kind {row[2]!r} is none of {', '.join(KINDS)}")
        word, category, kind, sentence = row
        yield Context(word, category, kind, sentence, place)


def occurrences(word: str, sentence: str) -> list[re.Match[str]]:
    """Where `word` stands in `sentence` as a whole word, in exactly this case."""
    return list(re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", sentence))


def put_slot(context: Context) -> str:
    """The sentence with the slot in place of the word."""
    (match,) = occurrences(context.word, context.sentence)
    return context.sentence[: match.start()] + SLOT + context.sentence[match.end() :]


@cache
def shipped_probes() -> dict[str, str]:
    """Hyponym -> its contextual prompt, with the slot in place of the hyponym."""
    return {
        context.word: put_slot(context)
        for context in read_all(shipped_files())
        if context.kind == "probe"
    }


def read_all(paths: Iterable[Path]) -> Iterator[Context]:
    for path in paths:
        yield from read_contexts(path)
