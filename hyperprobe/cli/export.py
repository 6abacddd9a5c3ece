"""`hyperprobe export`: one command for each format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import ArticlePolicy, Diagnostics, app, say

export_app = typer.Typer(help="Sets and runs in the formats of other tools.", rich_markup_mode=None)
app.add_typer(export_app, name="export")


@export_app.command("items")
def export_items_command(
    file: Annotated[Path, typer.Argument(help="What to write: .tsv, .csv or .parquet.")],
    diagnostic: Diagnostics = None,
    article: ArticlePolicy = None,
) -> None:
    """Every question and candidate, to be scored elsewhere and read by hyperprobe score.

    Example: hyperprobe export items items.tsv --diagnostic lm-diagnostic
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.sets import default_article
    from hyperprobe.exports.items import export_items

    diagnostics = diagnostic or list(NAMES)
    rows = export_items(file, diagnostics, article or default_article(diagnostics))
    say(f"{len(rows)} rows in {file}; next: add a column score, and hyperprobe score {file}")
