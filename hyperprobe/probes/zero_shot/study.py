"""Zero-shot under several settings, as a study asks it: models x sets x settings, each once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Unpack, cast

import pandas as pd

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import DiagnosticSet, default_article, load_sets
from hyperprobe.families import FAMILIES
from hyperprobe.model_names import distinct_models
from hyperprobe.models.load import family, identify
from hyperprobe.names import EMBEDDED, StrPath, listed
from hyperprobe.options import (
    ARTICLES,
    CAUSAL_SCORINGS,
    DTYPES,
    PLLS,
    RESULTS,
    Article,
    CausalScoring,
    Dtype,
    ModelOptions,
    Pll,
    StudyKeywords,
    ZeroShotControl,
    check_choices,
    check_seed,
)
from hyperprobe.probes.zero_shot.ask import Setting, Unit, cells_of, predictions_of, with_baselines
from hyperprobe.probes.zero_shot.contrasts import question_adds, systematicity, with_adds
from hyperprobe.probes.zero_shot.curves import growth_tables, steps_tables
from hyperprobe.probes.zero_shot.metrics import compare_models, summarise
from hyperprobe.probes.zero_shot.outcomes import Outcomes, outcome_tables
from hyperprobe.probes.zero_shot.steps import growth, known_steps, over_steps
from hyperprobe.probes.zero_shot.tables import (
    SETTINGS,
    adds_tables,
    metrics_tables,
)
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table, without_repeated_captions
from hyperprobe.revisions import Step
from hyperprobe.runs.jobs import Job
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run
from hyperprobe.statistics.stratified import with_holm

# The settings that a study may vary; `FAMILIES` says whose numbers each one changes.
CHOICES: dict[str, tuple[str, ...]] = dict(
    zip(SETTINGS, (ARTICLES, DTYPES, PLLS, CAUSAL_SCORINGS), strict=True)
)


@dataclass(frozen=True, repr=False, eq=False)
class StudyResult(Result):
    """The study's `folder` and its tables; each row says its settings, where they matter."""

    command: ClassVar[str] = "study"
    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    adds: pd.DataFrame
    systematic: pd.DataFrame
    mcnemar: pd.DataFrame
    steps: pd.DataFrame = field(default_factory=pd.DataFrame)  # of checkpoints, where there are
    growth: pd.DataFrame = field(default_factory=pd.DataFrame)

    @classmethod
    def read(cls, run: FinishedRun) -> StudyResult:
        """The result of a finished study. Raises `UserError` if its tables are damaged."""
        return cls(
            run.folder,
            run.table("predictions.parquet", ("diagnostic", "model", "probe", "item")),
            run.table("metrics.csv", ("diagnostic", "model", "n_items", "singular", *SETTINGS)),
            *(run.table(f"{name}.csv") for name in ("adds", "systematic", "mcnemar")),
            *(run.table(f"{name}.csv") for name in ("steps", "growth") if run.has(f"{name}.csv")),
        )

    def tables(self) -> list[Table]:
        """What the question adds, and accuracy on each set, under each setting."""
        of = with_short_names({"metrics": self.metrics, "adds": self.adds})
        added = without_repeated_captions(adds_tables(of["adds"], SETTINGS))
        return [
            *added,
            *metrics_tables(of["metrics"], SETTINGS),
            *steps_tables(self.steps, SETTINGS),
            *growth_tables(self.growth, SETTINGS),
        ]


def plan_settings(
    models: Sequence[str] = (EMBEDDED,),
    diagnostics: str | Sequence[str] = NAMES,
    controls: ZeroShotControl | Sequence[ZeroShotControl] = (),
    article: Article | Sequence[Article] = (),
    dtype: Dtype | Sequence[Dtype] = (),
    pll: Pll | Sequence[Pll] = (),
    causal_scoring: CausalScoring | Sequence[CausalScoring] = (),
    results: StrPath = RESULTS,
    seed: int = 0,
    **keywords: Unpack[StudyKeywords],
) -> Job[StudyResult]:
    """Ask `models` and zero-shot's baselines under every combination of settings.

    A setting without a value has that of `zero_shot`. One that does not touch a model's numbers
    (`pll` and a causal model) is not asked again for it and left empty in its rows. Raises
    `UserError` on bad input.
    """
    given = dict(locals())
    diagnostics, controls = listed(diagnostics), listed(controls)
    options = ModelOptions(**keywords)
    check_seed(seed)
    default = Setting(default_article(diagnostics)).identity()
    values = {
        name: list(dict.fromkeys(listed(given[name]))) or [default[name]] for name in SETTINGS
    }
    for name, choices in CHOICES.items():
        check_choices(name, values[name], choices)
    combinations = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    sets = load_sets(diagnostics)
    names = with_baselines(distinct_models(models), controls)
    ids = {name: identify(name) for name in names}
    kinds = {name: family(name, options.trust_remote_code) for name in names}
    settings = {
        "models": ids,
        "diagnostics": {name: one.digest for name, one in sets.items()},
        "controls": list(controls),
        "settings": values,
        "trust_remote_code": options.trust_remote_code,
    }
    run = Run(results, "study", settings, given)
    units = _units(combinations, "shuffled" in controls, names, kinds, options)
    finish = partial(_finish, combinations, units, sets, seed)
    return Job(run, cells_of(units, sets, ids, _key), finish)


