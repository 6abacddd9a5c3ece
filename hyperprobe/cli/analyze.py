"""`hyperprobe analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    Concurrency,
    Device,
    Json,
    KeyEnv,
    OnRay,
    Results,
    app,
    cluster_of,
    say,
)


@app.command("analyze")
def analyze_command(
    run: Annotated[Path, typer.Argument(help="The folder of a zero-shot run.")],
    pairs: Annotated[
        Path | None,
        typer.Option(help="Your counts of pairs: hyponym, hypernym, count, tab-separated."),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(help="Text to count words and pairs in: files or folders; repeatable."),
    ] = None,
    text_field: Annotated[str, typer.Option("--field", help="The text field of JSONL.")] = "text",
    skip_models: Annotated[
        bool, typer.Option("--skip-models", help="Leave out what asks the models again.")
    ] = False,
    results: Results = Path("results"),
    device: Device = "auto",
    ray: OnRay = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    concurrency: Concurrency = DEFAULT.concurrency,
    key_env: KeyEnv = DEFAULT.key_env,
    as_json: Json = False,
) -> None:
    """Why does a model fail? Frequency, memorisation, errors, wording and negation.

    Example: hyperprobe analyze results/zero-shot-0123456789
    """
    from hyperprobe.analysis.analyze import analyze, results_of
    from hyperprobe.analysis.report import analysis_findings
    from hyperprobe.render import terminal
    from hyperprobe.render.table import show

    texts, cluster = corpus or (), cluster_of(ray, 0)
    done = analyze(
        run,
        pairs,
        texts,
        text_field,
        not skip_models,
        results,
        device,
        seed,
        cluster,
        concurrency,
        key_env,
    )
    if as_json:
        rows = [
            {"analysis": name, **row}
            for name, table in results_of(done.frames).items()
            for row in terminal.json_rows(table)
        ]
        settings = {
            "run": str(run),
            "pairs": str(pairs) if pairs else None,
            "corpus": [str(path) for path in corpus or ()],
            "skip_models": skip_models,
            "seed": seed,
        }
        terminal.print_json("analyze", settings, done.folder, rows)
        return
    for table in done.tables():
        show(table)
    for finding in analysis_findings(done.frames):
        terminal.print_line(f"- {finding.sentence}")
    for note in done.skipped.notes:
        say(note)
    say(f"tables and provenance in {done.folder}")
