"""Wordings: the category in the set's own words and in paraphrases (Elazar et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.plan import Items, Plan, Row, row
from hyperprobe.statistics.calibration import biases

PROBE = "wordings"


def plan(items: Items, templates: Sequence[str]) -> Plan:
    """One question for each template; a knowing-nothing model is right on one of n categories."""
    candidates = CandidateSet.of(items.categories)
    blocks = [Block(tuple(items.clozes(template)), candidates) for template in templates]

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        for template, of_template in zip(templates, scores, strict=True):
            bias = biases(of_template.astype(float))
            made += [
                row(
                    PROBE,
                    template,
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
