"""`hyperprobe zero-shot`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperprobe.addresses import served
from hyperprobe.cli.common import (
    DEFAULT,
    ArticlePolicy,
    BatchSize,
    Concurrency,
    Device,
    Diagnostics,
    IntervalSeed,
    Json,
    KeyEnv,
    Limit,
    Models,
    Paired,
    Precision,
    PseudoLogLikelihood,
    Remote,
    Results,
    Scoring,
    Signed,
    app,
    each_of,
    say,
    show_result,
)
from hyperprobe.errors import one_line
from hyperprobe.names import EMBEDDED
from hyperprobe.options import RESULTS, ZERO_SHOT_CONTROLS

if TYPE_CHECKING:
    import pandas as pd


@app.command("zero-shot")
def zero_shot_command(
    model: Models = None,
    diagnostic: Diagnostics = None,
    paired: Paired = False,
    article: ArticlePolicy = None,
    control: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("control", ZERO_SHOT_CONTROLS),
            help="More baselines: shuffled (contexts), random (weights); repeatable.",
        ),
    ] = None,
    limit: Limit = None,
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
    """Ask models and baselines which category a noun belongs to.

    Example: hyperprobe zero-shot --paired --model bert-base-uncased
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.diagnostic.sets import article_note, default_article, load_set
    from hyperprobe.probes.zero_shot.probe import zero_shot

    diagnostics = diagnostic or list(NAMES)
    policy = article or default_article(diagnostics)
    if policy == "gold":
        for note in filter(None, (article_note(load_set(name)) for name in diagnostics)):
            say(one_line(note))
    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "diagnostic": diagnostics,
        "article": policy,
        "control": control or [],
        "dtype": dtype,
        "pll": pll,
        "causal_scoring": causal_scoring,
        "seed": seed,
        "limit": limit,
    }
    result = zero_shot(
        models=settings["model"],
        diagnostics=diagnostics,
        article=article,
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
    shown = result.tables(paired)
    show_result(result, result.metrics, settings, as_json, shown, signature=signature)
    say_without_open(result.metrics, policy)


def say_without_open(metrics: pd.DataFrame, articles: str | pd.Series[str]) -> None:
    """Say of which served models the server does not tell enough for the open probe."""
    from hyperprobe.models.served import NO_VOCABULARY, SERVE_VOCABULARY

    missing = metrics["open_p_at_1"].isna() & (articles != "marginal")  # (which has none)
    for name in metrics.loc[missing, "model"].unique():
        if served(name):
            say(f"{name}: no open probe: {NO_VOCABULARY}: {SERVE_VOCABULARY}")
