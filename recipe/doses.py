"""Stage 7: what the finished text holds of each noun of the experiment, counted from the files.

Nothing here trusts the stage that wrote them: what must not be there is looked for again.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import BertTokenizer

from hyperprobe.analysis.corpus_counts import PairCounter
from hyperprobe.lexicon.morphology import plural
from hyperprobe.runs.files import write_frame
from recipe.arms import ARMS, WITHHELD
from recipe.batches import MAX_TOKENS
from recipe.tokens import TEXTS, word_counts

# What the dictionary and the sentences define: a headword list, and the subject.
_DEFINES = {
    "dictionary": re.compile(r"^([a-z' .,-]+?)(?: n)?: "),
    "sentences": re.compile(r"^(?:an?|the) ([a-z' -]+?) is "),
}


def write_arms(work: Path) -> None:
    """`arms.tsv` (see `table_of_doses`) and `arms_summary.tsv` (see `summary`)."""
    table = table_of_doses(work)
    write_frame(work / "arms.tsv", table)
    write_frame(work / "arms_summary.tsv", summary(table))


def table_of_doses(work: Path) -> pd.DataFrame:
    """One row per noun of the experiment, sorted.

    `lemma`, `category`, `arm`; `n_definitions` that the sources have and the rules
    can read; `n_exposures` and `n_tokens` (word pieces), what the text prints of them;
    `n_singular` and `n_plural`, all occurrences of the two forms in the text;
    `n_headword` and `n_statement`, other lines that define the noun or state its
    category in a Hearst pattern: 0 if the recipe kept its word.
    """
    table = pd.read_csv(work / "tossed.tsv", sep="\t", keep_default_na=False)
    table = table.sort_values("lemma", ignore_index=True)
    pairs = dict(zip(table["lemma"], table["category"], strict=True))
    singular_of = {plural(noun): noun for noun in pairs} | {noun: noun for noun in pairs}
    tokens, headword, stated = Counter[str](), Counter[str](), PairCounter(pairs)
    tokenizer = BertTokenizer.from_pretrained(work / "tokenizer")
    for name in TEXTS:
        with (work / f"{name}.txt").open(encoding="utf-8") as lines:
            for line in map(str.lower, lines):
                if name == "doses":
                    noun = next(n for text in _DEFINES for n in _defined(text, line) if n in pairs)
                    tokens[noun] += min(len(tokenizer.tokenize(line)), MAX_TOKENS - 2)
                    continue
                stated.add(line)
                headword.update(singular_of[n] for n in _defined(name, line) if n in singular_of)
    counts = word_counts(work)
    statements = stated.table().set_index("hyponym").drop(columns="hypernym").sum(axis=1)
    return table.assign(
        n_tokens=[tokens[noun] for noun in pairs],
        n_singular=[counts[noun] for noun in pairs],
        n_plural=[counts[plural(noun)] for noun in pairs],
        n_headword=[headword[noun] for noun in pairs],
        n_statement=[int(statements[noun]) for noun in pairs],
    )


def _defined(text: str, line: str) -> list[str]:
    """The words that a lower-case line of a text is a definition of."""
    match = _DEFINES[text].match(line) if text in _DEFINES else None
    return match[1].split(", ") if match else []


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row per arm, and one per (arm, category): means of the doses, and compliance.

    `n_nouns`; `n_defined`, nouns with a definition that can be printed; the means of
    the dose columns; of the logarithm of 1 + the occurrences that the recipe did not
    print (counts are skewed: "house" has a third of them); `breaches`, nouns with an
    `n_headword` or `n_statement`, and for withheld ones an exposure.
    """
    breach = (table["n_headword"] > 0) | (table["n_statement"] > 0)
    breach |= (table["arm"] == WITHHELD) & (table["n_exposures"] > 0)
    table = table.assign(
        breaches=breach,
        defined=table["n_definitions"] > 0,
        log_singular=np.log1p((table["n_singular"] - table["n_exposures"]).clip(lower=0)),
        log_plural=np.log1p(table["n_plural"]),
    )
    whole = table.assign(category="all")
    groups = pd.concat([whole, table]).groupby(["category", "arm"], sort=False)
    rows = groups.agg(
        n_nouns=("lemma", "size"),
        n_defined=("defined", "sum"),
        mean_definitions=("n_definitions", "mean"),
        mean_exposures=("n_exposures", "mean"),
        mean_tokens=("n_tokens", "mean"),
        mean_singular=("n_singular", "mean"),
        mean_plural=("n_plural", "mean"),
        mean_log_singular=("log_singular", "mean"),
        mean_log_plural=("log_plural", "mean"),
        breaches=("breaches", "sum"),
    ).round(2)
    order = rows.index.get_level_values("arm").map(ARMS.index)
    first = rows.index.get_level_values("category") != "all"
    return (
        rows.assign(order=order, first=first)
        .sort_values(["first", "category", "order"])
        .drop(columns=["order", "first"])
        .reset_index()
    )
