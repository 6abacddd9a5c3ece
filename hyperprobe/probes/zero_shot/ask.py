"""Diagnostic sets x models x settings -> predictions: what `zero-shot` and `study` have in common.

Zero-shot is a study of one setting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.model_names import has_fixed_answers, is_vectors, with_random_weights
from hyperprobe.models.load import load_model, load_outline
from hyperprobe.names import CONTROL, CONTROL_PREFIXES, EMBEDDED_VECTORS, MAJORITY, RANDOM
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
ITEMS_AT_ONCE = 5_000  # of a cell: what is held in memory, and lost to a kill


@dataclass(frozen=True)
class Asked:
    """What a cell asks: the unit of that index, about the set's items from `start` to before
    `stop` (None: all)."""

    unit: int
    diagnostic: str
    start: int = 0
    stop: int | None = None

    @property
    def items(self) -> slice:
        return slice(self.start, self.stop)


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


def asked_of(units: Sequence[Unit], sets: Mapping[str, DiagnosticSet]) -> list[Asked]:
    """What is asked, cell by cell: every unit of every set, in parts if that is large.

    What is not computed, but looked up (`has_fixed_answers`), is looked up whole.
    """
    asked = []
    for (number, unit), diagnostic in product(enumerate(units), sets):
        n = len(sets[diagnostic].frame)
        step = n if has_fixed_answers(unit.name) else ITEMS_AT_ONCE
        if n <= step:
            asked.append(Asked(number, diagnostic))
            continue
        starts = range(0, n, step)
        asked += [Asked(number, diagnostic, at, at + step) for at in starts]
    return asked


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

    def answers(unit: Unit, one: DiagnosticSet, items: slice, models: LastLoaded) -> Answers:
        setting = unit.setting
        model = models.get(load_model, unit.name, setting.model)
        if asked and unit.name == asked[0].name:
            words.keep(CandidateSet.of(model.words()))
        vocabulary = words() if is_vectors(unit.name) else None
        start = getattr(model, "tokens_read", 0)
        kept = None if items.stop else models.kept  # (a part of a large set is not kept)
        given = (setting.article, vocabulary, setting.shuffled, kept)
        predictions = predict(model, one, *given, items)
        read = getattr(model, "tokens_read", 0) - start
        return predictions, model.describe() | ({"tokens_read": read} if read else {})

    cells = []
    for part in asked_of(units, sets):
        unit, one = units[part.unit], sets[part.diagnostic]
        identity = [unit.name, ids[unit.name], one.digest, unit.setting.identity()]
        if is_vectors(unit.name):
            identity.append(ids[asked[0].name] if asked else None)
        name = key(unit, part.diagnostic)
        if part.stop:
            identity.append([part.start, part.stop])
            name += f" from item {part.start}" if part.start else ""
        compute = partial(answers, unit, one, part.items)
        cost = COST * len(one.frame[part.items])
        cells.append(Cell(name, unit.name, identity, compute, cost))
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
    for frame, asked in zip(frames, asked_of(units, sets), strict=True):
        parts.append(frame.assign(diagnostic=asked.diagnostic, unit=asked.unit))
    table = pd.concat(parts, ignore_index=True)
    order = {name: i for i, name in enumerate(in_order(set(table["model"]), units))}
    keys = table["diagnostic"].map(list(sets).index) * len(order) + table["model"].map(order)
    return table.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)


def with_baselines(models: Sequence[str], controls: Sequence[ZeroShotControl]) -> list[str]:
    """The models' names, with the vectors and controls that are asked beside them.

    Raises `UserError` for a control that is none.
    """
    check_choices("control", controls, ZERO_SHOT_CONTROLS)
    names = [*models, *EMBEDDED_VECTORS]
    if "random" in controls:
        names += with_random_weights(models)
    return list(dict.fromkeys(names))


def in_order(asked: Collection[str], units: Sequence[Unit]) -> list[str]:
    """The names in a column of models: majority, vectors, control and model, as in the paper's
    Table 2."""
    names = list(dict.fromkeys(unit.name for unit in units))

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

    return sorted(asked, key=rank)