def _key(unit: Unit, diagnostic: str) -> str:
    return f"{unit.name} on {diagnostic} {json.dumps(unit.varied)}"


def _finish(
    combinations: Sequence[Mapping[str, str]],
    units: Sequence[Unit],
    sets: Mapping[str, DiagnosticSet],
    seed: int,
    run: Run,
    frames: Sequence[pd.DataFrame],
) -> StudyResult:
    table = predictions_of(frames, units, sets)
    tables = _tables(combinations, list(sets), units, table, seed)
    predictions = _with_varied(table, units)
    files = {f"{name}.csv": frame for name, frame in tables.items()}
    run.finish({"predictions.parquet": predictions, **files}, seed)
    return StudyResult(run.folder, predictions, **tables)


def _tables(
    combinations: Sequence[Mapping[str, str]],
    diagnostics: Sequence[str],
    units: Sequence[Unit],
    table: pd.DataFrame,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The tables of zero-shot by name, each row with the settings that touch it."""
    varied = _varied(units)
    made: dict[str, list[pd.DataFrame]] = {}

    def add(name: str, frame: pd.DataFrame, settings: Mapping[str, str]) -> None:
        made.setdefault(name, []).append(
            frame.assign(**{name: settings.get(name) for name in SETTINGS})
        )

    outcomes: dict[int, Outcomes] = {}
    added: dict[int, pd.DataFrame] = {}
    for unit, rows in table.groupby("unit", sort=False):
        number = int(str(unit))
        own = outcomes[number] = outcome_tables(rows)
        settings, adds = varied[number], question_adds(rows, seed, own)
        added[number] = adds
        add("metrics", with_adds(summarise(rows, table, own), adds), settings)
        add("adds", adds, settings)
        add("systematic", systematicity(rows, own), settings)
    for settings in combinations:
        asked = [number for number, some in varied.items() if some.items() <= settings.items()]
        of_all = {key: right for number in asked for key, right in outcomes[number].items()}
        add("mcnemar", compare_models(table[table["unit"].isin(asked)], of_all), settings)
    steps = known_steps([unit.name for unit in units])
    for numbers in _checkpoints(units, steps):
        of_all = {key: right for number in numbers for key, right in outcomes[number].items()}
        rows, adds = table[table["unit"].isin(numbers)], pd.concat(added[n] for n in numbers)
        add("growth", growth(rows, adds, of_all, steps, seed), varied[numbers[0]])
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in made.items()}
    for name, frame in tables.items():
        tables[name] = _sorted(frame, diagnostics)
        if "p_value" in frame:  # one family over all settings
            tables[name] = with_holm(tables[name])
    if steps:
        metrics, adds = tables["metrics"], tables["adds"]
        tables["steps"] = over_steps(table, metrics, adds, steps, SETTINGS)
    return tables


def _checkpoints(units: Sequence[Unit], steps: Mapping[str, Step]) -> list[list[int]]:
    """The numbers of the units of each training under each of its settings."""
    found: dict[str, list[int]] = {}
    for number, unit in enumerate(units):
        if step := steps.get(unit.name):
            found.setdefault(f"{step.training} {json.dumps(unit.varied)}", []).append(number)
    return [numbers for numbers in found.values() if len(numbers) > 1]


def _varied(units: Sequence[Unit]) -> dict[int, Mapping[str, str]]:
    """The number of a unit -> its settings; -1 is majority, which has none."""
    return {-1: {}, **dict(enumerate(unit.varied for unit in units))}


def _with_varied(table: pd.DataFrame, units: Sequence[Unit]) -> pd.DataFrame:
    """The predictions, each row with the settings that touch it."""
    varied = _varied(units)
    for name in SETTINGS:
        table[name] = [varied[number].get(name) for number in table["unit"]]
    return table.drop(columns="unit")


def _units(
    combinations: Sequence[Mapping[str, str]],
    shuffled: bool,
    names: Sequence[str],
    kinds: Mapping[str, str],
    options: ModelOptions,
) -> list[Unit]:
    """(model, settings) pairs, each once; those of one model side by side."""
    units: dict[tuple[str, str], Unit] = {}
    for name in names:
        for settings in combinations:
            varied = {
                key: value
                for key, value in settings.items()
                if key in FAMILIES[kinds[name]].settings
            }
            of_model: dict[str, Any] = {k: v for k, v in varied.items() if k != "article"}
            article = cast(Article, varied.get("article", Setting.article))
            setting = Setting(article, shuffled, replace(options, **of_model))
            units.setdefault((name, json.dumps(varied)), Unit(name, setting, varied))
    return list(units.values())


def _sorted(table: pd.DataFrame, diagnostics: Sequence[str]) -> pd.DataFrame:
    """Rows by set, settings right after the model's name."""
    first = ["diagnostic", "model", *SETTINGS]
    table = table[first + [column for column in table if column not in first]]
    order = table["diagnostic"].map(diagnostics.index)
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)
