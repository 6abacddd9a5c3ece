"""The numbers of the relational probes, from a predictions frame alone.

Predictions have one row per (source, relation, model, prompt, fact); see
`hyperprobe.lama.predictions` for the columns. Two rankings:

- `raw`, as LAMA's reference code: every other candidate counts, also those that
  are right too; a rank beyond 10,000 earns nothing.
- `filtered`, as the paper describes (Petroni et al. 2019, section 4.4): other
  valid objects of the same subject and relation are taken out of the ranking.

Shares are percentages; MRR is a mean reciprocal rank between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.metrics.uncertainty import interval, mcnemar_exact, resampled_means

RAW, FILTERED = "raw", "filtered"
RANK = {RAW: "gold_rank", FILTERED: "filtered_rank"}
MAX_RAW_RANK = 10_000
MACRO, MICRO = "macro", "micro"
TYPES = ("1-1", "N-1", "N-M")
QUESTION = ["source", "relation", "model", "prompt", "text"]


def add_filtered_rank(predictions: pd.DataFrame) -> pd.DataFrame:
    """The frame with `filtered_rank`: `gold_rank` less the other valid objects above it.

    Valid objects of a question are the gold objects of all facts that ask it in
    the same words. Rank 0, an answer that cannot be scored, stays 0.
    """
    scored = predictions[predictions["gold_rank"] > 0]
    distinct = scored.drop_duplicates([*QUESTION, "gold"])
    above = distinct.groupby(QUESTION)["gold_rank"].rank(method="min") - 1
    keys = [*QUESTION, "gold"]
    table = distinct[keys].assign(above=above.astype(int))
    merged = predictions[keys].merge(table, on=keys, how="left")
    n_above = merged["above"].fillna(0).to_numpy(dtype=int)
    return predictions.assign(filtered_rank=predictions["gold_rank"].to_numpy() - n_above)


def reciprocal_ranks(predictions: pd.DataFrame, ranking: str) -> NDArray[np.float64]:
    """1 / rank, 0 for what has no rank or, in the raw ranking, one beyond 10,000."""
    ranks = predictions[RANK[ranking]].to_numpy(dtype=float)
    counts = ranks > 0
    if ranking == RAW:
        counts &= ranks <= MAX_RAW_RANK
    result: NDArray[np.float64] = np.divide(1.0, ranks, out=np.zeros_like(ranks), where=counts)
    return result


def hits(predictions: pd.DataFrame, ranking: str, k: int) -> NDArray[np.float64]:
    """1.0 where the gold object is among the first k, else 0.0."""
    ranks = predictions[RANK[ranking]].to_numpy()
    found: NDArray[np.float64] = ((ranks >= 1) & (ranks <= k)).astype(float)
    return found


def summarise_facts(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (source, relation, model, ranking), then each type, `macro` and `micro`.

    `macro` and the types are means over relations, the papers' number; `micro` is
    the mean over facts.
    """
    rows = []
    for (source, model), own in predictions.groupby(["source", "model"], sort=False):
        for ranking in (RAW, FILTERED):
            parts = [
                (str(name), str(part["type"].iloc[0]), _Outcomes.of(part, ranking, seed + i))
                for i, (name, part) in enumerate(own.groupby("relation", sort=False))
            ]
            everything = [outcomes for _, _, outcomes in parts]
            groups = [(name, kind, [outcomes]) for name, kind, outcomes in parts]
            for kind in TYPES:
                if of_kind := [outcomes for _, k, outcomes in parts if k == kind]:
                    groups.append((kind, kind, of_kind))
            pooled = _Outcomes.of(own, ranking, seed)
            groups += [(MACRO, "", everything), (MICRO, "", [pooled])]
            for name, kind, some in groups:
                row = {"source": source, "relation": name, "type": kind, "model": model}
                rows.append({**row, "ranking": ranking, **_summary(some)})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class _Outcomes:
    """What one group of facts gives: means, and the bootstrapped ones [n_resamples]."""

    n: int
    means: dict[str, float]
    resampled: dict[str, NDArray[np.float64]]
    mean_log_prob: float

    @classmethod
    def of(cls, part: pd.DataFrame, ranking: str, seed: int) -> _Outcomes:
        values = {
            "p_at_1": 100 * hits(part, ranking, 1),
            "p_at_10": 100 * hits(part, ranking, 10),
            "mrr": reciprocal_ranks(part, ranking),
        }
        # Of language models alone: the others' scores are no probabilities of a word.
        scores = part["gold_score"].where(part["n_subject_pieces"].notna())
        return cls(
            len(part),
            {key: float(value.mean()) for key, value in values.items()},
            {key: resampled_means(value, seed) for key, value in values.items()},
            float(scores.mean()),
        )


def _summary(groups: list[_Outcomes]) -> dict[str, Any]:
    """Means over `groups`, with bootstrap intervals over the facts in them."""
    row: dict[str, Any] = {"n_facts": sum(one.n for one in groups)}
    for key in groups[0].means:
        row[key] = float(np.mean([one.means[key] for one in groups]))
        edges = interval(np.mean([one.resampled[key] for one in groups], axis=0))
        row[f"{key}_low"], row[f"{key}_high"] = edges
    known = [one.mean_log_prob for one in groups if one.mean_log_prob == one.mean_log_prob]
    row["mean_log_prob"] = float(np.mean(known)) if known else float("nan")
    return row


