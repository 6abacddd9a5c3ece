"""Are pairs that occur in a corpus in a defining pattern known better than others?

For any model and any corpus that was counted; a correlation, as in Ravichander et al.
(2020, section 3.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from hyperprobe.analysis.base import Analysis, Material
from hyperprobe.analysis.corpus_counts import PATTERNS, CorpusCounts
from hyperprobe.analysis.outcomes import each_outcome, how_sure, probe_name, titled
from hyperprobe.render.table import Table, count, make_table, share, text
from hyperprobe.statistics.columns import difference_columns

PROBES = ("singular", "plural", "paired_singular_plural", "contextual")


def pair_effect(
    predictions: pd.DataFrame, sources: Sequence[CorpusCounts], seed: int = 0
) -> pd.DataFrame:
    """Accuracy (percent) on pairs that a corpus has in a pattern and on the others.

    One row per (source, pattern, diagnostic, model, probe): `n_seen`, `mean_count`
    (occurrences of a seen pair), `seen`, `n_unseen`, `unseen` and their
    `difference` with its interval. `any` is any of the patterns.
    """
    rows = []
    for source in sources:
        columns = [name for name in PATTERNS if name in source.pairs]
        counts = source.pairs.set_index(["hyponym", "hypernym"])[columns]
        counts = counts.assign(any=counts.sum(axis=1))
        for diagnostic, model, table in each_outcome(source.about(predictions)):
            pairs = pd.MultiIndex.from_frame(table[["hyponym", "hypernym"]])
            found = counts.reindex(pairs).set_axis(table.index)
            for pattern in (*columns, "any") if len(columns) > 1 else columns:
                for probe in PROBES:
                    known = table[probe].notna() & found[pattern].notna()
                    seen = known & (found[pattern] > 0)
                    first, second = table[probe][seen], table[probe][known & ~seen]
                    if first.empty or second.empty:
                        continue
                    rows.append(
                        {
                            "source": source.source,
                            "pattern": pattern.removeprefix("n_"),
                            "diagnostic": diagnostic,
                            "model": model,
                            "probe": probe,
                            "n_seen": len(first),
                            "mean_count": found[pattern][seen].mean(),
                            "seen": 100 * first.mean(),
                            "n_unseen": len(second),
                            "unseen": 100 * second.mean(),
                            **difference_columns(first, second, seed),
                        }
                    )
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    any_or_only = (table["pattern"] == "any") | (
        ~table["source"].isin(table["source"][table["pattern"] == "any"])
    )
    chosen = table[any_or_only]
    yield make_table(
        titled(table, "pairs that occur in a corpus, and pairs that do not (percent right)"),
        chosen[chosen["probe"].isin(("singular", "plural", "paired_singular_plural"))],
        {
            "model": text("model"),
            "probe": probe_name,
            "corpus": text("source"),
            "pattern": lambda row: str(row["pattern"]).replace("_", " "),
            "in it": share("seen"),
            "n": count("n_seen"),
            "not in it": share("unseen"),
            "n ": count("n_unseen"),
            "difference": share("difference"),
        },
        "A correlation: nouns that occur in such a pattern are also more frequent. Each pattern "
        "by itself is in the file.",
        "pairs.csv",
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[-1]
    return (
        f"where {row['source']} says that the noun is one of its "
        f"category, {model} is right on {row['seen']:.1f} %, elsewhere on {row['unseen']:.1f} % "
        f"({how_sure(row)})."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    return {"pairs": pair_effect(material.predictions, material.counts, material.seed)}


ANALYSIS = Analysis(
    name="pairs",
    title="Memorisation",
    words="Are pairs that occur in a corpus known better than others?",
    files=("pairs",),
    compute=_compute,
    tables={"pairs": _tables},
    lead="Memorisation, by correlation",
    sentence=_sentence,
    reason=lambda material: "no corpus was counted that has some of the pairs and not others",
    within="coin",
)
