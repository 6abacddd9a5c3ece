"""`hyperprobe zero-shot`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    CausalScoring,
    Device,
    Diagnostics,
    Dtype,
    Json,
    Models,
    Pll,
    Precision,
    PseudoLogLikelihood,
    Remote,
    Results,
    Scoring,
    app,
    say,
)


class ArticlePolicy(StrEnum):
    gold = "gold"
    fixed = "fixed"
    marginal = "marginal"


class ExtraControl(StrEnum):
    shuffled = "shuffled"
    random = "random"


@app.command("zero-shot")
def zero_shot_command(
    model: Models = None,
    diagnostic: Diagnostics = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Also print whether paired success is systematic.")
    ] = False,
    article: Annotated[
        ArticlePolicy,
        typer.Option(
            help="Before the slot: the right answer's, always a, or each candidate's own."
        ),
    ] = ArticlePolicy.gold,
    control: Annotated[
        list[ExtraControl] | None,
        typer.Option(help="More baselines: shuffled contexts, random weights; repeatable."),
    ] = None,
    results: Results = Path("results"),
    device: Device = "auto",
    dtype: Precision = Dtype.fp32,
    pll: PseudoLogLikelihood = Pll.within_word,
    causal_scoring: Scoring = CausalScoring.full,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap intervals.")] = 0,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Ask models which category a noun belongs to, beside the baselines.

    Example: hyperprobe zero-shot --paired --model bert-base-uncased
    """
    from hyperprobe import terminal
    from hyperprobe.diagnostic import NAMES
    from hyperprobe.models.names import EMBEDDED
    from hyperprobe.report import zero_shot_tables
    from hyperprobe.zero_shot import zero_shot

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "diagnostic": diagnostic or list(NAMES),
        "article": article.value,
        "control": [one.value for one in control or ()],
        "dtype": dtype.value,
        "pll": pll.value,
        "causal_scoring": causal_scoring.value,
        "seed": seed,
    }
    result = zero_shot(
        models=settings["model"],
        diagnostics=settings["diagnostic"],
        article=article.value,
        controls=settings["control"],
        results=results,
        device=device,
        dtype=dtype.value,
        trust_remote_code=trust_remote_code,
        seed=seed,
        pll=pll.value,
        causal_scoring=causal_scoring.value,
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
