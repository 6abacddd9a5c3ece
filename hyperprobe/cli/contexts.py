"""`hyperprobe contexts check` and `hyperprobe contexts mine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import App, Diagnostics, OnRay, Results, TextField, app, cluster_of, say
from hyperprobe.options import RESULTS

contexts_app = App(help="Sentences with a word in context.", rich_markup_mode=None)
app.add_typer(contexts_app, name="contexts")


@contexts_app.command("check")
def contexts_check_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="TSV files; default: those that ship.")
    ] = None,
) -> None:
    """Report every sentence that breaks a rule that can be tested automatically.

    One line per finding, FILE:LINE: rule: what; exit code 1 when there are any.

    Example: hyperprobe contexts check my-contexts.tsv
    """
    from hyperprobe.diagnostic.check import check
    from hyperprobe.diagnostic.sentences import read_all, shipped_files

    contexts = list(read_all(files or shipped_files()))
    findings = check(contexts)
    for finding in findings:
        print(finding)
    say(f"{len(contexts)} sentences, {len(findings)} findings")
    if findings:
        raise typer.Exit(1)


@contexts_app.command("mine")
def contexts_mine_command(
    corpus: Annotated[
        list[Path], typer.Argument(help="Text or JSONL files, packed or not; folders.")
    ],
    diagnostic: Diagnostics = None,
    best: Annotated[int, typer.Option(min=1, help="Sentences to keep of each word and kind.")] = 20,
    text_field: TextField = "text",
    processes: Annotated[int, typer.Option(min=1, help="Processes that search.")] = 2,
    ray: OnRay = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the choice among equally good ones.")] = 0,
    results: Results = RESULTS,
) -> None:
    """Find context sentences in your corpus, in the format of the shipped ones.

    Example: hyperprobe contexts mine wiki/ more.jsonl.gz --best 50
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.mine import mine
    from hyperprobe.render import terminal

    asked = diagnostic or list(NAMES)
    cluster = cluster_of(ray, 0)
    found = mine(corpus, asked, best, text_field, processes, seed, results, cluster)
    terminal.print_table(
        "sentences found",
        ["kind", "sentences", "words"],
        [[str(r.kind), str(r.n_sentences), str(r.n_words)] for r in found.counts.itertuples()],
    )
    for note in found.skipped.notes:
        say(note)
    if found.skipped.n_undecodable or found.skipped.n_long:
        say(
            f"skipped {found.skipped.n_undecodable} lines that are not UTF-8 and "
            f"{found.skipped.n_long} longer than a megabyte"
        )
    say(f"sentences in {found.path}")
