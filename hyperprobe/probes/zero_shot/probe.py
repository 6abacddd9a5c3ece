"""Zero-shot hypernymy probes: diagnostic sets x models -> predictions -> metrics.

After Ravichander et al. (2020, section 3): singular, plural and contextual
probes over the categories, open-vocabulary probes, and always beside them the
majority class, the control prompt and static vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import pandas as pd

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.files import frame_digest, load_diagnostic
from hyperprobe.models.load import identify
from hyperprobe.names import EMBEDDED, distinct_models
from hyperprobe.options import Article, ModelKeywords, ModelOptions, check_seed
from hyperprobe.probes.zero_shot.ask import Control, Models, Setting, Unit, ask, with_baselines
from hyperprobe.probes.zero_shot.contrasts import question_adds, systematicity
from hyperprobe.probes.zero_shot.metrics import breakdown, compare_models, confusion, summarise
from hyperprobe.runs.run import Run


@dataclass(frozen=True)
class ZeroShotResult:
    """The run's `folder`, its `predictions`, and the tables made from them alone."""

    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    mcnemar: pd.DataFrame


def zero_shot(
    models: Sequence[str] = (EMBEDDED,),
    diagnostics: Sequence[str] = NAMES,
    article: Article = "gold",
    controls: Sequence[Control] = (),
    results: Path = Path("results"),
    seed: int = 0,
    **keywords: Unpack[ModelKeywords],
) -> ZeroShotResult:
    """Ask `models` and the baselines about `diagnostics` (set names or files).

    `controls` adds to the baselines: `shuffled`, the contexts with their words in
    random order; `random`, each language model with random weights in its shape.
    Keywords are the fields of `ModelOptions`. Each (set, model) is stored when it is
    done, so an interrupted call that is repeated continues. Raises `UserError` on bad
    input.
    """
    given = dict(locals())
    options = ModelOptions(**keywords)
    check_seed(seed)
    frames = {name: load_diagnostic(name) for name in dict.fromkeys(diagnostics)}
    names = with_baselines(distinct_models(models), controls)
    setting = Setting(article, "shuffled" in controls, options)
    settings = {
        "models": {name: identify(name) for name in names},
        "diagnostics": {name: frame_digest(frame) for name, frame in frames.items()},
        **setting.identity(),
    }
    run = Run(results, "zero-shot", settings, given)
    table = ask(
        run,
        Models(names),
        [Unit(name, setting) for name in names],
        frames,
        lambda unit, diagnostic: f"{unit.name} on {diagnostic}",
        "zero-shot",
    ).drop(columns="unit")
    metrics, mcnemar = summarise(table), compare_models(table)
    adds = question_adds(table, seed)
    run.finish(
        {
            "predictions.parquet": table,
            "metrics.csv": metrics,
            "mcnemar.csv": mcnemar,
            "adds.csv": adds,
            "systematic.csv": systematicity(table),
            "breakdown.csv": breakdown(table),
            "confusion.csv": confusion(table),
        },
        seed,
    )
    return ZeroShotResult(run.folder, table, metrics, mcnemar)
