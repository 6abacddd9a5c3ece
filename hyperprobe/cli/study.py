"""`hyperprobe study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Device,
    IntervalSeed,
    Json,
    Remote,
    Results,
    app,
    show_result,
)
from hyperprobe.options import RESULTS


@app.command("study")
def study_command(
    file: Annotated[
        Path, typer.Argument(help="TOML: models, diagnostics, controls and [settings].")
    ],
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    seed: IntervalSeed = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Zero-shot probes of many models under many settings, from one file.

    Example: hyperprobe study my-study.toml
    """
    from hyperprobe.probes.zero_shot.study import study

    result = study(
        file,
        results,
        seed,
        device=device,
        trust_remote_code=trust_remote_code,
        batch_size=batch_size,
    )
    show_result(result, result.metrics, {"file": str(file), "seed": seed}, as_json)
