"""Tables for a paper in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hyperprobe.errors import one_line
from hyperprobe.render.document import Page
from hyperprobe.render.table import Table

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "²": "$^2$", "ε": r"$\varepsilon$", "<": "$<$", ">": "$>$",
    "−": "$-$", "→": r"$\rightarrow$", "≥": r"$\geq$", "…": r"\ldots{}",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}",
}  # fmt: skip
NEEDS = "% needs \\usepackage{booktabs,graphicx}\n"
MOST_ROWS = 40  # of a float
# A table that is wider than the column is made smaller.
OPENING = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def latex_tables(page: Page) -> str:
    """All tables for a paper that loads booktabs and graphicx; each is labelled
    tab:SECTION-NUMBER."""
    parts = [NEEDS]
    for section in page.sections:
        tables = [block for block in section.blocks if isinstance(block, Table)]
        for i, table in enumerate(tables, start=1):
            label = f"{section.id}-{i}"
            parts += [
                latex(one, label if number == 0 else f"{label}-{number + 1}")
                for number, one in enumerate(_floats(table))
            ]
    return "\n".join(parts)


def _floats(table: Table) -> Iterator[Table]:
    """The table in as many floats as its rows need."""
    title = table.title
    for start in range(0, max(1, len(table.rows)), MOST_ROWS):
        yield replace(table, title=title, rows=table.rows[start : start + MOST_ROWS])
        title = f"{table.title} (continued)"


def latex_escape(plain: str) -> str:
    """The text on one line, escaped for LaTeX."""
    plain = one_line(plain)
    return re.sub("|".join(map(re.escape, _LATEX)), lambda match: _LATEX[match[0]], plain)


def latex(table: Table, label: str) -> str:
    """A `table` environment for the booktabs and graphicx packages."""
    return _environment(table, label, rf"{OPENING}{chr(10)}{_tabular(table)}}}")


def paper_latex(table: Table, label: str) -> str:
    """A `table` environment for the booktabs and tabularx packages, as wide as its column.

    Names break where they are long.
    """
    head = ["\\small", "\\setlength{\\tabcolsep}{3pt}"]
    columns = rf">{{\raggedright\arraybackslash}}X{'r' * (len(table.headers) - 1)}"
    rows = [f"{_breaking(row[0])} & {_line(row[1:])}" for row in table.rows]
    body = _lines(table.headers, rows)
    tabular = [rf"\begin{{tabularx}}{{\linewidth}}{{{columns}}}", *body, r"\end{tabularx}"]
    return _environment(table, label, "\n".join([*head, *tabular]))


def _tabular(table: Table) -> str:
    columns = f"l{'r' * (len(table.headers) - 1)}"
    body = _lines(table.headers, list(map(_line, table.rows)))
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"])


def _lines(headers: Sequence[str], rows: Sequence[str]) -> list[str]:
    return [r"\toprule", _line(headers), r"\midrule", *rows, r"\bottomrule"]


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_escape, cells)) + r" \\"


def _breaking(name: str) -> str:
    """A name that may break after its marks."""
    return re.sub(r"(-|/|:|\\_|\.)", r"\1\\allowbreak{}", latex_escape(name))


def _environment(table: Table, label: str, body: str) -> str:
    signed = _signature(table.signature) if table.signature else ""
    caption = latex_escape(f"{table.title}. {table.caption}".strip()) + signed
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            body,
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{label}}}",
            r"\end{table}",
            "",
        ]
    )


def _signature(signature: str) -> str:
    """A signature at the end of a caption: without spaces, so that lines end after its parts."""
    parts = (latex_escape(part) for part in signature.split("|"))
    joined = rf"{_LATEX['|']}\hskip 0pt plus 4em\relax ".join(parts)
    return rf" {{\scriptsize\ttfamily {joined}}}"
