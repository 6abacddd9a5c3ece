"""Stage 6: what the training text says, counted: words, and pairs of hyponym and category."""

from __future__ import annotations

import csv
from pathlib import Path

from hyperprobe.analysis.corpus_counts import PairCounter
from hyperprobe.diagnostic.build import CATEGORIES, all_hyponyms, negated_pairs
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import open_wordnet
from hyperprobe.runs.files import write_frame
from recipe.tokens import TEXTS, word_counts


def write_tables(work: Path) -> None:
    """`corpus_words.tsv` (word, count) and `corpus_pairs.tsv` (one row per hyponym)."""
    pairs = {item.lemma: item.category for item in all_hyponyms(open_wordnet())}
    pairs |= {pair["hyponym"]: pair["hypernym"] for pair in negated_pairs()}
    counter = PairCounter(dict(sorted(pairs.items())))
    for name in TEXTS:
        with (work / f"{name}.txt").open(encoding="utf-8") as lines:
            for line in lines:
                counter.add(line.lower())
    counts = word_counts(work)
    words = sorted({*counter.singular_of, *CATEGORIES, *map(plural, CATEGORIES)})
    with (work / "corpus_words.tsv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t", lineterminator="\n")
        writer.writerow(("word", "count"))
        writer.writerows((word, counts[word]) for word in words)
    write_frame(work / "corpus_pairs.tsv", counter.table())
