"""Diagnostic sets x models x settings -> predictions: what `zero-shot` and `study` have in common.

Zero-shot is a study of one setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.models.load import load_model, load_outline
from hyperprobe.names import (
    CONTROL,
    CONTROL_PREFIXES,
    EMBEDDED_VECTORS,
    MAJORITY,
    RANDOM,
    has_fixed_answers,
    is_vectors,
    with_random_weights,
)
from hyperprobe.options import (
    ARTICLES,
    SCORING,
    ZERO_SHOT_CONTROLS,
    Article,
    ModelOptions,
    ZeroShotControl,
    check_choice,
    check_choices,
)
from hyperprobe.probes.zero_shot.predictions import predict, predict_majority
from hyperprobe.runs.jobs import Answers, Cell, LastLoaded, Once

COST = 4.0  # of all that is asked about a noun


@dataclass(frozen=True)
class Setting:
    """How a set is asked: the article before the slot, shuffled contexts beside, the model.

    Raises `UserError` for an article policy that is none.
    """

    article: Article = "gold"
    shuffled: bool = False
    model: ModelOptions = field(default_factory=ModelOptions)

    def __post_init__(self) -> None:
        check_choice("article", self.article, ARTICLES)

    def identity(self, settings: Callable[[], Iterable[str]] = lambda: SCORING) -> dict[str, Any]:
        """What of it decides numbers, where `settings()` are those that touch the models."""
        asked = self.model.identity_of(settings)
        return {"article": self.article, "shuffled": self.shuffled, **asked}


@dataclass(frozen=True)
class Unit:
    """One model under one setting; `varied` are those of a study's settings that touch it."""

    name: str
    setting: Setting
    varied: Mapping[str, str] = field(default_factory=dict)


def cells_of(
    units: Sequence[Unit],
    sets: Mapping[str, DiagnosticSet],
    ids: Mapping[str, Any],
    key: Callable[[Unit, str], str],
) -> list[Cell]:
    """The cells of every unit on every set, under `key(unit, set)`.

    `ids` are those of the models (`identify`).
    """
    # Static vectors answer open questions from the words of the first language model.
    asked = [u for u in units if not is_vectors(u.name) and not has_fixed_answers(u.name)]

    @Once
    def words() -> CandidateSet | None:
        if not asked:
            return None
        return CandidateSet.of(load_outline(asked[0].name, asked[0].setting.model).words())

    def answers(unit: Unit, one: DiagnosticSet, models: LastLoaded) -> Answers:
        setting = unit.setting
        model = models.get(load_model, unit.name, setting.model)
        if asked and unit.name == asked[0].name:
            words.keep(CandidateSet.of(model.words()))
        vocabulary = words() if is_vectors(unit.name) else None
        start = getattr(model, "tokens_read", 0)
        given = (setting.article, vocabulary, setting.shuffled, models.kept)
        predictions = predict(model, one, *given)
        read = getattr(model, "tokens_read", 0) - start
        return predictions, model.describe() | ({"tokens_read": read} if read else {})

    cells = []
    for unit in units:
        for diagnostic, one in sets.items():
            identity = [unit.name, ids[unit.name], one.digest, unit.setting.identity()]
            if is_vectors(unit.name):
                identity.append(ids[asked[0].name] if asked else None)
            compute = partial(answers, unit, one)
            cost = COST * len(one.frame)
            cells.append(Cell(key(unit, diagnostic), unit.name, identity, compute, cost))
    return cells


def predictions_of(
    frames: Sequence[pd.DataFrame], units: Sequence[Unit], sets: Mapping[str, DiagnosticSet]
) -> pd.DataFrame:
    """The frames of the cells of `cells_of` and those of the majority baseline as one.

    `diagnostic` says the set and `unit` the index in `units`, -1 for majority.
    """
    # Majority has no settings; it is no cell, since it costs nothing.
    parts = [
        predict_majority(one.frame).assign(diagnostic=diagnostic, unit=-1)
        for diagnostic, one in sets.items()
    ]
    asked = product(range(len(units)), sets)
    for frame, (number, diagnostic) in zip(frames, asked, strict=True):
        parts.append(frame.assign(diagnostic=diagnostic, unit=number))
    names = list(dict.fromkeys(unit.name for unit in units))
    return in_order(pd.concat(parts, ignore_index=True), list(sets), names)


def with_baselines(models: Sequence[str], controls: Sequence[ZeroShotControl]) -> list[str]:
    """The models' names, with the vectors and controls that are asked beside them.

    Raises `UserError` for a control that is none.
    """
    check_choices("control", controls, ZERO_SHOT_CONTROLS)
    names = [*models, *EMBEDDED_VECTORS]
    if "random" in controls:
        names += with_random_weights(models)
    return list(dict.fromkeys(names))


def in_order(table: pd.DataFrame, diagnostics: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """Rows by set, then majority, vectors, control and model, as in the paper's Table 2."""

    def rank(model: str) -> tuple[int, int, int]:
        if model == MAJORITY:
            return (0, 0, 0)
        prefix = next((p for p in CONTROL_PREFIXES if model.startswith(p)), "")
        name = model.removeprefix(prefix)
        reads = name.startswith(RANDOM) or has_fixed_answers(name)
        static = f"{CONTROL}{name}" not in asked and not reads
        kind = (*CONTROL_PREFIXES, "").index(prefix)
        group = 1 if static else 2 if name.startswith(RANDOM) else 3
        return (group, names.index(name), kind)

    asked = set(table["model"])
    order = {model: i for i, model in enumerate(sorted(asked, key=rank))}
    keys = table["diagnostic"].map(list(diagnostics).index) * len(order) + table["model"].map(order)
    return table.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)
