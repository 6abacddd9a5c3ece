"""What people see: tables and notes. Machines read the run folder or `--json`."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from hyperprobe.errors import printable
from hyperprobe.render.layout import in_parts

MISSING = "–"
IN_A_FILE = 120  # letters of a line where nothing says how many there are


def print_table(
    title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str = ""
) -> None:
    """A table on standard output: first column left, the others right-aligned.

    Where a row does not fit, its cells break, or columns go below (see `layout`). Cells are
    text and nothing else: no markup, no control characters, and letters that the output cannot
    encode are written as escapes.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    encoding = sys.stdout.encoding or "utf-8"

    def plain(words: str) -> str:
        return _encodable(printable(words), encoding)

    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=IN_A_FILE)
    cells = [[plain(cell) for cell in row] for row in rows]
    parts = in_parts([plain(header) for header in headers], cells, console.width)
    for number, (heads, layout) in enumerate(parts):
        table = Table(
            title=Text(plain(title)) if number == 0 else None,
            caption=Text(plain(caption)) if caption and number == len(parts) - 1 else None,
            box=box.SIMPLE_HEAD,
            padding=(0, layout.gap - 1, 0, 0),
            title_justify="left",
            caption_justify="left",
            title_style="bold",
        )
        for i, header in enumerate(heads):
            width = layout.widths[i] if layout.widths else None
            justify: Literal["left", "right"] = "left" if i == 0 else "right"
            table.add_column(Text(header), justify=justify, overflow="fold", width=width)
        for row in layout.rows:
            table.add_row(*map(Text, row))
        console.print(table)


def print_line(text: str) -> None:
    """A sentence on standard output, fit for any terminal."""
    print(_encodable(printable(text), sys.stdout.encoding or "utf-8"))


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)


def percent(value: float, low: float = math.nan, high: float = math.nan) -> str:
    """`67.5 [63.6, 71.2]`, a number with its interval, or a dash for what does not apply."""
    if value != value:
        return MISSING
    value, low, high = (round(end, 1) + 0.0 for end in (value, low, high))  # no -0.0
    return f"{value:.1f}" + (f" [{low:.1f}, {high:.1f}]" if low == low else "")


def json_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows with `null` for what is missing."""
    return [
        {key: None if value is None or value != value else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


def print_json(
    command: str, settings: dict[str, Any], folder: Path, rows: list[dict[str, Any]]
) -> None:
    """The one object that `--json` prints on standard output."""
    document = {"command": command, "settings": settings, "run": str(folder), "rows": rows}
    text = json.dumps(document, ensure_ascii=False, indent=1, default=_plain)
    # Letters that the output cannot encode are escaped, as JSON allows.
    known = _encodable(text, sys.stdout.encoding or "utf-8") == text
    print(text if known else json.dumps(document, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    """numpy numbers as Python's."""
    return value.item() if hasattr(value, "item") else str(value)
