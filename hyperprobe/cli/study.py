"""`hyperprobe study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Concurrency,
    Device,
    GpusPerCell,
    Json,
    KeyEnv,
    OnRay,
    Remote,
    Results,
    Signed,
    app,
    cluster_of,
    say,
    show_result,
)
from hyperprobe.cli.zero_shot import say_without_open
from hyperprobe.options import RESULTS


@app.command("study")
def study_command(
    file: Annotated[Path, typer.Argument(help="TOML: models, and a table for each probe.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is done and missing; compute nothing.")
    ] = False,
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N", help="Compute part I of N. The last one to end makes the tables."
        ),
    ] = "1/1",
    ray: OnRay = "",
    gpus_per_cell: GpusPerCell = 0.0,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals, samples and searches.")] = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    concurrency: Concurrency = DEFAULT.concurrency,
    key_env: KeyEnv = DEFAULT.key_env,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Many models under many probes and settings, from one file.

    Example: hyperprobe study my-study.toml
    """
    from hyperprobe.render.table import show
    from hyperprobe.studies.study import plan_study

    study = plan_study(
        file,
        results,
        seed,
        shard,
        device=device,
        trust_remote_code=trust_remote_code,
        batch_size=batch_size,
        concurrency=concurrency,
        key_env=key_env,
    )
    state = study.state()
    if dry_run:
        show(state.table())
        return
    say(state.line())
    found: dict[str, Any] = study.run(cluster_of(ray, gpus_per_cell))
    if not found:
        n = study.missing_elsewhere()
        what = "cell of another shard is" if n == 1 else "cells of other shards are"
        say(f"{n} {what} missing: the last shard to end makes the tables")
    for probe, result in found.items():
        said = {"file": str(file), "seed": seed}
        show_result(result, result.metrics, said, as_json, signature=signature)
        if probe == "zero-shot":
            say_without_open(result.metrics, result.metrics["article"])
