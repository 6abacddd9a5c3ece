"""What is particular about some items of the shipped sets: `tables/tags.tsv`.

The tags say for which nouns a number should be looked at twice; no probe reads them.

- `spells-category`: the noun contains its category's name (`hummingbird`, `outbuilding`).
- `spells-other`: it contains another category's name (`ladybird`, an insect).
- `shared-synset`: another item of the same set has the same WordNet synset (`ax`, `axe`).
- `watercraft`: a vehicle on water.
- `business`: an eating, drinking or lodging house, whose name is the firm's as well as the
  building's.
"""

from __future__ import annotations

from collections.abc import Mapping

from hyperprobe.data.files import table as shipped
from hyperprobe.delimited import read_tsv
from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.errors import UserError, quoted

GIVEAWAY = "spells-category"
TAGS = (GIVEAWAY, "spells-other", "shared-synset", "watercraft", "business")


def load_tags() -> dict[str, tuple[str, ...]]:
    """Lemma -> its tags, in the order of `TAGS`; a lemma without tags is left out."""
    path = shipped("tags.tsv")
    found: dict[str, set[str]] = {}
    for number, row in read_tsv(path, ("lemma", "tag"), "table of tags"):
        if row["tag"] not in TAGS:
            raise UserError(
                f"{path}, line {number}: no tag {quoted(row['tag'])}: "
                f"write one of {', '.join(TAGS)}"
            )
        found.setdefault(row["lemma"], set()).add(row["tag"])
    return {lemma: tuple(tag for tag in TAGS if tag in own) for lemma, own in found.items()}


def tags_of(noun: str, category: str, table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The tags of an item, where `table` is that of `load_tags`: it is about the nine categories.

    Of any other, whether the noun contains its category's name.
    """
    if category in CATEGORIES:
        return table.get(noun, ())
    return (GIVEAWAY,) if category.lower() in noun.lower() else ()