def p_at_k(predictions: pd.DataFrame) -> pd.DataFrame:
    """P@k for every k at which it changes: mean over relations, as the paper's Figure 2."""
    rows = []
    for (source, model), own in predictions.groupby(["source", "model"], sort=False):
        for ranking in (RAW, FILTERED):
            ranks = [np.sort(part[RANK[ranking]].to_numpy()) for _, part in own.groupby("relation")]
            ks = np.unique(np.concatenate([[1], *ranks]))
            ks = ks[ks > 0]
            shares = [
                (np.searchsorted(r, ks, side="right") - np.searchsorted(r, 0, side="right"))
                / len(r)
                for r in ranks
            ]
            for k, share in zip(ks, np.mean(shares, axis=0), strict=True):
                key = {"source": source, "model": model, "ranking": ranking, "k": int(k)}
                rows.append({**key, "p_at_k": 100 * float(share)})
    return pd.DataFrame(rows)


def compare_on_facts(predictions: pd.DataFrame) -> pd.DataFrame:
    """Exact McNemar tests of P@1 between any two models, over all facts of a source."""
    rows = []
    keys = ["relation", "item"]
    for source, own in predictions.groupby("source", sort=False):
        for ranking in (RAW, FILTERED):
            right = {
                model: pd.Series(hits(part, ranking, 1), pd.MultiIndex.from_frame(part[keys]))
                for model, part in own.groupby("model", sort=False)
            }
            for (first, a), (second, b) in combinations(right.items(), 2):
                only_first, only_second, p = mcnemar_exact(a, b.reindex(a.index))
                rows.append((source, ranking, first, second, only_first, only_second, p))
    columns = ["source", "ranking", "model", "other", "only_model", "only_other", "p_value"]
    return pd.DataFrame(rows, columns=columns)


def consistency(predictions: pd.DataFrame) -> pd.DataFrame:
    """How often paraphrases of a prompt agree (Elazar et al. 2021, section 4.2).

    One row per (source, relation, model): `n_patterns`, mean `p_at_1` over them,
    `consistency`, the percentage of (fact, pair of patterns) with the same answer,
    and `consistent_p_at_1`, the percentage of facts that every pattern has right.
    """
    rows = []
    keys = ["source", "relation", "model"]
    for key, own in predictions.groupby(keys, sort=False):
        answers = own.pivot(index="item", columns="prompt", values="best").to_numpy()
        right = own.pivot(index="item", columns="prompt", values="gold_rank").to_numpy() == 1
        n = answers.shape[1]
        if n < 2:
            continue
        agree = [
            float(np.mean(answers[:, i] == answers[:, j])) for i, j in combinations(range(n), 2)
        ]
        row = dict(zip(keys, key, strict=True))
        rows.append(
            {
                **row,
                "n_patterns": n,
                "n_facts": len(answers),
                "p_at_1": 100 * float(right.mean()),
                "consistency": 100 * float(np.mean(agree)),
                "consistent_p_at_1": 100 * float(right.all(axis=1).mean()),
            }
        )
    return pd.DataFrame(rows)


# The names of Petroni et al. (2019), Figure 3.
FACTORS = {
    "SM": "subject_zipf",
    "OM": "object_zipf",
    "LPFP": "best_score",
    "SOCS": "cosine",
    "ST": "n_subject_words",
    "SWP": "n_subject_pieces",
}


def correlations(predictions: pd.DataFrame) -> pd.DataFrame:
    """Pearson correlations of P@1 with six properties of a fact (the paper's Figure 3).

    One row per (source, model, metric) in the layout of the published table:
    columns `SM ... SWP`, below the diagonal only. NaN where a property is constant.
    """
    rows = []
    for (source, model), own in predictions.groupby(["source", "model"], sort=False):
        if own["n_subject_pieces"].isna().all():
            continue  # no language model
        table = pd.DataFrame({name: own[column] for name, column in FACTORS.items()})
        table["P@1"] = hits(own, RAW, 1)
        matrix = table.astype(float).corr(method="pearson")
        for i, metric in enumerate([*FACTORS, "P@1"]):
            if i:
                below = {name: matrix.loc[metric, name] for name in list(FACTORS)[:i]}
                rows.append({"source": source, "model": model, "metric": metric, **below})
    return pd.DataFrame(rows)


def summarise_negated(answers: pd.DataFrame) -> pd.DataFrame:
    """Per (source, relation, model), and as `macro`: overlap@1 in percent, mean Spearman.

    The measures of Kassner & Schuetze (2020, section 2): high ones say that the
    model does not mind the negation.
    """
    keys = ["source", "relation", "model"]
    grouped = answers.groupby(keys, sort=False)
    table = grouped.agg(
        n_facts=("item", "size"), overlap=("overlap", "mean"), spearman=("spearman", "mean")
    ).reset_index()
    table["overlap"] *= 100
    macro = table.groupby(["source", "model"], sort=False, as_index=False).agg(
        n_facts=("n_facts", "sum"), overlap=("overlap", "mean"), spearman=("spearman", "mean")
    )
    return pd.concat([table, macro.assign(relation=MACRO)], ignore_index=True)[table.columns]


def summarise_mentions(answers: pd.DataFrame) -> pd.DataFrame:
    """Ranks over ten mentions of each fact, per (source, model): the paper's Figure 4.

    `n_facts`, quartiles over facts of the mean rank (`rank_25`, `rank_50`, `rank_75`),
    and the mean over facts of the standard deviation of the rank between mentions.
    """
    per_fact = answers.groupby(["source", "relation", "model", "item"])["gold_rank"].agg(
        ["mean", "std"]
    )
    rows = []
    for (source, model), own in per_fact.groupby(level=["source", "model"], sort=False):
        quartiles = {f"rank_{q}": float(own["mean"].quantile(q / 100)) for q in (25, 50, 75)}
        row = {"source": source, "model": model, "n_facts": len(own), **quartiles}
        rows.append({**row, "mean_rank": own["mean"].mean(), "mean_deviation": own["std"].mean()})
    return pd.DataFrame(rows)
