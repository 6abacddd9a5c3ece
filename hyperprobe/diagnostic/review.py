"""What a person should look at in a set that was filled in: `NAME.review.tsv`.

The marks are rules of thumb, and only for English; a form that the user gave is not doubted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pandas as pd

from hyperprobe.diagnostic.own_items import Entry
from hyperprobe.diagnostic.templates import Noun, Templates, fill_in
from hyperprobe.lexicon.morphology import heads_first, is_mass
from hyperprobe.lexicon.taxonomy import Taxonomy, path_up
from hyperprobe.lexicon.wordnet import count_senses

COLUMNS = (
    "noun", "role", "plural", "article", "check_forms", "check_item", "singular_prompt",
    "plural_prompt", "path",
)  # fmt: skip
NOUN, CATEGORY = "noun", "category"
# With more categories, only a noun's own is looked for in its spelling.
MOST_CATEGORIES = 100
# Endings with more than one plural in use; some of their nouns the morphology library has wrong.
_ENDING = re.compile(r"(s|z|o|i|[^aeiou]y|[aeo]ch|[^f]f|fe|[ei]x|man)$")
_MAY_BE_MASS = re.compile(r"(ware|wear|itis|osis|emia|algia|plegia|phobia|ness|ism|ics)$")
# Where spelling does not say how a word begins: a unicorn, an hour, a European, an NGO.
_ARTICLE = re.compile(
    r"(?i:u|eu|ew|once?\b|h(ou|on|ei|erb|om|is|ab))|[A-Z]{2,}|\w\b|[0-9]", re.ASCII
)
_PLAIN = re.compile(r"[^\W\d_]+([ '’-][^\W\d_]+)*")


def review_table(
    entries: Sequence[Entry],
    zipf: Sequence[float],
    given: Collection[str],
    templates: Templates,
    taxonomy: Taxonomy,
    wordnet: Any,
) -> pd.DataFrame:
    """One row for each category and noun, those with something to look at first.

    `check_forms` says what is doubtful about the plural and the article, `check_item` about the
    noun as an item; empty is fine. `path` is the path up the taxonomy that is used.
    """
    senses_of = wordnet if templates.is_english else None
    categories = list(dict.fromkeys(entry.hypernym for entry in entries))
    words = [category.singular for category in categories]
    rows: list[tuple[str, ...]] = [
        (*_about(category, CATEGORY, given, templates), "", "", "", "") for category in categories
    ]
    for entry, frequency in zip(entries, zipf, strict=True):
        noun = entry.hyponym
        item = "; ".join(_item_doubts(entry, frequency, words, senses_of))
        prompts = [
            fill_in(text, noun, entry.hypernym) for text in (templates.singular, templates.plural)
        ]
        up = path_up(taxonomy, entry.synset, entry.category) if entry.synset in taxonomy else []
        rows.append((*_about(noun, NOUN, given, templates), item, *prompts, " < ".join(up)))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    order = 2 * (table["check_forms"] == "") + (table["check_item"] == "")
    return table.iloc[order.argsort(kind="stable")].reset_index(drop=True)


def _about(
    noun: Noun, role: str, given: Collection[str], templates: Templates
) -> tuple[str, str, str, str, str]:
    doubts = "; ".join(form_doubts(noun, given)) if templates.is_english else ""
    return noun.singular, role, noun.plural, noun.article, doubts


def form_doubts(noun: Noun, given: Collection[str] = ()) -> Iterator[str]:
    """What is doubtful about the forms of an English noun, except those `given`."""
    word = noun.singular
    if f"{word} plural" not in given:
        yield from _plural_doubts(word, noun.plural)
    if f"{word} article" not in given and not is_mass(word) and _ARTICLE.match(word):
        yield f"article: {noun.article}?"
    if not _PLAIN.fullmatch(word):
        yield "spelling: other characters than letters"
    elif word[0].isupper():
        yield "spelling: a capital letter"


def _plural_doubts(word: str, many: str) -> Iterator[str]:
    if is_mass(word):
        yield "taken for a mass noun, without article and plural"
        return
    if _MAY_BE_MASS.search(word):
        yield "a mass noun?"
    if many == word:
        yield "plural: the same as the singular?"
    elif many not in (f"{word}s", f"{word}es", f"{word[:-1]}ies"):
        yield f"plural: {many}?"
    elif not many.endswith("ies") and _ENDING.search(word):
        yield f"plural: {many}, from -{_ENDING.search(word)[1]}?"  # type: ignore[index]
    if heads_first(word):
        yield "plural: of which of its words?"


def _item_doubts(
    entry: Entry, zipf: float, categories: Sequence[str], wordnet: Any
) -> Iterator[str]:
    word, category = entry.hyponym.singular, entry.hypernym.singular
    if category.lower() in word.lower():
        yield "spells its category"
    if len(categories) <= MOST_CATEGORIES:
        for other in categories:
            if other != category and other.lower() in word.lower():
                yield f"spells another category: {other}"
    if wordnet is not None:
        n_senses = count_senses(wordnet, word.replace(" ", "_"), "n")
        if n_senses > 1:
            yield f"{n_senses} senses as a noun in WordNet"
    if not math.isnan(zipf) and zipf == 0:
        yield "not in wordfreq: is it written so?"
