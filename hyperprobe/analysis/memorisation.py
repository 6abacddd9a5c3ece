"""Does a model know what it has read, or what it was told in the very form of the question?

Of the embedded model's headwords, a coin decided which had their definitions
printed as encyclopedia sentences ("A robin is a ...") and which in dictionary
form; so the difference between the two arms is the effect of having seen the
defining sentence, where Ravichander et al. (2020, section 3.4) could only
correlate (78.34 % on pairs seen in Wikipedia against 67.53 % on all). `pair_effect`
is that correlation, for any model and any corpus that was counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hyperprobe.analysis.corpus_counts import PATTERNS, CorpusCounts
from hyperprobe.analysis.outcomes import each_outcome
from hyperprobe.errors import UserError
from hyperprobe.names import EMBEDDED, EMBEDDED_FOLDER
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.statistics.intervals import bootstrap_difference

ARMS = ("sentence", "dictionary")
PROBES = ("singular", "plural", "paired_singular_plural", "contextual")


def load_coin() -> pd.DataFrame:
    """The toss of each diagnostic item, indexed by lemma."""
    return pd.read_csv(EMBEDDED_FOLDER / "coin.tsv", sep="\t", keep_default_na=False).set_index(
        "lemma"
    )


def memorisation_effect(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (diagnostic, probe): accuracy in both arms and their difference, in percent.

    Of the model `embedded` and its control prompt, for items that have a
    definition in its corpus at all: no rows where a set has none of them. Raises
    `UserError` when the run did not ask it.
    """
    if EMBEDDED not in set(predictions["model"]):
        raise UserError(
            f"the run did not ask {EMBEDDED}, the one model whose training text is known: "
            "run hyperprobe zero-shot without --model"
        )
    coin = load_coin()
    rows = []
    for model in (EMBEDDED, f"control:{EMBEDDED}"):
        for diagnostic, own in predictions[predictions["model"] == model].groupby(
            "diagnostic", sort=False
        ):
            right = outcome_table(own)
            right = right[right.index.isin(coin.index[coin["n_definitions"] > 0])]
            arm = coin["arm"].reindex(right.index)
            for probe in PROBES:
                first, second = (right[probe][arm == name].dropna() for name in ARMS)
                if first.empty or second.empty:
                    continue
                low, high = bootstrap_difference(first, second, seed)
                rows.append(
                    {
                        "diagnostic": diagnostic,
                        "model": model,
                        "probe": probe,
                        "n_sentence": len(first),
                        "sentence": 100 * first.mean(),
                        "n_dictionary": len(second),
                        "dictionary": 100 * second.mean(),
                        "difference": 100 * (first.mean() - second.mean()),
                        "difference_low": 100 * low,
                        "difference_high": 100 * high,
                    }
                )
    return pd.DataFrame(rows)


def pair_effect(
    predictions: pd.DataFrame, sources: Sequence[CorpusCounts], seed: int = 0
) -> pd.DataFrame:
    """Accuracy (percent) on pairs that a corpus has in a pattern and on those it has not.

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
                    low, high = bootstrap_difference(first, second, seed)
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
                            "difference": 100 * (first.mean() - second.mean()),
                            "difference_low": 100 * low,
                            "difference_high": 100 * high,
                        }
                    )
    return pd.DataFrame(rows)
