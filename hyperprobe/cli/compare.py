"""`hyperprobe compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import Json, Results, app, say


@app.command("compare")
def compare_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, of any command.")],
    published: Annotated[
        bool, typer.Option("--published", help="Also against the papers' tables.")
    ] = False,
    results: Results = Path("results"),
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    as_json: Json = False,
) -> None:
    """Compare the models of runs with each other and with the papers, with intervals.

    Example: hyperprobe compare results/zero-shot-0123456789 --published
    """
    from hyperprobe.comparison.asked import sentences
    from hyperprobe.comparison.runs import compare
    from hyperprobe.comparison.sentences import comparison_findings
    from hyperprobe.render import terminal
    from hyperprobe.render.table import show

    made = compare(runs, published, results, seed)
    if as_json:
        settings = {"runs": [str(run) for run in runs], "published": published, "seed": seed}
        rows = terminal.json_rows(made.differences)
        terminal.print_json("compare", settings, made.folder, rows)
        return
    for table in made.tables():
        show(table)
    for sentence in sentences(made.asked):
        terminal.print_line(f"- {sentence}")
    for finding in comparison_findings(made.shown):
        terminal.print_line(f"- {finding.sentence}")
    say(f"differences in {made.folder}")
