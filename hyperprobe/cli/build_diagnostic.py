"""`hyperprobe build-diagnostic`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperprobe.cli.common import Json, Results, app, say, show_result
from hyperprobe.options import RESULTS


@app.command("build-diagnostic")
def build_diagnostic_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="lm-diagnostic, lm-diagnostic-extended; default: both."),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            help="Your own set: a synset, fruit.n.01 or WORD=SYNSET; with --taxonomy, a node of "
            "it; repeatable."
        ),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Your own set: a table of hyponym and hypernym.")
    ] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(help="Your own set: a table of child and parent.")
    ] = None,
    templates: Annotated[
        Path | None, typer.Option(help="How your own set is asked: a TOML file.")
    ] = None,
    contexts: Annotated[
        list[Path] | None,
        typer.Option(help="Sentences for your own set, of contexts mine or yours; repeatable."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of your own set; default: after its file or categories.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Items: a number, or all. Default: 576 of WordNet's, all of yours."),
    ] = None,
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
    """Build diagnostic sets as TSV and JSONL: those that ship, or one of your words.

    Example: hyperprobe build-diagnostic --category fruit.n.01 --category furniture.n.01
    """
    from hyperprobe.built import build

    built = build(
        names or (),
        size,
        monosemous,
        wordnet,
        results,
        category or (),
        pairs,
        taxonomy,
        templates,
        contexts or (),
        name,
    )
    for note in built.notes:
        say(note)
    show_result(built, built.counts, built.settings, as_json, what="files")
    if not as_json and (own := built.settings.get("name")):
        say(f"next: hyperprobe zero-shot --diagnostic {built.folder / own}.tsv")
