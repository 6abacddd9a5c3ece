"""`hyperprobe classify`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    Device,
    Dtype,
    Json,
    Models,
    Precision,
    Remote,
    Results,
    app,
    say,
)


class Setting(StrEnum):
    seen = "seen"
    unseen = "unseen"
    both = "both"


class Analysis(StrEnum):
    layers = "layers"
    control_task = "control-task"
    code_length = "code-length"


@app.command("classify")
def classify_command(
    model: Models = None,
    setting: Annotated[
        Setting, typer.Option(help="Whether the test's hypernyms occur in training.")
    ] = Setting.both,
    folds: Annotated[
        Path | None, typer.Option(help="A folds file: folds.tsv of an earlier run, or your own.")
    ] = None,
    layer: Annotated[
        str, typer.Option(help="Of contextual models: last, a number, or a sum: 9+10+11.")
    ] = "last",
    analysis: Annotated[
        list[Analysis] | None,
        typer.Option(help="More: accuracy by layer, selectivity, online code; repeatable."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Nets trained on each fold.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and of the first net.")] = 0,
    results: Results = Path("results"),
    device: Device = "auto",
    dtype: Precision = Dtype.fp32,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Train a probe to tell hypernyms: does it carry over to words it has not seen?

    Example: hyperprobe classify --setting both --model bert-base-uncased
    """
    from hyperprobe import terminal
    from hyperprobe.classify import classify
    from hyperprobe.models.names import EMBEDDED
    from hyperprobe.report import classify_figures, classify_tables
    from hyperprobe.report.style import save_figures

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "setting": setting.value,
        "folds": str(folds) if folds else None,
        "layer": layer,
        "analysis": [one.value for one in analysis or ()],
        "seeds": seeds,
        "dtype": dtype.value,
        "seed": seed,
    }
    result = classify(
        models=settings["model"],
        setting=setting.value,
        folds=folds,
        layer=layer,
        analyses=settings["analysis"],
        n_seeds=seeds,
        seed=seed,
        results=results,
        device=device,
        dtype=dtype.value,
        trust_remote_code=trust_remote_code,
    )
    figures = classify_figures.classify_figures(result.predictions, result.layers)
    save_figures(result.folder, figures)
    if as_json:
        rows = terminal.json_rows(result.metrics)
        terminal.print_json("classify", settings, result.folder, rows)
        return
    classify_tables.print_accuracy(result.metrics)
    classify_tables.print_details(result.metrics)
    if len(result.layers):
        classify_tables.print_layers(result.layers)
    say(f"folds, predictions, metrics, figures and provenance in {result.folder}")
