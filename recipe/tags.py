"""What is particular about an item, from its spelling and WordNet: `tables/tags.tsv`.

`python -m recipe.tags` writes the table anew. Tags say on which nouns a number should
be looked at twice; no probe reads them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from hyperprobe.diagnostic.build import CATEGORIES, NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.lexicon.wordnet import open_wordnet, taxonomy_below

TARGET = Path("hyperprobe/data/tables/tags.tsv")
WATERCRAFT = ("vessel.n.02",)
# Holds "tree" by chance, as nobody reads it.
_NOT_READ = frozenset(["streetcar"])
# Eating, drinking and lodging houses: the word means the firm as often as its building.
BUSINESSES = (
    "restaurant.n.01",
    "hotel.n.01",
    "tavern.n.01",
    "lodging_house.n.01",
    "boarding_house.n.01",
    "guesthouse.n.01",
    "whorehouse.n.01",
)


def tags(items: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """(lemma, tag) pairs of a diagnostic frame.

    `spells-category`: the noun holds its category's name (catfish, outbuilding).
    `spells-other`: it holds another's (ladybird, an insect).
    `shared-synset`: another item has the same WordNet synset, a synonym.
    `watercraft`: a vehicle on water. `business`: a building named for its trade.
    """
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
    return {synset.name() for top in tops for synset in taxonomy_below(wordnet.synset(top))} | set(
        tops
    )


def write_tags(target: Path = TARGET) -> None:
    """All tags of the shipped sets, sorted, one (lemma, tag) a line."""
    items = pd.concat([load_diagnostic(name) for name in NAMES])
    items = items.drop_duplicates("hyponym")
    with target.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(("lemma", "tag"))
        writer.writerows(sorted(set(tags(items))))


if __name__ == "__main__":
    write_tags()
