"""Siblings: a robin is a bird, no sparrow and no wing (foils as in BLESS, Baroni & Lenci 2011)."""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.paths import Paths, frequency
from hyperprobe.probes.consistency.plan import Items, Plan, Row, mean_over, row

PROBE = "siblings"
N_SIBLINGS, N_PARTS = 4, 2


def plan(items: Items, paths: Paths, template: str) -> Plan:
    """One question for each noun: its category against co-hyponyms and parts of its kind.

    The co-hyponyms are the most frequent of its category in the set, without synonyms and what is
    above or below it. Each word is calibrated over nouns of other categories. Chance is one of the
    words.
    """
    outside = items.outside_categories()
    members = {c: items.of_category(c) for c in outside}
    siblings = {c: _most_frequent(items, paths, members[c]) for c in outside}
    parts = {c: _parts(items, paths, members[c]) for c in outside}
    blocks = [
        Block(
            tuple(items.cloze(template, items.nouns[i]) for i in (*outside[c], *members[c])),
            CandidateSet.of([c, *(items.nouns[i] for i in siblings[c]), *parts[c]]),
        )
        for c in outside
    ]

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        for category, block, found in zip(outside, blocks, scores, strict=True):
            n, index = len(outside[category]), block.candidates.index
            bias = mean_over(found[:n])
            for i, scored in zip(members[category], found[n:], strict=True):
                others = [j for j in siblings[category] if not paths.related(i, j)][:N_SIBLINGS]
                words = [category, *(items.nouns[j] for j in others), *parts[category]]
                at = [index[word] for word in words]
                if len(words) > 1:
                    about = items.about(i)
                    made.append(row(PROBE, category, about, category, words, scored[at], bias[at]))
        return made

    return Plan(tuple(blocks), rows)


def _most_frequent(items: Items, paths: Paths, members: Sequence[int]) -> list[int]:
    """More of the most frequent members than are needed, since some are related to a noun."""
    known = set(paths.spelled([items.nouns[i] for i in members]))
    order = sorted(members, key=lambda i: (-frequency(items.nouns[i]), items.nouns[i]))
    return [i for i in order if items.nouns[i] in known][: 3 * N_SIBLINGS]


def _parts(items: Items, paths: Paths, members: Sequence[int]) -> list[str]:
    """The most frequent parts of a category's kind, or of the nearest kind above that has some."""
    i = next((i for i in members if paths.categories[i] is not None), None)
    if i is None:
        return []
    path = paths.path(i)
    node = paths.categories[i]
    above = path[path.index(node) :] if node in path else []
    parts = next((found for kind in above if (found := paths.taxonomy.parts(kind))), ())
    words = set(parts) - {*items.categories, *items.nouns}
    ordered = sorted(words, key=lambda word: (-frequency(word), word))
    return paths.spelled(ordered)[:N_PARTS]
