"""`hyperprobe report`: runs -> one HTML page, and the same in Markdown, LaTeX and figure files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath, listed, listed_paths
from hyperprobe.options import RESULTS
from hyperprobe.progress import progress
from hyperprobe.render.document import Page
from hyperprobe.render.figure import save_figures
from hyperprobe.render.html import html_page
from hyperprobe.render.latex import latex_tables, paper_latex
from hyperprobe.render.markdown import markdown_page
from hyperprobe.reporting.assemble import make_page
from hyperprobe.reporting.collect import collect
from hyperprobe.runs.files import file_digest, write_text
from hyperprobe.runs.run import Run

HTML, MARKDOWN, LATEX = "report.html", "report.md", "tables.tex"


@dataclass(frozen=True)
class Report:
    """The folder with `report.html`, `report.md`, `tables.tex` and `figures/`; and the page."""

    folder: Path
    page: Page

    @property
    def html(self) -> Path:
        return self.folder / HTML


def paper_table(
    runs: StrPath | Sequence[StrPath], name: str, models: str | Sequence[str] = ()
) -> str:
    """One table of the runs in LaTeX, for a column of a paper that loads booktabs
    and tabularx.

    `name` is `accuracy`, `adds`, `facts` or `classify`, whichever the runs have; of `models`
    (default: all) its rows, baselines too, in that order. Raises `UserError` for a table or a
    model that the runs do not have.
    """
    tables = make_page(collect(listed_paths(runs))).papers
    if name not in tables:
        known = ", ".join(tables) or "none: name a run of zero-shot, lama or classify"
        raise UserError(f"--latex {quoted(name)}: these runs have {known}")
    table, wanted = tables[name], listed(models)
    names = list(dict.fromkeys(row[0] for row in table.rows))
    if unknown := [model for model in wanted if model not in names]:
        raise UserError(f"--models {quoted(unknown[0])}: the table has {', '.join(names)}")
    rows = [row for model in wanted or names for row in table.rows if row[0] == model]
    return paper_latex(replace(table, rows=tuple(rows)), name)


def report(runs: StrPath | Sequence[StrPath], results: StrPath = RESULTS) -> Report:
    """Write the report of the runs in folders `runs`, and of the analyses beside them.

    The HTML file needs no other. Raises `UserError` when a folder holds no finished run.
    """
    runs = listed_paths(runs)
    given = dict(locals())
    collected = collect(runs)
    page = make_page(collected)
    settings = {
        "runs": {
            label: [run.command, run.folder.name, file_digest(run.folder / "run.json")]
            for label, run in collected.items()
        }
    }
    made = Run(results, "report", settings, given)
    pictures = page.pictures
    written = []
    with progress("drawing", len(pictures)) as advance:
        for picture in pictures:
            written += save_figures(made, [picture], "figures/")
            advance(1)
    for name, words in (
        (HTML, html_page(page)),
        (MARKDOWN, markdown_page(page)),
        (LATEX, latex_tables(page)),
    ):
        write_text(made.folder / name, words)
    made.finish({}, others=[HTML, MARKDOWN, LATEX, *written])
    return Report(made.folder, page)
