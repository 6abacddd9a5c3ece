"""Direction: a robin is a bird more than a bird is a robin (as in BIBLESS, Kiela et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.plan import Items, Plan, Row, mean_over, row

PROBE = "direction"
WAYS = ("noun is category", "category is noun")


def plan(items: Items, template: str) -> Plan:
    """One question for each noun: which way does the pair score higher?

    Both ways are calibrated over subjects of other categories, of which they are not true. That
    noun and category go together in text counts the same both ways, so chance is one half.
    """
    outside = items.outside_categories()
    members = {c: items.of_category(c) for c in outside}
    blocks = []
    for category in outside:
        nouns = [items.nouns[i] for i in (*outside[category], *members[category])]
        forth = tuple(items.cloze(template, noun) for noun in nouns)
        heads = [category, *(c for c in items.categories if c != category)]
        back = tuple(items.cloze(template, head) for head in heads)
        blocks.append(Block(forth, CandidateSet((category,))))
        blocks.append(Block(back, CandidateSet(tuple(nouns[len(outside[category]) :]))))

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        for category, forth, back in zip(outside, scores[::2], scores[1::2], strict=True):
            n = len(outside[category])
            bias, bias_back = mean_over(forth[:n])[0], mean_over(back[1:])
            for k, i in enumerate(members[category]):
                both = [forth[n + k, 0], back[0, k]]
                biases = [bias, bias_back[k]]
                made.append(row(PROBE, category, items.about(i), WAYS[0], WAYS, both, biases))
        return made

    return Plan(tuple(blocks), rows)
