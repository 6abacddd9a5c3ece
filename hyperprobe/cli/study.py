"""`hyperprobe study`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import Device, Json, Remote, Results, app, say


@app.command("study")
def study_command(
    file: Annotated[
        Path, typer.Argument(help="TOML: models, diagnostics, controls and [settings].")
    ],
    results: Results = Path("results"),
    device: Device = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Zero-shot probes of many models under many settings, from one file.

    Example: hyperprobe study my-study.toml
    """
    from hyperprobe.probes.zero_shot import tables as zero_shot_tables
    from hyperprobe.probes.zero_shot.study import SETTINGS, study
    from hyperprobe.render import terminal

    result = study(file, results, seed, device=device, trust_remote_code=trust_remote_code)
    if as_json:
        rows = terminal.json_rows(result.metrics)
        terminal.print_json("study", {"file": str(file), "seed": seed}, result.folder, rows)
        return
    zero_shot_tables.print_metrics(result.metrics, SETTINGS)
    say(f"predictions, metrics and provenance in {result.folder}")
