"""`hyperprobe score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    ArticlePolicy,
    Diagnostics,
    IntervalSeed,
    Json,
    Paired,
    Results,
    Signed,
    app,
    show_result,
)
from hyperprobe.options import RESULTS


@app.command("score")
def score_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables of text, candidate and score (TSV, CSV, Parquet), one a system."
        ),
    ],
    diagnostic: Diagnostics = None,
    paired: Paired = False,
    article: ArticlePolicy = None,
    results: Results = RESULTS,
    seed: IntervalSeed = 0,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Judge scores from elsewhere as zero-shot judges a model.

    Example: hyperprobe score my-scores.tsv --diagnostic lm-diagnostic
    """
    from hyperprobe.diagnostic.build import NAMES
    from hyperprobe.exports.score import score

    settings: dict[str, Any] = {
        "files": [str(path) for path in files],
        "diagnostic": diagnostic or list(NAMES),
        "article": article,
        "seed": seed,
    }
    result = score(files, settings["diagnostic"], article, results, seed)
    show_result(
        result, result.metrics, settings, as_json, result.tables(paired), signature=signature
    )
