"""A whole study from one file: models x diagnostic sets x settings, each cell asked once.

All studies under one results folder share their cells: each is stored under all that
decides its numbers (model, set, settings, version), so that a model added to a file costs
that model alone, and an interrupted study continues. The tables of a study
have a folder of their own, named after the file and what it asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Unpack, cast

import pandas as pd
from pydantic import BeforeValidator, ConfigDict

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import default_article, load_sets
from hyperprobe.documents import Document, check, read_toml
from hyperprobe.errors import UserError
from hyperprobe.families import FAMILIES
from hyperprobe.models.load import family, identify
from hyperprobe.names import EMBEDDED, Step, StrPath, distinct_models, is_vectors
from hyperprobe.options import (
    ARTICLES,
    CAUSAL_SCORINGS,
    DTYPES,
    PLLS,
    RESULTS,
    ZERO_SHOT_CONTROLS,
    Article,
    LoadKeywords,
    ModelOptions,
    ZeroShotControl,
    check_seed,
)
from hyperprobe.probes.zero_shot.ask import Models, Setting, Unit, ask, with_baselines
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
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run, digest_of
from hyperprobe.statistics.stratified import with_holm

# The settings that a study may vary; `FAMILIES` says whose numbers each one changes.
CHOICES: dict[str, tuple[str, ...]] = dict(
    zip(SETTINGS, (ARTICLES, DTYPES, PLLS, CAUSAL_SCORINGS), strict=True)
)


def _as_words(value: Any) -> Any:
    """One text or a list of texts, without repetition."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
        raise ValueError("must be a text or a list of texts")
    return tuple(dict.fromkeys(values))


Words = Annotated[tuple[str, ...], BeforeValidator(_as_words)]


@dataclass(frozen=True)
class Plan:
    """What a study file asks for; `settings` has the values of each setting."""

    name: str
    models: tuple[str, ...]
    diagnostics: tuple[str, ...]
    controls: tuple[ZeroShotControl, ...]
    settings: dict[str, tuple[str, ...]]

    def combinations(self) -> list[dict[str, str]]:
        """Every combination of the settings, in the order of the file."""
        return [dict(zip(SETTINGS, v, strict=True)) for v in product(*self.settings.values())]


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


class StudySettings(Document):
    """The table `[settings]` of a study file."""

    model_config = ConfigDict(extra="forbid")

    article: Words = ()
    dtype: Words = ()
    pll: Words = ()
    causal_scoring: Words = ()


class StudyFile(Document):
    """A study file."""

    model_config = ConfigDict(extra="forbid")

    models: Words | None = None
    diagnostics: Words | None = None
    controls: Words = ()
    settings: StudySettings = StudySettings()


def read_plan(path: Path) -> Plan:
    """The plan in a TOML file. Raises `UserError` on what is no plan, and says where."""
    document = read_toml(path, dict, "study")
    _check_keys(path, "key", document, tuple(StudyFile.model_fields))
    settings = document.get("settings")
    if isinstance(settings, dict):
        _check_keys(path, "setting", settings, SETTINGS)
    read = check(StudyFile, document, str(path))
    diagnostics = read.diagnostics or NAMES
    default = Setting(default_article(diagnostics)).identity()
    for key, values in (("models", read.models), ("diagnostics", read.diagnostics)):
        if values == ():
            raise UserError(f"{path}: {key} is empty: name at least one, or leave it out")
    return Plan(
        path.stem,
        read.models or (EMBEDDED,),
        diagnostics,
        _chosen(path, "controls", read.controls, ZERO_SHOT_CONTROLS),  # type: ignore[arg-type]
        {
            key: _chosen(path, key, getattr(read.settings, key) or (default[key],), choices)
            for key, choices in CHOICES.items()
        },
    )


def _check_keys(path: Path, kind: str, table: Iterable[str], known: Sequence[str]) -> None:
    if unknown := sorted(set(table) - set(known)):
        raise UserError(f"{path}: unknown {kind} {unknown[0]}: choose from {', '.join(known)}")


