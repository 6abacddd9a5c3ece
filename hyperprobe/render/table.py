"""A table for any medium: made from a frame once; the modules beside this one show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pandas as pd

from hyperprobe.render.terminal import MISSING, percent, print_table
from hyperprobe.runs.signature import COLUMN, common

Cell = Callable[[dict[str, Any]], str]
RUN = "run"  # the column that says which run a row is from


@dataclass(frozen=True)
class Table:
    """Headers and rows of text; the first column names the row, `source` the file it is from.

    `folded` says that a page shows the table when its title is clicked.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    source: str = ""
    signature: str = ""  # what the numbers are of, where the frame says it
    folded: bool = False


def make_table(
    title: str,
    frame: pd.DataFrame,
    columns: Mapping[str, Cell],
    caption: str = "",
    source: str = "",
    folded: bool = False,
) -> Table:
    """One row per row of `frame`, one column per header; and its `run`, where the frame has one."""
    if RUN in frame:
        columns = {**columns, RUN: text(RUN)}
    rows = tuple(
        tuple(cell(record) for cell in columns.values()) for record in frame.to_dict("records")
    )
    signed = common(frame[COLUMN]) if COLUMN in frame and len(frame) else ""
    return Table(title, tuple(columns), rows, caption, source, signed, folded)


def data_table(title: str, frame: pd.DataFrame) -> Table:
    """Every column of a frame under its own name, numbers with six digits."""

    def cell(value: Any) -> str:
        if _missing(value):
            return MISSING
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    rows = tuple(tuple(map(cell, row)) for row in frame.itertuples(index=False, name=None))
    return Table(title, tuple(map(str, frame.columns)), rows)


def with_ends(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Those columns of a frame that it has, each with the ends of its interval."""
    wanted = [f"{column}{end}" for column in columns for end in ("", "_low", "_high")]
    return frame[[column for column in wanted if column in frame]]


def without_repeated_captions(tables: Iterable[Table]) -> list[Table]:
    """The tables, of equal captions that follow each other the last one alone."""
    shown = list(tables)
    return [
        replace(one, caption="") if one.caption == after.caption else one
        for one, after in pairwise(shown)
    ] + shown[-1:]


def text(column: str) -> Cell:
    return lambda row: MISSING if _missing(row.get(column)) else str(row[column])


def count(column: str) -> Cell:
    return lambda row: MISSING if _missing(row.get(column)) else f"{int(row[column]):,}"


def share(column: str) -> Cell:
    """A percentage, with its interval where the frame has one."""
    return lambda row: percent(
        row.get(column, math.nan),
        row.get(f"{column}_low", math.nan),
        row.get(f"{column}_high", math.nan),
    )


def mean(column: str) -> Cell:
    """A percentage without its interval."""
    return lambda row: percent(row.get(column, math.nan))


def interval(column: str, digits: int = 1) -> Cell:
    """The interval of a column, without its number."""

    def cell(row: dict[str, Any]) -> str:
        low, high = (row.get(f"{column}_{end}", math.nan) for end in ("low", "high"))
        return MISSING if _missing(low) else f"[{low:,.{digits}f}, {high:,.{digits}f}]"

    return cell


def number(column: str, digits: int = 2) -> Cell:
    """A number of that many decimals, with its interval where the frame has one."""

    def cell(row: dict[str, Any]) -> str:
        if _missing(row.get(column)):
            return MISSING
        ends = interval(column, digits)(row)
        return f"{row[column]:,.{digits}f}" + (f" {ends}" if ends != MISSING else "")

    return cell


def p_value(column: str) -> Cell:
    return lambda row: format_p(row.get(column, math.nan))


def format_p(value: float) -> str:
    if _missing(value):
        return MISSING
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def format_p_value(value: float) -> str:
    """A p-value in a sentence: `= 0.0123` or `< 0.0001`."""
    shown = format_p(value)
    return shown if shown.startswith("<") else f"= {shown}"


def counted(n: int, noun: str) -> str:
    """`1 seed`, `5 seeds`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def source_of(table: pd.DataFrame, file: str) -> str:
    """`FILE of run A, B`: the runs that the rows of a table are from."""
    labels = sorted(dict.fromkeys(table[RUN].dropna())) if RUN in table else []
    return f"{file} of run {', '.join(labels)}" if labels else file


def _missing(value: Any) -> bool:
    return value is None or value != value


def show(table: Table) -> None:
    """Print on the terminal."""
    print_table(table.title, table.headers, table.rows, table.caption)


def plain(table: Table) -> str:
    """The table as text in columns, for a console: first column left, the others right."""
    rows = [table.headers, *table.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.headers))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([table.title, *lines, *([table.caption] if table.caption else [])])
