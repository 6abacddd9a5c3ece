"""A whole study from one file: models x diagnostic sets x settings, each cell asked once.

All studies under one results folder share their cells: each is stored under all that
decides its numbers (model, set, settings, version), so that a model added to a file costs
that model alone, and an interrupted study goes on where it stopped. The tables of a study
have a folder of their own, named after the file and what it asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any, get_args

import pandas as pd
from pydantic import BeforeValidator, ConfigDict

from hyperprobe.diagnostic import NAMES
from hyperprobe.diagnostic_files import frame_digest, load_diagnostic
from hyperprobe.documents import Document, check, read_toml
from hyperprobe.errors import UserError
from hyperprobe.metrics.hypernymy import compare_models, summarise
from hyperprobe.models.autoregressive import SCORINGS
from hyperprobe.models.load import family, identify, is_vectors
from hyperprobe.models.masked import PLLS
from hyperprobe.models.names import EMBEDDED, distinct_models
from hyperprobe.models.options import check_device
from hyperprobe.models.pretrained import DTYPES
from hyperprobe.predictions import Article, predict_majority
from hyperprobe.progress import progress
from hyperprobe.runs import Run, digest_of
from hyperprobe.zero_shot import Asking, Control, Models, answers, in_order, with_baselines

# The settings that a study may vary, and the families whose numbers each one changes.
CHOICES: dict[str, tuple[str, ...]] = {
    "article": get_args(Article),
    "dtype": tuple(DTYPES),
    "pll": PLLS,
    "causal_scoring": SCORINGS,
}
SETTINGS = tuple(CHOICES)
MATTERS = {
    "masked": ("article", "dtype", "pll"),
    "causal": ("article", "dtype", "causal_scoring"),
    "seq2seq": ("article", "dtype", "causal_scoring"),
    "static": (),
}


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
    controls: tuple[Control, ...]
    settings: dict[str, tuple[str, ...]]

    def combinations(self) -> list[dict[str, str]]:
        """Every combination of the settings, in the order of the file."""
        return [dict(zip(SETTINGS, v, strict=True)) for v in product(*self.settings.values())]


@dataclass(frozen=True)
class StudyResult:
    """The study's `folder` and its tables; each row says its settings, where they matter."""

    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    mcnemar: pd.DataFrame


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
    default = asdict(Asking())
    for key, values in (("models", read.models), ("diagnostics", read.diagnostics)):
        if values == ():
            raise UserError(f"{path}: {key} is empty: name at least one, or leave it out")
    return Plan(
        path.stem,
        read.models or (EMBEDDED,),
        read.diagnostics or NAMES,
        _chosen(path, "controls", read.controls, get_args(Control)),  # type: ignore[arg-type]
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
    path: Path,
    results: Path = Path("results"),
    device: str = "auto",
    trust_remote_code: bool = False,
    seed: int = 0,
) -> StudyResult:
    """Ask everything that the study file at `path` names, with `zero_shot`'s baselines.

    A setting that does not touch a model's numbers (`pll` and a causal model) is not
    asked again for it and left empty in its rows. Raises `UserError` on bad input.
    """
    given = dict(locals())
    check_device(device)
    plan = read_plan(path)
    frames = {name: load_diagnostic(name) for name in plan.diagnostics}
    names = with_baselines(distinct_models(plan.models), plan.controls)
    ids = {name: identify(name) for name in names}
    kinds = {name: family(name, trust_remote_code) for name in names}
    run = Run(
        results,
        "study",
        {
            "models": ids,
            "diagnostics": {name: frame_digest(frame) for name, frame in frames.items()},
            "controls": list(plan.controls),
            "settings": {key: list(values) for key, values in plan.settings.items()},
            "trust_remote_code": trust_remote_code,
        },
        given,
        plan.name,
    )
    loader = Models(names)
    units = _units(plan, names, kinds)
    # Majority has no settings; it is no cell, since it costs nothing.
    parts = [
        predict_majority(frame).assign(diagnostic=diagnostic, unit=-1)
        for diagnostic, frame in frames.items()
    ]
    with progress(f"study {plan.name}", len(units) * len(frames)) as advance:
        for number, (name, settings) in enumerate(units):
            how = Asking(
                shuffled="shuffled" in plan.controls,
                trust_remote_code=trust_remote_code,
                device=device,
                **settings,  # type: ignore[arg-type]
            )
            for diagnostic, frame in frames.items():
                identity: list[Any] = [name, ids[name], frame_digest(frame), how.identity()]
                if is_vectors(name):  # they answer open questions from another model's words
                    identity.append(ids.get(loader.speaker or ""))
                key = f"{name} on {diagnostic} {json.dumps(settings)} {digest_of(identity)}"
                cell = answers(run, loader, name, how, diagnostic, frame, key)
                parts.append(cell.assign(unit=number))
                advance(1)
    table = in_order(pd.concat(parts, ignore_index=True), plan.diagnostics, names)
    settings_of = {-1: {}, **{number: settings for number, (_, settings) in enumerate(units)}}

    def with_settings(frame: pd.DataFrame, settings: dict[str, str]) -> pd.DataFrame:
        return frame.assign(**{key: settings.get(key) for key in SETTINGS})

    metrics = pd.concat(
        [
            with_settings(summarise(own, seed), settings_of[int(number)])
            for number, own in table.groupby("unit", sort=False)
        ],
        ignore_index=True,
    )
    comparisons = []
    for settings in plan.combinations():
        asked = [-1, *(i for i, (_, own) in enumerate(units) if own.items() <= settings.items())]
        together = table[table["unit"].isin(asked)]
        comparisons.append(with_settings(compare_models(together), settings))
    for key in SETTINGS:
        table[key] = [settings_of[number].get(key) for number in table["unit"]]
    result = StudyResult(
        run.folder,
        table.drop(columns="unit"),
        _sorted(metrics, plan.diagnostics),
        pd.concat(comparisons, ignore_index=True),
    )
    run.finish(
        {
            "predictions.parquet": result.predictions,
            "metrics.csv": result.metrics,
            "mcnemar.csv": result.mcnemar,
        },
        seed,
    )
    return result


def _matter(settings: dict[str, str], kind: str) -> dict[str, str]:
    """The settings that touch the numbers of this kind of model."""
    return {key: value for key, value in settings.items() if key in MATTERS[kind]}


def _units(
    plan: Plan, names: Sequence[str], kinds: dict[str, str]
) -> list[tuple[str, dict[str, str]]]:
    """(model, settings) pairs, each once; those of one model side by side."""
    units: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    for name in names:
        for settings in plan.combinations():
            matter = _matter(settings, kinds[name])
            units.setdefault((name, json.dumps(matter)), (name, matter))
    return list(units.values())


def _sorted(metrics: pd.DataFrame, diagnostics: Sequence[str]) -> pd.DataFrame:
    """Rows by set, settings right after the model's name."""
    first = ["diagnostic", "model", *SETTINGS]
    metrics = metrics[first + [column for column in metrics if column not in first]]
    order = metrics["diagnostic"].map(diagnostics.index)
    return metrics.iloc[order.argsort(kind="stable")].reset_index(drop=True)
