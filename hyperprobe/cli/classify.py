"""`hyperprobe classify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    Device,
    Json,
    Models,
    Precision,
    Remote,
    Results,
    app,
    each_of,
    say,
)

Setting = Literal["seen", "unseen", "both"]
ANALYSES = ("layers", "control-task", "code-length")


@app.command("classify")
def classify_command(
    model: Models = None,
    setting: Annotated[
        Setting, typer.Option(help="Whether the test's hypernyms occur in training.")
    ] = "both",
    folds: Annotated[
        Path | None, typer.Option(help="A folds file: folds.tsv of an earlier run, or your own.")
    ] = None,
    layer: Annotated[
        str, typer.Option(help="Of contextual models: last, a number, or a sum: 9+10+11.")
    ] = "last",
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("analysis", ANALYSES),
            help="More: layers, control-task (selectivity), code-length; repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Nets trained on each fold.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and of the first net.")] = 0,
    results: Results = Path("results"),
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Train a probe to tell hypernyms: does it carry over to words it has not seen?

    Example: hyperprobe classify --setting both --model bert-base-uncased
    """
    from hyperprobe.names import EMBEDDED
    from hyperprobe.probes.classify import classify
    from hyperprobe.probes.classify import figures as classify_figures
    from hyperprobe.probes.classify import tables as classify_tables
    from hyperprobe.render import terminal
    from hyperprobe.render.document import Picture
    from hyperprobe.render.figure import save_figures

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "setting": setting,
        "folds": str(folds) if folds else None,
        "layer": layer,
        "analysis": analysis or [],
        "seeds": seeds,
        "dtype": dtype,
        "seed": seed,
    }
    result = classify(
        models=settings["model"],
        setting=setting,
        folds=folds,
        layer=layer,
        analyses=settings["analysis"],
        n_seeds=seeds,
        seed=seed,
        results=results,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    figures = classify_figures.classify_figures(result.predictions, result.layers)
    save_figures(result, [Picture(name, one, "") for name, one in figures.items()])
    if as_json:
        rows = terminal.json_rows(result.metrics)
        terminal.print_json("classify", settings, result.folder, rows)
        return
    classify_tables.print_accuracy(result.metrics)
    classify_tables.print_details(result.metrics)
    if len(result.layers):
        classify_tables.print_layers(result.layers)
    say(f"folds, predictions, metrics, figures and provenance in {result.folder}")
