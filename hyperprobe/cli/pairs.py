"""`hyperprobe pairs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Concurrency,
    Device,
    IntervalSeed,
    Json,
    KeyEnv,
    Models,
    Precision,
    PseudoLogLikelihood,
    Remote,
    Results,
    Scoring,
    Signed,
    app,
    show_result,
)
from hyperprobe.options import RESULTS


@app.command("pairs")
def pairs_command(
    files: Annotated[
        list[Path],
        typer.Argument(help="Labelled pairs: word1, word2, and a label or a score; TSV or CSV."),
    ],
    model: Models = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="Your own scores: hyponym, hypernym, score; repeatable."),
    ] = None,
    hearst: Annotated[
        Path | None,
        typer.Option(help="Counts of pairs in Hearst's patterns: hyponym, hypernym, count."),
    ] = None,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    pll: PseudoLogLikelihood = DEFAULT.pll,
    causal_scoring: Scoring = DEFAULT.causal_scoring,
    seed: IntervalSeed = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    concurrency: Concurrency = DEFAULT.concurrency,
    key_env: KeyEnv = DEFAULT.key_env,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Score labelled pairs: is it hypernymy, in which direction, and to what degree?

    Example: hyperprobe pairs BLESS.tsv --model bert-base-uncased --model word2vec
    """
    from hyperprobe.probes.pairs.probe import default_models, pairs

    scores = scores or []
    settings: dict[str, Any] = {
        "files": [str(path) for path in files],
        "model": model or list(default_models(scores, hearst)),
        "scores": [str(path) for path in scores],
        "hearst": str(hearst) if hearst else None,
        "dtype": dtype,
        "pll": pll,
        "causal_scoring": causal_scoring,
        "seed": seed,
    }
    result = pairs(
        files,
        models=settings["model"],
        scores=scores,
        hearst=hearst,
        results=results,
        seed=seed,
        device=device,
        concurrency=concurrency,
        key_env=key_env,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        batch_size=batch_size,
        pll=pll,
        causal_scoring=causal_scoring,
    )
    show_result(result, result.metrics, settings, as_json, signature=signature)
