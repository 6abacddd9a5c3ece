"""`hyperprobe report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import Results, app, say


@app.command("report")
def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, of any command.")],
    results: Results = Path("results"),
    latex: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Instead print one LaTeX table that fits a column of a paper: accuracy, adds, "
            "facts, classify.",
        ),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Of that table: whose rows, as a,b. Default: all.")
    ] = None,
) -> None:
    """Make one HTML page of runs, with Markdown, LaTeX tables and figures beside it.

    Analyses beside a zero-shot run are included.

    Example: hyperprobe report results/zero-shot-0123456789
    """
    from hyperprobe.errors import UserError
    from hyperprobe.render import terminal
    from hyperprobe.reporting.report import paper_table, report

    if latex:
        print(paper_table(runs, latex, models.split(",") if models else ()), end="")
        return
    if models:
        raise UserError("--models picks rows of one table: name it with --latex")
    made = report(runs, results)
    terminal.print_line(made.page.headline + ".")
    for finding in made.page.findings:
        terminal.print_line(f"- {finding.sentence}")
    say(f"page in {made.html}; Markdown, LaTeX and figures beside it")
