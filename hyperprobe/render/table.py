"""One table for every medium: made from a frame once, for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from hyperprobe.errors import one_line
from hyperprobe.render.terminal import MISSING, percent, print_table

Cell = Callable[[dict[str, Any]], str]
RUN = "run"  # the column that says which run a row is from


@dataclass(frozen=True)
class Table:
    """Headers and rows of text; the first column names the row, `source` the file it is from."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    source: str = ""


def make_table(
    title: str,
    frame: pd.DataFrame,
    columns: Mapping[str, Cell],
    caption: str = "",
    source: str = "",
) -> Table:
    """One row per row of `frame`, one column per header; and its `run`, where the frame has one."""
    if RUN in frame:
        columns = {**columns, RUN: text(RUN)}
    rows = tuple(
        tuple(cell(record) for cell in columns.values()) for record in frame.to_dict("records")
    )
    return Table(title, tuple(columns), rows, caption, source)


def text(column: str) -> Cell:
    return lambda row: MISSING if _missing(row.get(column)) else str(row[column])


def count(column: str) -> Cell:
    return lambda row: MISSING if _missing(row.get(column)) else f"{int(row[column]):,}"


def share(column: str) -> Cell:
    """A percentage, with half its interval where the frame has one."""
    return lambda row: percent(
        row.get(column, math.nan),
        row.get(f"{column}_low", math.nan),
        row.get(f"{column}_high", math.nan),
    )


def number(column: str, digits: int = 2) -> Cell:
    """A number of that many decimals, with half its interval where the frame has one."""

    def cell(row: dict[str, Any]) -> str:
        if _missing(row.get(column)):
            return MISSING
        low, high = (row.get(f"{column}_{end}", math.nan) for end in ("low", "high"))
        spread = f" ±{(high - low) / 2:.{digits}f}" if low == low else ""
        return f"{row[column]:,.{digits}f}{spread}"

    return cell


def p_value(column: str) -> Cell:
    return lambda row: format_p(row.get(column, math.nan))


def format_p(value: float) -> str:
    if _missing(value):
        return MISSING
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _missing(value: Any) -> bool:
    return value is None or value != value


def show(table: Table) -> None:
    """Print on the terminal."""
    print_table(table.title, table.headers, table.rows, table.caption)


def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table with its title and caption."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_escape, cells)) + " |"

    parts = [f"**{markdown_escape(table.title)}**", ""]
    parts += [line(table.headers), "|---" + "|---:" * (len(table.headers) - 1) + "|"]
    parts += [line(row) for row in table.rows]
    if table.caption:
        parts += ["", markdown_escape(table.caption)]
    return "\n".join(parts) + "\n"


# What Markdown or HTML could take for more than itself.
_MARKDOWN = re.compile(r"[\\`\[\]|$*~]|(?<!\w)_|_(?!\w)|^(?=[>#+\-=])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#|[A-Za-z]\w*;)")


def markdown_escape(plain: str) -> str:
    """The text on one line, as itself in GitHub-flavoured Markdown."""
    escaped = _MARKDOWN.sub(lambda match: "\\" + match[0], one_line(plain))
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", escaped))


def markdown_code(plain: str) -> str:
    """The text as code on one line: between more backticks than stand in it."""
    text = one_line(plain)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " * bool(longest)
    return f"{fence}{space}{text}{space}{fence}"


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "²": "$^2$", "ε": r"$\varepsilon$", "<": "$<$", ">": "$>$",
    "−": "$-$", "→": r"$\rightarrow$", "≥": r"$\geq$",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}",
}  # fmt: skip


def latex_escape(plain: str) -> str:
    """The text on one line, as itself in LaTeX."""
    plain = one_line(plain)
    return re.sub("|".join(map(re.escape, _LATEX)), lambda match: _LATEX[match[0]], plain)


def latex(table: Table, label: str) -> str:
    """A `table` environment for the booktabs package."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(latex_escape, cells)) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * (len(table.headers) - 1)}}}",
            r"\toprule",
            line(table.headers),
            r"\midrule",
            *map(line, table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{latex_escape(f'{table.title}. {table.caption}'.strip())}}}",
            rf"\label{{tab:{label}}}",
            r"\end{table}",
            "",
        ]
    )


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


def html(table: Table) -> str:
    """The table as an HTML `<table>`, for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
