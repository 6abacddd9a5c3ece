"""Diagnostic sets x models x settings -> predictions: what `zero-shot` and `study` have in common.

Zero-shot is a study of one setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.models.base import ClozeModel
from hyperprobe.models.load import LastLoaded, load_model
from hyperprobe.names import (
    CONTROL,
    CONTROL_PREFIXES,
    EMBEDDED_VECTORS,
    MAJORITY,
    RANDOM,
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
from hyperprobe.progress import progress
from hyperprobe.runs.run import Run


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

    def identity(self, settings: Iterable[str] = SCORING) -> dict[str, Any]:
        """What of it decides numbers, where `settings` are those that touch the models."""
        asked = self.model.identity_of(settings)
        return {"article": self.article, "shuffled": self.shuffled, **asked}


@dataclass(frozen=True)
class Unit:
    """One model under one setting; `varied` are those of a study's settings that touch it."""

    name: str
    setting: Setting
    varied: Mapping[str, str] = field(default_factory=dict)


class Models:
    """The models of a run, loaded when they are asked; one is held at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        # Static vectors answer open questions from the words of the first language model.
        self.vocabulary_model = next((name for name in names if not is_vectors(name)), None)
        self._words: CandidateSet | None = None
        self._loaded = LastLoaded(load_model)

    def predict(self, unit: Unit, asked_set: DiagnosticSet) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The unit's predictions on a set, and the description of its model."""
        setting = unit.setting
        words = self._vocabulary(setting.model) if is_vectors(unit.name) else None
        model = self._get(unit.name, setting.model)
        predictions = predict(model, asked_set, setting.article, words, setting.shuffled)
        return predictions, model.describe()

    def _get(self, name: str, options: ModelOptions) -> ClozeModel:
        model = self._loaded.get(name, options)
        if name == self.vocabulary_model and self._words is None:
            self._words = CandidateSet.of(model.words())
        return model

    def _vocabulary(self, options: ModelOptions) -> CandidateSet | None:
        if self._words is None and self.vocabulary_model is not None:
            self._get(self.vocabulary_model, options)
        return self._words


def ask(
    run: Run,
    models: Models,
    units: Sequence[Unit],
    sets: Mapping[str, DiagnosticSet],
    key: Callable[[Unit, str], str],
    label: str,
) -> pd.DataFrame:
    """The predictions of every unit and of the majority baseline on every set.

    `diagnostic` says the set and `unit` the index in `units`, -1 for majority. Each (unit, set)
    is a cell of `run` under `key(unit, set)`, computed once.
    """
    # Majority has no settings; it is no cell, since it costs nothing.
    parts = [
        predict_majority(one.frame).assign(diagnostic=diagnostic, unit=-1)
        for diagnostic, one in sets.items()
    ]
    with progress(label, len(units) * len(sets)) as advance:
        for number, unit in enumerate(units):
            for diagnostic, one in sets.items():
                cell = run.cell(key(unit, diagnostic), partial(models.predict, unit, one))
                parts.append(cell.assign(diagnostic=diagnostic, unit=number))
                advance(1)
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
        static = f"{CONTROL}{name}" not in asked and not name.startswith(RANDOM)
        kind = (*CONTROL_PREFIXES, "").index(prefix)
        group = 1 if static else 2 if name.startswith(RANDOM) else 3
        return (group, names.index(name), kind)

    asked = set(table["model"])
    order = {model: i for i, model in enumerate(sorted(asked, key=rank))}
    keys = table["diagnostic"].map(list(diagnostics).index) * len(order) + table["model"].map(order)
    return table.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)
