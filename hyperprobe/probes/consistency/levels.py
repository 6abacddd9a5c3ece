"""Levels: at each step of a noun's path up the taxonomy, the right word against its siblings.

After TaxoGlimpse (Sun et al. 2024), whose questions go from the root to the leaves. The
categories of a set are asked as well, for transitivity.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.paths import Level, Paths
from hyperprobe.probes.consistency.plan import Items, Matrix, Plan, Row, mean_over, row

PROBE = "levels"
STEPS = "steps"  # the same questions about the categories: "A bird is an animal."


def plan(items: Items, paths: Paths, template: str) -> Plan:
    """One question for each step from the noun's kind up. `distance` counts steps from the noun.

    Each word is calibrated over nouns that are no kinds of the parent. Chance is one of the words.
    """
    asked = [paths.levels(paths.path(i), noun) for i, noun in enumerate(items.nouns)]
    nodes = dict(zip(items.frame["hypernym"], paths.categories, strict=True))
    heads = category_levels(items, paths)
    nouns: dict[Level, list[int]] = {}
    for i, of_noun in enumerate(asked):
        for level in of_noun:
            nouns.setdefault(level, []).append(i)
    outside = {level: paths.outside(level.parent) for level in nouns}
    categories = {level: [c for c, of_head in heads.items() if level in of_head] for level in nouns}
    blocks = [
        Block(
            tuple(
                items.cloze(template, word)
                for word in (
                    *(items.nouns[i] for i in (*outside[level], *nouns[level])),
                    *categories[level],
                )
            ),
            level.candidates,
        )
        for level in nouns
    ]

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        for level, of_level in zip(nouns, scores, strict=True):
            n, m = len(outside[level]), len(nouns[level])
            bias = mean_over(of_level[:n])
            for i, found in zip(nouns[level], of_level[n : n + m], strict=True):
                about = {**items.about(i), "distance": asked[i][level]}
                # What is true of the noun in another way is no wrong answer.
                true = paths.true_words(paths.nodes[i])
                made.append(_row(PROBE, level, about, true, found, bias))
            for category, found in zip(categories[level], of_level[n + m :], strict=True):
                about = {"item": category, "hypernym": category, "synset": category}
                about["distance"] = heads[category][level]
                true = paths.true_words(nodes[category])
                made.append(_row(STEPS, level, about, true, found, bias))
        return made

    return Plan(tuple(blocks), rows)


def _row(
    probe: str, level: Level, about: Row, true: frozenset[str], found: Scores, bias: Matrix
) -> Row:
    words = level.candidates.words
    kept = [k for k, word in enumerate(words) if k == 0 or word not in true]
    asked = [words[k] for k in kept]
    return row(probe, level.node, about, asked[0], asked, found[kept], bias[kept])


def category_levels(items: Items, paths: Paths) -> dict[str, dict[Level, int]]:
    """Category -> the levels above it and their steps from it."""
    found: dict[str, dict[Level, int]] = {}
    for i, category in enumerate(items.frame["hypernym"]):
        node, path = paths.categories[i], paths.path(i)
        if node in path and category not in found:
            found[category] = paths.levels(path[path.index(node) + 1 :], category)
    return found
