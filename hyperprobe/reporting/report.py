"""`hyperprobe report`: runs -> one HTML page, and the same in Markdown, LaTeX and figure files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperprobe.names import StrPath, listed_paths
from hyperprobe.options import RESULTS
from hyperprobe.progress import progress
from hyperprobe.render.document import Page
from hyperprobe.render.figure import save_figures
from hyperprobe.render.html import html_page
from hyperprobe.render.latex import latex_tables
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
