"""`hyperprobe export`: one command for each format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import ArticlePolicy, Diagnostics, app, say
from hyperprobe.options import ExportedProbes

export_app = typer.Typer(help="Sets and runs in the formats of other tools.", rich_markup_mode=None)
app.add_typer(export_app, name="export")


Folder = Annotated[Path, typer.Argument(help="The folder to write.")]


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


@export_app.command("lm-eval")
def export_lm_eval_command(
    folder: Folder,
    diagnostic: Diagnostics = None,
    article: ArticlePolicy = None,
    probes: Annotated[ExportedProbes, typer.Option(help="Of which command.")] = "zero-shot",
) -> None:
    """Tasks for lm-evaluation-harness: multiple choice with the same candidates.

    Example: hyperprobe export lm-eval tasks/ --diagnostic lm-diagnostic
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.sets import default_article
    from hyperprobe.exports.lm_eval import export_lm_eval

    diagnostics = diagnostic or list(NAMES)
    policy = article or default_article(diagnostics)
    groups = ",".join(export_lm_eval(folder, diagnostics, policy, probes))
    say(f"next: lm_eval --model hf --include_path {folder} --tasks {groups} --model_args ...")
