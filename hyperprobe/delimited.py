"""Tables of text, checked as they are read: TSV and CSV."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from hyperprobe.documents import MAX_LINE, read_lines
from hyperprobe.errors import UserError, printable, quoted


def read_tsv(
    path: Path, required: Sequence[str], what: str, limit: int = MAX_LINE
) -> list[tuple[int, dict[str, str]]]:
    """(line number, column -> cell) of a tab-separated table with a header and at least one row.

    Cells are texts, without any quoting. Every row has as many cells as the
    header; blank lines are skipped.
    """
    lines = ((number, line) for number, line in read_lines(path, what, limit) if line.strip())
    header_line, header = next(lines, (0, ""))
    if not header_line:
        raise UserError(f"{what} {path} is empty: write a header and one row a line")
    columns = header.split("\t")
    _check_columns(columns, required, f"{path}, line {header_line}", "separated by tabs")
    rows = []
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise UserError(
                f"{path}, line {number}: {len(cells)} cells where the header has {len(columns)}: "
                "separate them by single tabs"
            )
        rows.append((number, dict(zip(columns, cells, strict=True))))
    if not rows:
        raise UserError(f"{what} {path} has a header and no rows: write one row a line")
    return rows


def read_table(
    path: Path, required: Sequence[str], optional: Sequence[str], what: str
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, column -> cell) of a table that a user has typed or exported, row by row.

    Separated by tabs, or by commas or semicolons with quotes round cells that hold some; which
    it is, the first line says. The header may be left out where there are only the `required`
    columns; other columns than `optional` are left out. Cells are in NFC, without spaces at their
    ends or in a row; `required` ones are not empty. A blank line is skipped.
    """
    lines = ((number, line) for number, line in read_lines(path, what) if line.strip())
    number, line = next(lines, (0, ""))
    if not number:
        raise UserError(f"{what} {path} is empty: write {' and '.join(required)}, one row a line")
    separator = next((one for one in "\t,;" if one in line), None)
    if separator is None:
        raise UserError(
            f"{path}, line {number}: one column: separate {' and '.join(required)} by a tab or a "
            "comma"
        )
    columns = [cell.lower() for cell in _cells(line, separator, f"{path}, line {number}")]
    if set(columns) & {*required, *optional}:
        _check_columns(columns, required, f"{path}, line {number}", "in its first line")
        first: Iterator[tuple[int, str]] = iter(())
    elif len(columns) == len(required):
        columns, first = list(required), iter([(number, line)])
    else:
        raise UserError(
            f"{path}, line {number}: {len(columns)} columns without a header: write "
            f"{', '.join(required)} and the names of the others into the first line"
        )
    n_rows = 0
    for number, line in chain(first, lines):
        where = f"{path}, line {number}"
        cells = _cells(line, separator, where)
        if len(cells) != len(columns):
            remedy = "separate them by single tabs"
            if separator != "\t":
                remedy = f"separate them by {quoted(separator)}, and quote a cell that holds one"
            raise UserError(f"{where}: {len(cells)} cells, not {len(columns)}: {remedy}")
        row = dict(zip(columns, cells, strict=True))
        for name in required:
            if not row[name]:
                raise UserError(f"{where}: {name} is empty: fill it or take the row out")
        yield number, {k: v for k, v in row.items() if k in required or k in optional}
        n_rows += 1
    if not n_rows:
        raise UserError(f"{what} {path} has a header and no rows: write one row a line")


def normalised(cell: str) -> str:
    """The text in NFC, without spaces at its ends or in a row."""
    return " ".join(unicodedata.normalize("NFC", cell).split())


def _cells(line: str, separator: str, where: str) -> list[str]:
    if separator == "\t":
        cells = line.split("\t")
    else:
        try:
            rows = csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True)
            cells = next(rows)
        except csv.Error as error:
            raise UserError(f"{where}: {error}: close its quotes, on one line") from error
    cells = [normalised(cell) for cell in cells]
    for cell in cells:
        if printable(cell) != cell:
            raise UserError(f"{where}: {quoted(cell)} holds control characters: take them out")
    return cells


def _check_columns(columns: Sequence[str], required: Sequence[str], where: str, how: str) -> None:
    """Raise `UserError` for a header without a `required` name, with none, or one twice."""
    for i, name in enumerate(columns):
        if not name.strip():
            raise UserError(f"{where}: column {i + 1} has no name: name it, or take it away")
        if name in columns[:i]:
            raise UserError(f"{where}: two columns are called {quoted(name)}: rename one")
    if missing := [name for name in required if name not in columns]:
        raise UserError(
            f"{where}: no column {missing[0]}: the table needs {', '.join(required)}, {how}"
        )


# -- schemas --------------------------------------------------------------------------------
