"""How wide the columns of a table are on a terminal, and which cells break where they must."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

Row = Sequence[str]
EDGE = 1  # letters before the first column; a gap is after each

# Where cells break, `[value] [low, high]`, `[raw] / [calibrated]` and `[count]:[count]`.
_INTERVAL = re.compile(r" (?=\[-?[\d.,]+, -?[\d.,]+\]$)")
_SECOND = re.compile(r"(?<=\d /) (?=[\d–])|(?<=\d:)(?=\d)")


class Layout(NamedTuple):
    """Rows of cells that may have several lines, the columns' widths (none: as they come),
    and the letters between columns."""

    rows: list[list[str]]
    widths: list[int]
    gap: int = 2


def in_parts(headers: Row, rows: Sequence[Row], width: int) -> list[tuple[Row, Layout]]:
    """A table as one or several of the same rows below each other, each with the first column."""
    whole = fitted(headers, rows, width)
    if fits(whole, width):
        return [(headers, whole)]
    if len(headers) < 3:  # letters are folded
        return [(headers, whole._replace(widths=[]))]
    taken = len(headers) - 1
    while taken > 2 and not fits(fitted(*_columns(headers, rows, 1, taken), width), width):
        taken -= 1
    return [
        *in_parts(*_columns(headers, rows, 1, taken), width),
        *in_parts(*_columns(headers, rows, taken, len(headers)), width),
    ]


def _columns(headers: Row, rows: Sequence[Row], start: int, end: int) -> tuple[Row, list[Row]]:
    """The first column and those from `start` to before `end`."""
    return [headers[0], *headers[start:end]], [[row[0], *row[start:end]] for row in rows]


def fits(layout: Layout, width: int) -> bool:
    """Whether the columns of a layout stand whole in a line."""
    return not layout.widths or _total(layout.widths, layout.gap) <= width


def fitted(headers: Row, rows: Sequence[Row], width: int) -> Layout:
    """A table in as many letters as there are, with as few broken cells as that asks for.

    Columns go closer together, then intervals below their numbers, then names below their
    prefixes (either with room between columns where that fits), then the second of two numbers
    below the first.
    """
    shown = [list(row) for row in rows]
    if _total(_widths([headers, *shown]), 2) <= width:
        return Layout(shown, [])
    words = [max(map(len, header.split()), default=0) for header in headers]
    steps = ((_same, 2), (_same, 1), (_intervals, 2), (_prefixes, 2), (_same, 1), (_seconds, 1))
    for step, gap in steps:
        shown = [step(row) for row in shown]
        needed = [
            max(pair) for pair in zip(words, _widths([[""] * len(words), *shown]), strict=True)
        ]
        spare = width - _total(needed, gap)
        if spare >= 0:
            return Layout(shown, _with_slack(needed, headers, spare), gap)
    return Layout(shown, needed, 1)


def _widths(rows: Sequence[Row]) -> list[int]:
    """The longest line of each column."""
    return [
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(*rows, strict=True)
    ]


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * len(widths) + EDGE


def _with_slack(widths: Sequence[int], headers: Row, spare: int) -> list[int]:
    """The widths with `spare` letters given to headers that would break."""
    wider = []
    for width, header in zip(widths, headers, strict=True):
        more = min(spare, max(0, len(header) - width))
        wider.append(width + more)
        spare -= more
    return wider


def _same(row: list[str]) -> list[str]:
    return row


def _intervals(row: list[str]) -> list[str]:
    return [row[0], *(_INTERVAL.sub("\n", cell) for cell in row[1:])]


def _prefixes(row: list[str]) -> list[str]:
    return [row[0].replace(":", ":\n", 1), *row[1:]]


def _seconds(row: list[str]) -> list[str]:
    return [row[0], *(_SECOND.sub("\n", cell) for cell in row[1:])]
