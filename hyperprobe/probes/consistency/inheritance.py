"""Inheritance: a made-up noun gets its category from a premise (COMPS, Misra et al. 2023).

"A dax is a hammer. A wug is a robin. A wug is a [MASK].": bird against tool, in both orders of
the premises. The words of both premises are there to be picked up, so that only the noun that
links premise and question tells which one counts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.data.files import table
from hyperprobe.diagnostic.templates import Noun, statement
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.plan import Items, Matrix, Plan, Row, row
from hyperprobe.statistics.calibration import biases

PROBE = "inheritance"
PREMISE = "premise"  # one premise, about the made-up noun or about another one
ORDERS = ("other premise first", "other premise last")
ALONE, ELSEWHERE = "premise about it", "premise about another"
# Pairs of made-up nouns for each noun and question: the flavour of a name averages out. A single
# premise is there to compare with, and takes one pair.
N_PAIRS = {**dict.fromkeys(ORDERS, 2), ALONE: 1, ELSEWHERE: 1}
MOST_PAIRS = max(N_PAIRS.values())


def made_up_nouns() -> list[str]:
    """Pronounceable words that mean nothing; each begins with a consonant."""
    return table("made_up_nouns.tsv").read_text(encoding="utf-8").split()[1:]


def plan(items: Items, names: Sequence[str]) -> Plan:
    """Two questions for each noun, one for each order of the premises; chance is one half.

    The noun of the other premise is of another category: each noun of the set serves once. With
    them, as `premise`, a single premise with all categories to choose from.
    """
    candidates = CandidateSet.of(items.categories)
    others = other_nouns(items.gold)
    if len(names) < 2 * MOST_PAIRS or len(candidates) < 2:
        return Plan((), lambda scores: [])
    texts = {
        question: [
            tuple(_cloze(items, question, i, others[i], names, pair) for i in range(len(others)))
            for pair in range(n_pairs)
        ]
        for question, n_pairs in N_PAIRS.items()
    }
    blocks = [Block(clozes, candidates) for pairs in texts.values() for clozes in pairs]

    def rows(scores: Sequence[Scores]) -> list[Row]:
        made = []
        left = iter(scores)
        for question, n_pairs in N_PAIRS.items():
            of_pairs = [next(left).astype(float) for _ in range(n_pairs)]
            mean: Matrix = np.mean(of_pairs, axis=0)
            bias = biases(mean)
            for i, gold in enumerate(items.gold):
                asked = [gold, items.gold[others[i]]]
                if question not in ORDERS:
                    asked = list(range(len(candidates)))
                probe = PROBE if question in ORDERS else PREMISE
                words = [items.categories[c] for c in asked]
                right = items.categories[gold]
                about = items.about(i)
                made.append(
                    row(probe, question, about, right, words, mean[i, asked], bias[i, asked])
                )
        return made

    return Plan(tuple(blocks), rows)


def other_nouns(gold: Sequence[int]) -> list[int]:
    """For each noun the index of one of another category, each chosen once where that is possible.

    In the order of categories, the nouns are shifted by the size of the largest one.
    """
    shuffled = list(range(len(gold)))
    random.Random(0).shuffle(shuffled)
    order = sorted(shuffled, key=lambda i: gold[i])
    largest = max((gold.count(category) for category in set(gold)), default=0)
    found = [0] * len(gold)
    for k, i in enumerate(order):
        # (a category of more than half of the nouns meets itself: then the next one that differs)
        at = next(
            (
                j
                for step in range(len(order))
                if gold[j := order[(k + largest + step) % len(order)]] != gold[i]
            ),
            i,
        )
        found[i] = at
    return found


def _cloze(
    items: Items, question: str, i: int, other: int, names: Sequence[str], pair: int
) -> Cloze:
    template = items.of_set.templates.singular
    start = 2 * (i * MOST_PAIRS + pair)
    one, another = (names[(start + k) % len(names)] for k in range(2))
    premise = _premise(items, template, one, items.nouns[i])
    distractor = _premise(items, template, another, items.nouns[other])
    before = {
        ORDERS[0]: [distractor, premise],
        ORDERS[1]: [premise, distractor],
        ALONE: [premise],
        ELSEWHERE: [_premise(items, template, another, items.nouns[i])],
    }[question]
    return items.cloze(template, one, "".join(f"{text} " for text in before))


def _premise(items: Items, template: str, name: str, noun: str) -> str:
    known: Noun = items.of_set.noun(noun)
    return statement(template, items.of_set.noun(name), known)
