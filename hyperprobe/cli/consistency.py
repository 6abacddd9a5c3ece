"""`hyperprobe consistency`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Concurrency,
    Device,
    Diagnostics,
    IntervalSeed,
    Json,
    KeyEnv,
    Limit,
    Models,
    Precision,
    PseudoLogLikelihood,
    Remote,
    Results,
    Scoring,
    Signed,
    app,
    each_of,
    show_result,
)
from hyperprobe.names import EMBEDDED
from hyperprobe.options import CONSISTENCY_CONTROLS, CONSISTENCY_PLL, RESULTS


@app.command("consistency")
def consistency_command(
    model: Models = None,
    diagnostic: Diagnostics = None,
    control: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("control", CONSISTENCY_CONTROLS),
            help="More baselines: random (weights).",
        ),
    ] = None,
    limit: Limit = None,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    pll: PseudoLogLikelihood = CONSISTENCY_PLL,
    causal_scoring: Scoring = DEFAULT.causal_scoring,
    seed: IntervalSeed = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    concurrency: Concurrency = DEFAULT.concurrency,
    key_env: KeyEnv = DEFAULT.key_env,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Ask about the same nouns in other words, up the taxonomy, negated, by a premise, and more.

    Example: hyperprobe consistency --model bert-base-uncased
    """
    from hyperprobe.diagnostic.build import LM_DIAGNOSTIC_EXTENDED
    from hyperprobe.probes.consistency.probe import consistency

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "diagnostic": diagnostic or [LM_DIAGNOSTIC_EXTENDED],
        "control": control or [],
        "dtype": dtype,
        "pll": pll,
        "causal_scoring": causal_scoring,
        "seed": seed,
        "limit": limit,
    }
    result = consistency(
        models=settings["model"],
        diagnostics=settings["diagnostic"],
        controls=settings["control"],
        results=results,
        seed=seed,
        limit=limit,
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