def _chosen(
    path: Path, key: str, values: tuple[str, ...], choices: Sequence[str]
) -> tuple[str, ...]:
    for one in values:
        if one not in choices:
            raise UserError(f"{path}: unknown {key} {one}: choose from {', '.join(choices)}")
    return values


def study(
    path: StrPath,
    results: StrPath = RESULTS,
    seed: int = 0,
    **keywords: Unpack[LoadKeywords],
) -> StudyResult:
    """Ask everything that the study file at `path` names, with `zero_shot`'s baselines.

    Keywords are those of `ModelOptions` that a study does not vary. A setting that does not
    touch a model's numbers (`pll` and a causal model) is not asked again for it and left empty
    in its rows. Raises `UserError` on bad input.
    """
    given = dict(locals())
    options = ModelOptions(**keywords)
    check_seed(seed)
    plan = read_plan(Path(path))
    sets = load_sets(plan.diagnostics)
    names = with_baselines(distinct_models(plan.models), plan.controls)
    ids = {name: identify(name) for name in names}
    kinds = {name: family(name, options.trust_remote_code) for name in names}
    digests = {name: one.digest for name, one in sets.items()}
    settings = {
        "models": ids,
        "diagnostics": digests,
        "controls": list(plan.controls),
        "settings": {key: list(values) for key, values in plan.settings.items()},
        "trust_remote_code": options.trust_remote_code,
    }
    run = Run(results, "study", settings, given, plan.name)
    models = Models(names)
    units = _units(plan, names, kinds, options)
    key = partial(_cell_key, ids, digests, models.vocabulary_model)
    table = ask(run, models, units, sets, key, f"study {plan.name}")
    tables = _tables(plan, units, table, seed)
    predictions = _with_varied(table, units)
    files = {f"{name}.csv": frame for name, frame in tables.items()}
    run.finish({"predictions.parquet": predictions, **files}, seed)
    return StudyResult(run.folder, predictions, **tables)


def _cell_key(
    ids: Mapping[str, Any],
    digests: Mapping[str, str],
    vocabulary_model: str | None,
    unit: Unit,
    diagnostic: str,
) -> str:
    """All that decides the numbers of a cell."""
    identity: list[Any] = [unit.name, ids[unit.name], digests[diagnostic]]
    identity.append(unit.setting.identity())
    if is_vectors(unit.name):  # they answer open questions from another model's words
        identity.append(ids.get(vocabulary_model or ""))
    return f"{unit.name} on {diagnostic} {json.dumps(unit.varied)} {digest_of(identity)}"


def _tables(
    plan: Plan, units: Sequence[Unit], table: pd.DataFrame, seed: int
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
    for settings in plan.combinations():
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
        tables[name] = _sorted(frame, plan.diagnostics)
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
    plan: Plan, names: Sequence[str], kinds: Mapping[str, str], options: ModelOptions
) -> list[Unit]:
    """(model, settings) pairs, each once; those of one model side by side."""
    units: dict[tuple[str, str], Unit] = {}
    for name in names:
        for settings in plan.combinations():
            varied = {
                key: value
                for key, value in settings.items()
                if key in FAMILIES[kinds[name]].settings
            }
            of_model: dict[str, Any] = {k: v for k, v in varied.items() if k != "article"}
            article = cast(Article, varied.get("article", Setting.article))
            setting = Setting(article, "shuffled" in plan.controls, replace(options, **of_model))
            units.setdefault((name, json.dumps(varied)), Unit(name, setting, varied))
    return list(units.values())


def _sorted(table: pd.DataFrame, diagnostics: Sequence[str]) -> pd.DataFrame:
    """Rows by set, settings right after the model's name."""
    first = ["diagnostic", "model", *SETTINGS]
    table = table[first + [column for column in table if column not in first]]
    order = table["diagnostic"].map(diagnostics.index)
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)
