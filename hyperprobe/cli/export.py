"""`hyperprobe export`: one command for each format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import App, ArticlePolicy, Diagnostics, app, say
from hyperprobe.options import Article, ExportedProbes

export_app = App(help="Sets and runs in the formats of other tools.", rich_markup_mode=None)
app.add_typer(export_app, name="export")


def _asked(diagnostic: list[str] | None, article: Article | None) -> tuple[list[str], Article]:
    """The sets and the article policy, by default as in zero-shot."""
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.sets import default_article

    diagnostics = diagnostic or list(NAMES)
    return diagnostics, article or default_article(diagnostics)


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
    from hyperprobe.exports.items import export_items

    rows = export_items(file, *_asked(diagnostic, article))
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
    from hyperprobe.exports.lm_eval import export_lm_eval

    groups = ",".join(export_lm_eval(folder, *_asked(diagnostic, article), probes))
    say(f"next: lm_eval --model hf --include_path {folder} --tasks {groups} --model_args ...")


@export_app.command("every-eval-ever")
def export_every_eval_ever_command(
    run: Annotated[Path, typer.Argument(help="The folder of a zero-shot run.")],
    folder: Folder,
    organization: Annotated[str, typer.Option(help="Who evaluated.")] = "unknown",
) -> None:
    """A zero-shot run as records of Every Eval Ever: aggregates, and every answer.

    Example: hyperprobe export every-eval-ever results/zero-shot-0123456789 records/
    """
    from hyperprobe.exports.every_eval_ever import export_every_eval_ever

    for path in export_every_eval_ever(run, folder, organization):
        say(f"records in {path}")


@export_app.command("hf-dataset")
def export_hf_dataset_command(
    folder: Folder, diagnostic: Diagnostics = None, article: ArticlePolicy = None
) -> None:
    """A dataset folder for Hugging Face, with a card and Croissant metadata.

    Example: hyperprobe export hf-dataset dataset/
    """
    from hyperprobe.exports.hf_dataset import export_hf_dataset

    tables = export_hf_dataset(folder, *_asked(diagnostic, article))
    sizes = ", ".join(f"{len(table)} {name}" for name, table in tables.items())
    say(f"{sizes} in {folder}; next: datasets.load_dataset({str(folder)!r}, 'questions')")


@export_app.command("inspect")
def export_inspect_command(
    folder: Folder, diagnostic: Diagnostics = None, article: ArticlePolicy = None
) -> None:
    """Task files for Inspect, which asks chat models for a letter.

    Example: hyperprobe export inspect tasks/ --diagnostic lm-diagnostic
    """
    from hyperprobe.exports.inspect_ai import export_inspect

    for path in export_inspect(folder, *_asked(diagnostic, article)):
        say(f"next: inspect eval {path} --model ...")
