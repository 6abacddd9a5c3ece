"""The tags of the diagnostic items, from their spelling and WordNet: `tables/tags.tsv`.

`python -m recipe.tags` writes the table again; `hyperprobe.diagnostic.tags` says what each
tag means.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from hyperprobe.data.files import table
from hyperprobe.diagnostic.build import CATEGORIES, NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.lexicon.wordnet import open_wordnet, taxonomy_below

WATERCRAFT = ("vessel.n.02",)
# Eating, drinking and lodging houses.
BUSINESSES = (
    "restaurant.n.01",
    "hotel.n.01",
    "tavern.n.01",
    "lodging_house.n.01",
    "boarding_house.n.01",
    "guesthouse.n.01",
    "whorehouse.n.01",
)
# Nobody reads a "tree" in it.
_NOT_READ = frozenset(["streetcar"])


def tags(items: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """(lemma, tag) pairs of a diagnostic set."""
    below = {"watercraft": _below(WATERCRAFT), "business": _below(BUSINESSES)}
    shared = items["synset"].duplicated(keep=False)
    for item, has_synonym in zip(items.itertuples(), shared, strict=True):
        spelt = [c for c in CATEGORIES if c in item.hyponym]
        if item.hypernym in spelt:
            yield item.hyponym, "spells-category"
        elif spelt and item.hyponym not in _NOT_READ:
            yield item.hyponym, "spells-other"
        if has_synonym:
            yield item.hyponym, "shared-synset"
        for tag, synsets in below.items():
            if item.synset in synsets:
                yield item.hyponym, tag


def _below(tops: tuple[str, ...]) -> set[str]:
    wordnet = open_wordnet()
    found = {synset.name() for top in tops for synset in taxonomy_below(wordnet.synset(top))}
    return found | set(tops)


def write_tags(target: Path) -> None:
    """All tags of the shipped sets, sorted, one (lemma, tag) a line."""
    pairs = {pair for name in NAMES for pair in tags(load_diagnostic(name))}
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(("lemma", "tag"))
        writer.writerows(sorted(pairs))


if __name__ == "__main__":
    write_tags(table("tags.tsv"))
