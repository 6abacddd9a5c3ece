"""Typicality: is a robin more of a bird than a penguin, as people say? (Rosch 1975)"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.data.files import table
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.probes.consistency.paths import frequency
from hyperprobe.probes.consistency.plan import Items, Plan, Row, row
from hyperprobe.statistics.calibration import biases

PROBE = "typicality"


@cache
def ratings() -> pd.DataFrame:
    """`item, category, rating` of Rosch (1975), 1 the most typical and 7 the least.

    As typed in by Misra, Ettinger & Rayz (2021); MIT licence, see the folder.
    """
    return pd.read_csv(table("rosch1975") / "ratings.tsv", sep="\t", keep_default_na=False)


def plan(items: Items, template: str) -> Plan:
    """One question for each rated word of the set's categories, the categories to choose from."""
    rated = ratings()
    rated = rated[rated["category"].isin(items.categories) & (rated["item"] != rated["category"])]
    if rated.empty:
        return Plan((), lambda scores: [])
    candidates = CandidateSet.of(items.categories)
    clozes = tuple(items.cloze(template, word) for word in rated["item"])

    def rows(scores: Sequence[Scores]) -> list[Row]:
        bias = biases(scores[0].astype(float))
        made = []
        for i, rating in enumerate(rated.itertuples()):
            word, category = str(rating.item), str(rating.category)
            about: Row = {"item": word, "hypernym": category, "synset": f"{word} ({category})"}
            about |= {"zipf": frequency(word), "rating": float(str(rating.rating))}
            words = items.categories
            made.append(row(PROBE, category, about, category, words, scores[0][i], bias[i]))
        return made

    return Plan((Block(clozes, candidates),), rows)
