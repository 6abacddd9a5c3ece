"""Consistency: diagnostic sets x models -> eight probes about the same nouns.

Ravichander et al. (2020) ask whether a model that knows a noun's category in the singular knows
it in the plural. The probes here ask in more ways; each module says what it asks, what a guess
scores and which paper it is after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import ClassVar, Unpack

import pandas as pd

from hyperprobe.diagnostic.build import LM_DIAGNOSTIC_EXTENDED
from hyperprobe.diagnostic.sets import load_sets
from hyperprobe.model_names import with_random_weights
from hyperprobe.models.load import identify, load_model, touching_settings
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import EMBEDDED, EMBEDDED_VECTORS, StrPath, listed
from hyperprobe.options import (
    CONSISTENCY_CONTROLS,
    CONSISTENCY_PLL,
    RESULTS,
    ConsistencyControl,
    ModelKeywords,
    ModelOptions,
    check_choices,
    check_seed,
)
from hyperprobe.probes.consistency import report
from hyperprobe.probes.consistency.metrics import level_curve, noun_table, profile, typicality
from hyperprobe.probes.consistency.nouns import agreement, known_nouns, summary
from hyperprobe.probes.consistency.outcomes import outcomes
from hyperprobe.probes.consistency.predictions import predict
from hyperprobe.probes.consistency.tables import noun_tables, profile_tables, typicality_tables
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.jobs import Cell, Job, answered_by, as_function
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run

PREDICTIONS = "predictions.parquet"
COST = 25.0  # of all that is asked about a noun


@dataclass(frozen=True, repr=False, eq=False)
class ConsistencyResult(Result):
    """The run's `folder`, its `predictions`, and the tables made from them alone."""

    command: ClassVar[str] = "consistency"
    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    levels: pd.DataFrame
    nouns: pd.DataFrame
    summary: pd.DataFrame
    agreement: pd.DataFrame
    typicality: pd.DataFrame

    @classmethod
    def read(cls, run: FinishedRun) -> ConsistencyResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        needs = report.TABLES
        tables = (run.table(f"{name}.csv", needs[name]) for name in needs)
        return cls(run.folder, run.table(PREDICTIONS), *tables)

    def tables(self) -> Sequence[Table]:
        """The profile of each model, what it knows through and through, and typicality."""
        return list(self._tables())

    def _tables(self) -> Iterator[Table]:
        of = with_short_names(
            {"metrics": self.metrics, "summary": self.summary, "typicality": self.typicality}
        )
        yield from profile_tables(of["metrics"])
        yield from noun_tables(of["summary"])
        yield from typicality_tables(of["typicality"])


def plan_consistency(
    models: GivenModels = EMBEDDED,
    diagnostics: str | Sequence[str] = LM_DIAGNOSTIC_EXTENDED,
    controls: ConsistencyControl | Sequence[ConsistencyControl] = (),
    results: StrPath = RESULTS,
    seed: int = 0,
    limit: int | None = None,
    **keywords: Unpack[ModelKeywords],
) -> Job[ConsistencyResult]:
    """Ask `models` and static vectors in eight ways about the nouns of `diagnostics`.

    `controls`: `random` adds each language model with random weights in its shape. Keywords are
    the fields of `ModelOptions`, but `pll` is `all-masked` unless it is given. `limit`
    asks only so many items of each set (`DiagnosticSet.first`). Each (set, model)
    is stored when it is done, so an interrupted call that is repeated continues. Raises
    `UserError` on bad input.
    """
    models, diagnostics, controls = model_names(models), listed(diagnostics), listed(controls)
    given = dict(locals())
    keywords.setdefault("pll", CONSISTENCY_PLL)
    options = ModelOptions(**keywords)
    check_seed(seed)
    check_choices("control", controls, CONSISTENCY_CONTROLS)
    names = [*models, *EMBEDDED_VECTORS]
    if "random" in controls:
        names += with_random_weights(models)
    names = list(dict.fromkeys(names))
    sets = load_sets(diagnostics, limit)
    ids = {name: identify(name) for name in names}
    settings = {
        "models": ids,
        "diagnostics": {name: of_set.digest for name, of_set in sets.items()},
        **options.identity_of(partial(touching_settings, names, options.trust_remote_code)),
    }
    run = Run(results, "consistency", settings, given)
    cells = [
        Cell(
            f"{name} on {diagnostic}",
            name,
            [name, ids[name], of_set.digest, options.identity()],
            answered_by(load_model, name, options, predict=partial(predict, of_set=of_set)),
            COST * len(of_set.frame),
        )
        for name in names
        for diagnostic, of_set in sets.items()
    ]
    return Job(run, cells, partial(_finish, list(sets), seed))


consistency = as_function(plan_consistency)


def _finish(
    diagnostics: Sequence[str], seed: int, run: Run, frames: Sequence[pd.DataFrame]
) -> ConsistencyResult:
    """The tables and figures, made from the answers alone, written into the run's folder."""
    of_sets = zip(frames, cycle(diagnostics), strict=False)
    parts = [frame.assign(diagnostic=diagnostic) for frame, diagnostic in of_sets]
    predictions = pd.concat(parts, ignore_index=True)
    tables = _tables(predictions, seed)
    short = with_short_names(tables)
    drawn = draw_once(run, lambda: report.pictures(report.largest_set(short)))
    files = {f"{name}.csv": table for name, table in tables.items()}
    run.finish({PREDICTIONS: predictions, **files}, seed, drawn)
    return ConsistencyResult(run.folder, predictions, **tables)


def _tables(predictions: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """All tables of a run, by the name of their file."""
    asked = outcomes(predictions)
    nouns = noun_table(asked)
    known = known_nouns(nouns, asked)
    return {
        report.METRICS: profile(nouns, seed),
        "levels": level_curve(asked),
        "nouns": known,
        "summary": summary(nouns, known),
        "agreement": agreement(nouns),
        "typicality": typicality(asked),
    }
