"""A model and a set -> the predictions of all probes, scored in one go."""

from __future__ import annotations

import pandas as pd

from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.models.base import ClozeModel, TextModel
from hyperprobe.models.blocks import score_blocks
from hyperprobe.names import CONTROL, RANDOM
from hyperprobe.probes.consistency import (
    heights,
    inheritance,
    levels,
    siblings,
    typicality,
    wordings,
)
from hyperprobe.probes.consistency.paths import Paths, spells_all
from hyperprobe.probes.consistency.plan import COLUMNS, Items, Plan


def predict(model: ClozeModel, of_set: DiagnosticSet) -> pd.DataFrame:
    """One row for each question (see `plan`), with the `model` that answers.

    The probes that the noun alone may answer are asked of it too, as `control:MODEL`; static
    vectors, which read no prompt, are asked those that need none.
    """
    items = Items(of_set)
    paths = Paths(items, model.can_spell if isinstance(model, TextModel) else spells_all)
    asked: list[tuple[str, Plan]] = []
    templates = of_set.templates
    if not isinstance(model, TextModel):
        asked += [(model.name, plan) for plan in _word_plans(items, paths, templates.singular)]
        asked.append((model.name, typicality.plan(items, templates.singular)))
    else:
        if templates.control and not model.name.startswith(RANDOM):
            name = f"{CONTROL}{model.name}"
            asked += [(name, plan) for plan in _word_plans(items, paths, templates.control)]
            asked.append((name, heights.direction(items, control=True)))
            asked.append((name, typicality.plan(items, templates.control)))
        every = [templates.singular, *templates.wordings]
        asked += [(model.name, plan) for plan in _word_plans(items, paths, *every)]
        asked.append((model.name, heights.direction(items)))
        asked.append((model.name, heights.negation(items)))
        asked.append((model.name, inheritance.plan(items, unknown_names(model))))
        asked.append((model.name, typicality.plan(items, templates.singular)))
    scores = iter(score_blocks(model, [block for _, plan in asked for block in plan.blocks]))
    parts = []
    for name, plan in asked:
        rows = plan.rows([next(scores) for _ in plan.blocks])
        if rows:
            parts.append(pd.DataFrame(rows).reindex(columns=list(COLUMNS)).assign(model=name))
    return pd.concat(parts, ignore_index=True)


def _word_plans(items: Items, paths: Paths, *templates: str) -> list[Plan]:
    """The plans that need no sentence: the first template is the plain question."""
    return [
        wordings.plan(items, templates),
        levels.plan(items, paths, templates[0]),
        siblings.plan(items, paths, templates[0]),
    ]


def unknown_names(model: TextModel) -> list[str]:
    """The made-up nouns that are no token of the model's."""
    names = inheritance.made_up_nouns()
    known = model.single_tokens(names)
    return [name for name, is_token in zip(names, known, strict=True) if not is_token]
