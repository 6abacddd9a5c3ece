"""The hypernymy diagnostic sets: WordNet nouns under nine everyday categories.

`lm-diagnostic` is the 18 pairs of Ettinger's (2020) NEG-136 simple stimuli;
`lm-diagnostic-extended` is built from WordNet after Ravichander et al. (2020,
section 2.1.2), who published its size (576) but not the rule that picked it.
Ours: the most frequent monosemous hyponyms, some of each category in any case,
after `tables/exclusions.tsv`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import pandas as pd

from hyperprobe.cloze import SLOT
from hyperprobe.data.files import table as shipped
from hyperprobe.diagnostic.sentences import shipped_probes
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.morphology import indefinite_article, plural
from hyperprobe.lexicon.wordnet import count_senses, open_wordnet, taxonomy_below

Monosemous = Literal["noun", "any"]

GROUPS: dict[str, tuple[str, ...]] = {
    "animals": ("bird", "insect", "fish"),
    "plants": ("tree", "flower", "vegetable"),
    "objects": ("vehicle", "tool", "building"),
}
CATEGORIES: tuple[str, ...] = tuple(word for words in GROUPS.values() for word in words)
GROUP_OF: dict[str, str] = {word: group for group, words in GROUPS.items() for word in words}

LM_DIAGNOSTIC = "lm-diagnostic"
LM_DIAGNOSTIC_EXTENDED = "lm-diagnostic-extended"
NAMES = (LM_DIAGNOSTIC, LM_DIAGNOSTIC_EXTENDED)
COLUMNS = (
    "hyponym",
    "hyponym_plural",
    "hypernym",
    "hypernym_plural",
    "group",
    "synset",
    "zipf",
    "singular",
    "plural",
    "control",
    "control_plural",
    "negated",
    "contextual",
)
PAPER_SIZE = 576
# Each category keeps so many items, however rare they are, or an equal share of a smaller
# size: `vegetable` has about a dozen, and is kept whole.
KEPT = 20


@dataclass(frozen=True)
class Hyponym:
    """A word under one of the nine categories."""

    lemma: str
    category: str
    synset: str


def _table(name: str) -> list[dict[str, str]]:
    with shipped(name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@cache
def excluded_lemmas() -> frozenset[str]:
    """Lemmas that reviewers took out; the table gives the reason for each."""
    return frozenset(row["lemma"] for row in _table("exclusions.tsv"))


def hyponyms_below(wordnet: Any, category: str, monosemous: Monosemous = "noun") -> list[Hyponym]:
    """All single-word, lower-case, one-sense nouns below `category`.n.01, sorted.

    `monosemous="noun"` asks for one noun sense, `"any"` for one sense over all
    parts of speech. Nothing is excluded by review yet.
    """
    found = lemmas_below(wordnet, f"{category}.n.01", monosemous)
    return [Hyponym(lemma, category, synset) for lemma, synset in found.items()]


def lemmas_below(wordnet: Any, synset: str, monosemous: Monosemous) -> dict[str, str]:
    """Those words below any synset, sorted, each with its own synset."""
    parts = "n" if monosemous == "noun" else "nvar"
    found: dict[str, str] = {}
    for below in taxonomy_below(wordnet.synset(synset)):
        for lemma in below.lemma_names():
            one_word = lemma.isascii() and lemma.isalpha() and lemma.islower()
            if one_word and count_senses(wordnet, lemma, parts) == 1:
                found[lemma] = below.name()
    return dict(sorted(found.items()))


def all_hyponyms(wordnet: Any, monosemous: Monosemous = "noun") -> Iterator[Hyponym]:
    """`hyponyms_below` for the nine categories in turn."""
    for category in CATEGORIES:
        yield from hyponyms_below(wordnet, category, monosemous)


def negated_pairs() -> list[dict[str, str]]:
    """The 18 stimuli: `hyponym`, `hypernym` and the `false_hypernym` of the negated context."""
    return _table("neg136_simple.tsv")


def build_diagnostic(
    name: str,
    size: int | None = PAPER_SIZE,
    monosemous: Monosemous = "noun",
    wordnet: Any = None,
) -> pd.DataFrame:
    """A diagnostic set as a frame with `COLUMNS`, one row per item.

    `name` is `lm-diagnostic` (18 fixed pairs; the other arguments do not apply)
    or `lm-diagnostic-extended`, of the `size` most frequent items (None: all).
    Raises `UserError` for an unknown name or a size that is out of range.
    """
    wordnet = wordnet or open_wordnet()
    if name == LM_DIAGNOSTIC:
        pairs = negated_pairs()
        items = [
            Hyponym(pair["hyponym"], pair["hypernym"], _sense_below(wordnet, **pair))
            for pair in pairs
        ]
        frame = pd.DataFrame([_row(item) for item in items], columns=list(COLUMNS))
        frame["false_hypernym"] = [pair["false_hypernym"] for pair in pairs]
        return frame
    if name != LM_DIAGNOSTIC_EXTENDED:
        raise unknown_set(name)
    items = [
        item for item in all_hyponyms(wordnet, monosemous) if item.lemma not in excluded_lemmas()
    ]
    frame = pd.DataFrame([_row(item) for item in items], columns=list(COLUMNS))
    if size is not None:
        frame = most_frequent(frame, size)
    order = frame["hypernym"].map(CATEGORIES.index)
    frame = frame.assign(order=order).sort_values(["order", "hyponym"], kind="stable")
    return frame.drop(columns="order").reset_index(drop=True)


def unknown_set(name: str) -> UserError:
    """The error for a name that no set has."""
    return UserError(f"unknown diagnostic set {quoted(name)}: choose from {', '.join(NAMES)}")


def _sense_below(wordnet: Any, hyponym: str, hypernym: str, **_: str) -> str:
    """The first sense of `hyponym` below `hypernym`.n.01; else its first (a rose is a shrub)."""
    top = wordnet.synset(f"{hypernym}.n.01")
    senses = wordnet.synsets(hyponym, "n")
    below = [s for s in senses if any(top in path for path in s.hypernym_paths())]
    return str((below or senses)[0].name())


def _row(item: Hyponym) -> tuple[Any, ...]:
    from wordfreq import zipf_frequency

    many = plural(item.lemma)
    subject = f"{indefinite_article(item.lemma).capitalize()} {item.lemma}"
    article = indefinite_article(item.category)
    return (
        item.lemma,
        many,
        item.category,
        plural(item.category),
        GROUP_OF[item.category],
        item.synset,
        zipf_frequency(item.lemma, "en"),
        f"{subject} is {article} {SLOT}.",
        f"{many.capitalize()} are {SLOT}.",
        f"{item.lemma} {SLOT}.",
        f"{many} {SLOT}.",
        f"{subject} is not {article} {SLOT}.",
        shipped_probes().get(item.lemma, ""),
    )


def n_kept(size: int, n_categories: int = len(CATEGORIES)) -> int:
    """How many of its most frequent items each category keeps in a set of `size`."""
    return min(KEPT, size // n_categories)


def most_frequent(frame: pd.DataFrame, size: int) -> pd.DataFrame:
    """The `n_kept` most frequent rows of each category, and the most frequent of the others.

    Ties are in alphabetical order. Raises `UserError` for a size that is out of range.
    """
    n_categories = frame["hypernym"].nunique()
    if not n_categories <= size <= len(frame):
        raise UserError(
            f"--size {size} is out of range: give a number from "
            f"{n_categories} (one item of each category) to {len(frame)} (all that there are)"
        )
    order = frame.sort_values(["zipf", "hyponym"], ascending=[False, True], kind="stable")
    is_kept = order.groupby("hypernym").cumcount() < n_kept(size, n_categories)
    kept, others = order[is_kept], order[~is_kept]
    return pd.concat([kept, others.head(size - len(kept))])
