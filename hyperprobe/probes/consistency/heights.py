"""Direction and negation: where does a noun's category stand in one prompt, and where in others?

The same candidates compete in each prompt, so that no word's frequency plays a part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.plan import Items, Matrix, Plan, Row, row
from hyperprobe.statistics.calibration import biases

DIRECTION, NEGATION = "direction", "negation"


def direction(items: Items, control: bool = False) -> Plan:
    """One question for each noun: its category stands higher in "A robin is a [MASK]." than in
    "A [MASK] is a robin." Chance is one half.

    That noun and category go together in text counts in both. A place for the slot can be better
    for any pair, without a thought of direction: the `control` has no more than noun and slot in
    both orders. As in BIBLESS (Kiela et al. 2015), for the answers of language models.
    """
    templates = items.of_set.templates
    if control:
        forms = {"noun first": templates.control, "noun last": templates.control_reversed}
    else:
        forms = {"noun first": templates.singular, "noun last": templates.reversed}
    return _plan(items, DIRECTION, forms)


def negation(items: Items) -> Plan:
    """Two questions for each noun: its category stands lower in "A robin is not a [MASK]." than in
    "A robin is a [MASK].", and than in "A robin is also a [MASK]." The harder of them counts
    (`metrics.noun_table`). Chance is one half.

    One more word alone may weaken what a noun calls up, so that one affirmed prompt is as long as
    the negated one. After Kassner & Schuetze (2020) and Ettinger (2020).
    """
    templates = items.of_set.templates
    forms = {"not": templates.negated, "plain": templates.singular}
    if templates.affirmed:
        forms["affirmed"] = templates.affirmed
    return _plan(items, NEGATION, forms, sign=-1)


def _plan(items: Items, probe: str, forms: dict[str, str], sign: int = 1) -> Plan:
    """The first of the forms against each of the others: it is right where the category stands
    higher there, or lower with a `sign` of -1."""
    candidates = CandidateSet.of(items.categories)
    if len(candidates) < 2 or not all(forms.values()):
        return Plan((), lambda scores: [])
    blocks = tuple(Block(tuple(items.clozes(text)), candidates) for text in forms.values())
    first, *others = forms

    def rows(scores: Sequence[Scores]) -> list[Row]:
        values = [one.astype(float) for one in scores]
        heights = {
            name: sign * height(one, items.gold) for name, one in zip(forms, values, strict=True)
        }
        bias = {
            name: sign * height(biases(one), items.gold)
            for name, one in zip(forms, values, strict=True)
        }
        return [
            row(
                probe,
                other,
                items.about(i),
                first,
                (first, other),
                (heights[first][i], heights[other][i]),
                (bias[first][i], bias[other][i]),
            )
            for other in others
            for i in range(len(items.nouns))
        ]

    return Plan(blocks, rows)


def height(scores: Matrix, gold: Sequence[int]) -> Matrix:
    """How far the right category of each row [n_items] is above the mean of the others."""
    right = scores[np.arange(len(gold)), gold]
    with np.errstate(invalid="ignore"):
        result: Matrix = right - (scores.sum(axis=1) - right) / (scores.shape[1] - 1)
    return result
