"""`hyperprobe zero-shot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    Device,
    Diagnostics,
    Json,
    Models,
    Precision,
    PseudoLogLikelihood,
    Remote,
    Results,
    Scoring,
    app,
    each_of,
    say,
)
from hyperprobe.errors import one_line
from hyperprobe.options import Article

CONTROLS = ("shuffled", "random")


@app.command("zero-shot")
def zero_shot_command(
    model: Models = None,
    diagnostic: Diagnostics = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Also print whether paired success is systematic.")
    ] = False,
    article: Annotated[
        Article,
        typer.Option(
            help="Before the slot: the right answer's, always a, or each candidate's own."
        ),
    ] = "gold",
    control: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("control", CONTROLS),
            help="More baselines: shuffled (contexts), random (weights); repeatable.",
        ),
    ] = None,
    results: Results = Path("results"),
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    pll: PseudoLogLikelihood = DEFAULT.pll,
    causal_scoring: Scoring = DEFAULT.causal_scoring,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Ask models which category a noun belongs to, beside the baselines.

    Example: hyperprobe zero-shot --paired --model bert-base-uncased
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.files import article_note
    from hyperprobe.names import EMBEDDED
    from hyperprobe.probes.zero_shot import tables as zero_shot_tables
    from hyperprobe.probes.zero_shot.probe import zero_shot
    from hyperprobe.render import terminal

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "diagnostic": diagnostic or list(NAMES),
        "article": article,
        "control": control or [],
        "dtype": dtype,
        "pll": pll,
        "causal_scoring": causal_scoring,
        "seed": seed,
    }
    if article == "gold":
        for name in settings["diagnostic"]:
            if note := article_note(name):
                say(one_line(note))
    result = zero_shot(
        models=settings["model"],
        diagnostics=settings["diagnostic"],
        article=article,
        controls=settings["control"],
        results=results,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
        seed=seed,
        pll=pll,
        causal_scoring=causal_scoring,
    )
    if as_json:
        rows = terminal.json_rows(result.metrics)
        terminal.print_json("zero-shot", settings, result.folder, rows)
        return
    zero_shot_tables.print_metrics(result.metrics)
    if paired:
        zero_shot_tables.print_paired(result.metrics, result.mcnemar)
    zero_shot_tables.print_categories(result.predictions)
    say(f"predictions, metrics and provenance in {result.folder}")
