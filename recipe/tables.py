"""Stage 6: what the training text says, counted: words, and pairs of hyponym and category."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from hyperprobe.diagnostic import CATEGORIES, all_hyponyms, negated_pairs
from hyperprobe.morphology import plural
from hyperprobe.wordnet import open_wordnet
from recipe.tokens import TEXTS, word_counts

_WORD = r"([a-z]+)"


def patterns(category: str) -> dict[str, re.Pattern[str]]:
    """Name -> pattern whose one group is the hyponym: the probes' own form, and Hearst's (1992)."""
    many = plural(category)
    hearst = (
        rf"\b{many},? such as (?:an? |the )?{_WORD}",
        rf"\bsuch {many} as (?:an? |the )?{_WORD}",
        rf"\b{_WORD},? (?:and|or) other {many}\b",
        rf"\b{many},? (?:including|especially) (?:an? |the )?{_WORD}",
    )
    return {
        "n_is_a": re.compile(rf"\b{_WORD} is an? {category}\b"),
        "n_are": re.compile(rf"\b{_WORD} are {many}\b"),
        **{f"hearst {i}": re.compile(pattern) for i, pattern in enumerate(hearst)},
    }


def write_tables(work: Path) -> None:
    """`corpus_words.tsv` (word, count) and `corpus_pairs.tsv` (one row per hyponym)."""
    pairs = {item.lemma: item.category for item in all_hyponyms(open_wordnet())}
    pairs |= {pair["hyponym"]: pair["hypernym"] for pair in negated_pairs()}
    singular_of = {plural(lemma): lemma for lemma in pairs} | {lemma: lemma for lemma in pairs}
    compiled = {category: patterns(category) for category in CATEGORIES}
    found: Counter[tuple[str, str]] = Counter()
    for name in TEXTS:
        with (work / f"{name}.txt").open(encoding="utf-8") as lines:
            for line in lines:
                text = line.lower()
                for category, tests in compiled.items():
                    if category not in text:
                        continue
                    for column, pattern in tests.items():
                        for match in pattern.finditer(text):
                            lemma = singular_of.get(match[1])
                            if lemma and pairs[lemma] == category:
                                found[lemma, column.split()[0].replace("hearst", "n_hearst")] += 1
    counts = word_counts(work)
    words = sorted({*singular_of, *CATEGORIES, *map(plural, CATEGORIES)})
    _write(work / "corpus_words.tsv", ("word", "count"), [(word, counts[word]) for word in words])
    columns = ("n_is_a", "n_are", "n_hearst")
    _write(
        work / "corpus_pairs.tsv",
        ("hyponym", "hypernym", *columns),
        [(lemma, pairs[lemma], *(found[lemma, c] for c in columns)) for lemma in sorted(pairs)],
    )


def _write(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
