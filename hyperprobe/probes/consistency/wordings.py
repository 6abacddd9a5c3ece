"""Wordings: the category in the set's own words and in paraphrases (Elazar et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.outcomes import PLAIN
from hyperprobe.probes.consistency.plan import Items, Plan, Row, row
from hyperprobe.statistics.calibration import biases

PROBE = "wordings"


def plan(items: Items, templates: Sequence[str]) -> Plan:
    """One question for each template, the first of which is the plain one.

    Chance is one of the categories.
    """
    candidates = CandidateSet.of(items.categories)
    blocks = [Block(tuple(items.clozes(template)), candidates) for template in templates]

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        names = [PLAIN, *templates[1:]]
        for name, of_template in zip(names, scores, strict=True):
            bias = biases(of_template.astype(float))
            made += [
                row(
                    PROBE,
                    name,
                    items.about(i),
                    items.categories[gold],
                    items.categories,
                    of_template[i],
                    bias[i],
                )
                for i, gold in enumerate(items.gold)
            ]
        return made

    return Plan(tuple(blocks), rows)
