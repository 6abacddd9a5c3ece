"""`hyperprobe build-diagnostic`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperprobe.cli.common import Json, Results, app, say
from hyperprobe.options import RESULTS


@app.command("build-diagnostic")
def build_diagnostic_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="lm-diagnostic, lm-diagnostic-extended; default: both."),
    ] = None,
    size: Annotated[str, typer.Option(help="Items of the extended set: a number, or all.")] = "576",
    monosemous: Annotated[
        Literal["noun", "any"],
        typer.Option(help="One sense as a noun, or over any part of speech."),
    ] = "noun",
    wordnet: Annotated[
        Path | None, typer.Option(help="Your WordNet 3.0 folder, or nltk's wordnet.zip.")
    ] = None,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """Build the hypernymy diagnostic sets from WordNet, as TSV and JSONL.

    Example: hyperprobe build-diagnostic lm-diagnostic-extended --size all
    """
    from hyperprobe.diagnostic import build as diagnostic
    from hyperprobe.render import terminal

    built = diagnostic.build(names or list(diagnostic.NAMES), size, monosemous, wordnet, results)
    if as_json:
        rows = terminal.json_rows(built.counts)
        terminal.print_json("build-diagnostic", built.settings, built.folder, rows)
        return
    for name, counts in built.counts.groupby("diagnostic", sort=False):
        terminal.print_table(
            f"{name} ({counts['n_items'].sum()} items)",
            ["category", "items", "percent", "with a context"],
            [
                [r.hypernym, str(r.n_items), f"{r.percent:.2f}", str(r.n_contextual)]
                for r in counts.itertuples()
            ],
        )
    for note in built.notes:
        say(note)
    say(f"files in {built.folder}")
