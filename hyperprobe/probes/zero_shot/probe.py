"""Zero-shot hypernymy probes: diagnostic sets x models -> predictions -> metrics.

After Ravichander et al. (2020, section 3): singular, plural and contextual
probes over the categories, open-vocabulary probes, and always beside them the
majority class, the control prompt and static vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Unpack

import pandas as pd

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import DiagnosticSet, default_article, load_sets
from hyperprobe.models.load import identify, touching_settings
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import EMBEDDED, StrPath, listed
from hyperprobe.options import (
    RESULTS,
    Article,
    ModelKeywords,
    ModelOptions,
    ZeroShotControl,
    check_seed,
)
from hyperprobe.probes.zero_shot import report
from hyperprobe.probes.zero_shot.ask import Setting, Unit, cells_of, with_baselines
from hyperprobe.probes.zero_shot.breakdowns import category_table, tag_tables
from hyperprobe.probes.zero_shot.curves import growth_tables, steps_pictures, steps_tables
from hyperprobe.probes.zero_shot.gather import gather
from hyperprobe.probes.zero_shot.tables import (
    adds_tables,
    headline_tables,
    mcnemar_tables,
    metrics_tables,
    on_largest_set,
    systematic_tables,
)
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table, without_repeated_captions
from hyperprobe.runs.frames import Frames
from hyperprobe.runs.jobs import Job, as_function
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run

PREDICTIONS = "predictions.parquet"


@dataclass(frozen=True, repr=False, eq=False)
class ZeroShotResult(Result):
    """The run's `folder`, its `predictions` (read when they are asked for), and the tables made
    from them alone."""

    command: ClassVar[str] = "zero-shot"
    folder: Path
    metrics: pd.DataFrame
    adds: pd.DataFrame
    systematic: pd.DataFrame
    mcnemar: pd.DataFrame
    breakdown: pd.DataFrame
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)  # of checkpoints, where there are
    growth: pd.DataFrame = field(default_factory=pd.DataFrame)

    @classmethod
    def read(cls, run: FinishedRun) -> ZeroShotResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        return cls(
            run.folder,
            run.table("metrics.csv", ("diagnostic", "model", "n_items", "singular")),
            *(run.table(f"{name}.csv") for name in ("adds", "systematic", "mcnemar", "breakdown")),
            *(run.table(f"{name}.csv") for name in ("steps", "growth") if run.has(f"{name}.csv")),
        )

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """The answer of every model to every item."""
        needs = ("diagnostic", "model", "probe", "item")
        return read_run(self.folder).table(PREDICTIONS, needs)

    def tables(self, paired: bool = False) -> list[Table]:
        """What the question adds, accuracy on each set and by category; with `paired`, whether
        success is systematic."""
        return list(self._tables(paired))

    def _tables(self, paired: bool) -> Iterator[Table]:
        of = with_short_names(
            {
                "metrics": self.metrics,
                "adds": self.adds,
                "systematic": self.systematic,
                "mcnemar": self.mcnemar,
                "breakdown": self.breakdown,
            }
        )
        yield from without_repeated_captions(adds_tables(of["adds"]))
        yield from metrics_tables(of["metrics"])
        yield from steps_tables(self.steps)
        yield from growth_tables(self.growth)
        if paired:  # few items say little of this: only the largest set is shown
            shown = on_largest_set(of)
            yield from systematic_tables(shown["systematic"])
            yield from headline_tables(shown["metrics"])
            yield from mcnemar_tables(shown["mcnemar"])
            yield from tag_tables(shown["breakdown"])
        yield category_table(of["breakdown"])


def plan_zero_shot(
    models: GivenModels = EMBEDDED,
    diagnostics: str | Sequence[str] = NAMES,
    article: Article | None = None,
    controls: ZeroShotControl | Sequence[ZeroShotControl] = (),
    results: StrPath = RESULTS,
    seed: int = 0,
    limit: int | None = None,
    **keywords: Unpack[ModelKeywords],
) -> Job[ZeroShotResult]:
    """Ask `models` and the baselines about `diagnostics` (set names or files).

    Without an `article` policy it is that of `default_article`.
    `controls` adds to the baselines: `shuffled`, the contexts with their words in
    random order; `random`, each language model with random weights in its shape. `limit` asks
    only so many items of each set (`DiagnosticSet.first`).
    Keywords are the fields of `ModelOptions`. Each (set, model) is stored when it is
    done, so an interrupted call that is repeated continues. Raises `UserError` on bad
    input.
    """
    models, diagnostics, controls = model_names(models), listed(diagnostics), listed(controls)
    if article is None:
        article = default_article(diagnostics)
    given = dict(locals())
    options = ModelOptions(**keywords)
    check_seed(seed)
    setting = Setting(article, "shuffled" in controls, options)
    names = with_baselines(models, controls)
    sets = load_sets(diagnostics, limit)
    ids = {name: identify(name) for name in names}
    settings = {
        "models": ids,
        "diagnostics": {name: one.digest for name, one in sets.items()},
        **setting.identity(partial(touching_settings, names, options.trust_remote_code)),
        **({"limit": limit} if limit else {}),
    }
    run = Run(results, "zero-shot", settings, given)
    units = [Unit(name, setting) for name in names]
    cells = cells_of(units, sets, ids, lambda unit, diagnostic: f"{unit.name} on {diagnostic}")
    return Job(run, cells, partial(_finish, units, sets, seed), partial(_read, seed))


zero_shot = as_function(plan_zero_shot)


def _read(seed: int, run: Run) -> ZeroShotResult | None:
    finished = run.finished(seed)
    return ZeroShotResult.read(finished) if finished else None


def _finish(
    units: Sequence[Unit], sets: Mapping[str, DiagnosticSet], seed: int, run: Run, cells: Frames
) -> ZeroShotResult:
    """The tables and figures, made from the answers alone, written into the run's folder."""
    tables = gather(cells, units, sets, run.folder / PREDICTIONS, seed)
    files = {f"{name}.csv": frame for name, frame in tables.items()}
    short = with_short_names({name: tables[name] for name in ("metrics", "adds")})
    curves = tables.get("steps", pd.DataFrame())
    drawn = draw_once(run, lambda: [*report.pictures(**short), *steps_pictures(curves)])
    run.finish(files, seed, [PREDICTIONS, *drawn])
    del tables["confusion"]
    return ZeroShotResult(run.folder, **tables)
