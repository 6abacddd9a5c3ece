"""Negation: after "is not a" the category falls (Kassner & Schuetze 2020; Ettinger 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.plan import Items, Matrix, Plan, Row, row
from hyperprobe.statistics.calibration import biases

PROBE = "negation"
FORMS = ("affirmed", "negated")


def plan(items: Items) -> Plan:
    """One question for each noun: where does its category stand higher above the others, after
    "is clearly a" or after "is not a"?

    The prompts are equally long: a longer one alone weakens what the noun calls up. Chance is
    one half.
    """
    templates = items.of_set.templates
    affirmed = templates.affirmed or templates.singular
    candidates = CandidateSet.of(items.categories)
    if not templates.negated or len(candidates) < 2:
        return Plan((), lambda scores: [])
    blocks = tuple(
        Block(tuple(items.clozes(template)), candidates)
        for template in (affirmed, templates.negated)
    )

    def rows(scores: Sequence[Scores]) -> list[Row]:
        values = [of_form.astype(float) for of_form in scores]
        above = [_above_others(one, items.gold) for one in values]
        bias = [_above_others(biases(one), items.gold) for one in values]
        return [
            row(
                PROBE, "not", items.about(i), FORMS[0], FORMS,
                [one[i] for one in above], [one[i] for one in bias],
            )
            for i in range(len(items.nouns))
        ]  # fmt: skip

    return Plan(blocks, rows)


def _above_others(scores: Matrix, gold: Sequence[int]) -> Matrix:
    """How far the right category [n_items] is above the mean of the others."""
    right = scores[np.arange(len(gold)), gold]
    with np.errstate(invalid="ignore"):
        result: Matrix = right - (scores.sum(axis=1) - right) / (scores.shape[1] - 1)
    return result
