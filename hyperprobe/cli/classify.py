"""`hyperprobe classify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Device,
    Json,
    Models,
    Precision,
    Remote,
    Results,
    Signed,
    app,
    each_of,
    say,
    show_result,
)
from hyperprobe.names import EMBEDDED
from hyperprobe.options import CLASSIFY_ANALYSES, N_NETS, RESULTS, Setting


@app.command("classify")
def classify_command(
    model: Models = None,
    setting: Annotated[
        Setting, typer.Option(help="Whether the test's hypernyms occur in training.")
    ] = "both",
    folds: Annotated[
        Path | None, typer.Option(help="A folds file: folds.tsv of an earlier run, or yours.")
    ] = None,
    diagnostic: Annotated[
        str, typer.Option(help="The set whose nouns are asked: a name or a file.")
    ] = "lm-diagnostic-extended",
    contexts: Annotated[
        list[Path] | None,
        typer.Option(help="Sentences with your set's words, of contexts mine or yours."),
    ] = None,
    layer: Annotated[
        str, typer.Option(help="Of contextual models: last, a number, or a sum: 9+10+11.")
    ] = "last",
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("analysis", CLASSIFY_ANALYSES),
            help="More: layers, control-task (selectivity), code-length; repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Nets trained on each fold.")] = N_NETS,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds and of the first net.")] = 0,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Train a classifier of hypernyms: does it generalise to words it has not seen?

    Example: hyperprobe classify --setting both --model bert-base-uncased
    """
    from hyperprobe.probes.classify.probe import classify

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "setting": setting,
        "folds": str(folds) if folds else None,
        "diagnostic": diagnostic,
        "contexts": [str(path) for path in contexts or ()],
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
        diagnostic=diagnostic,
        contexts=contexts or (),
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        batch_size=batch_size,
    )
    what = "folds, predictions, metrics, figures and provenance"
    for note in result.notes:
        say(note)
    show_result(result, result.metrics, settings, as_json, what=what, signature=signature)
