"""Tables for a paper in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hyperprobe.errors import one_line
from hyperprobe.render.document import Page
from hyperprobe.render.table import Table

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "²": "$^2$", "ε": r"$\varepsilon$", "<": "$<$", ">": "$>$",
    "−": "$-$", "→": r"$\rightarrow$", "≥": r"$\geq$",
    "|": r"\textbar{}", "[": "{[}", "]": "{]}", "`": r"\textasciigrave{}",
}  # fmt: skip


def latex_tables(page: Page) -> str:
    """All tables for a paper that loads booktabs; each is labelled tab:SECTION-NUMBER."""
    parts = ["% needs \\usepackage{booktabs}\n"]
    for section in page.sections:
        tables = [block for block in section.blocks if isinstance(block, Table)]
        parts += [latex(table, f"{section.id}-{i}") for i, table in enumerate(tables, start=1)]
    return "\n".join(parts)


def latex_escape(plain: str) -> str:
    """The text on one line, escaped for LaTeX."""
    plain = one_line(plain)
    return re.sub("|".join(map(re.escape, _LATEX)), lambda match: _LATEX[match[0]], plain)


def latex(table: Table, label: str) -> str:
    """A `table` environment for the booktabs package."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(latex_escape, cells)) + r" \\"

    signed = _signature(table.signature) if table.signature else ""
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
            rf"\caption{{{latex_escape(f'{table.title}. {table.caption}'.strip())}{signed}}}",
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
