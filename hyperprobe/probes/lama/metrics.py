"""The numbers of the relational probes, from a predictions frame alone.

Predictions have one row per (source, relation, model, prompt, fact); see
`hyperprobe.probes.lama.predictions` for the columns. Two rankings:

- `raw`, as LAMA's reference code: every other candidate counts, also those that
  are right too; a rank beyond 10,000 earns nothing. Candidates that tie have
  different ranks, in the order of the list.
- `filtered`, as the paper describes (Petroni et al. 2019, section 4.4): other
  valid objects of the same subject and relation are left out of the ranking. Of
  candidates that tie any order is as likely, and an outcome is the mean over them.

Shares are percentages; MRR is a mean reciprocal rank between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.names import RE_NAIVE, RE_ORACLE, RETRIEVE_READ
from hyperprobe.statistics.intervals import interval, resampled_means
from hyperprobe.statistics.ranks import reciprocal, success

LOOKED_UP = (RETRIEVE_READ, RE_NAIVE, RE_ORACLE)
RAW, FILTERED = "raw", "filtered"
MAX_RAW_RANK = 10_000
MACRO, MICRO = "macro", "micro"
TYPES = ("1-1", "N-1", "N-M")
GROUPS = {"sort": False, "observed": True}
QUESTION = ["source", "relation", "model", "prompt", "text"]
Values = dict[str, NDArray[np.float64]]  # metric -> what each fact adds to its mean


def add_filtered_rank(predictions: pd.DataFrame) -> pd.DataFrame:
    """The frame with `filtered_rank` and `filtered_tied`.

    The rank is 1 + the number of candidates with a higher score that are not valid
    objects of the question, and as many others tie as have the same score and are
    not valid. Valid are the gold objects of all facts that ask in the same words. The
    rank is never worse than the raw one, which counts those that tie and come first.
    Rank 0, an answer that cannot be scored, stays 0.
    """
    # In numbers: groups of texts take many times longer, and more memory.
    table = pd.DataFrame(
        {
            "question": predictions.groupby(QUESTION, **GROUPS).ngroup().to_numpy(),
            "gold": pd.factorize(predictions["gold"])[0],
            "best": (predictions["gold_rank"] - predictions["gold_tied_before"]).to_numpy(),
            "rank": predictions["gold_rank"].to_numpy(),
        }
    )
    keys = ["question", "gold"]
    distinct = table[table["rank"] > 0].drop_duplicates(keys)
    above = distinct.groupby("question")["best"].rank(method="min") - 1
    same = distinct.groupby(["question", "best"])["best"].transform("size") - 1
    valid = distinct[keys].assign(above=above, same=same)
    merged = table[keys].merge(valid, on=keys, how="left")
    n_above, n_same = (merged[name].fillna(0).to_numpy(dtype=int) for name in ("above", "same"))
    return predictions.assign(
        filtered_rank=table["best"].to_numpy() - n_above,
        filtered_tied=predictions["gold_tied"].to_numpy() - n_same,
    )


def _rank_and_ties(
    predictions: pd.DataFrame, ranking: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rank of each gold object, and how many others tie with it: none in the raw ranking."""
    if ranking == FILTERED:
        return predictions["filtered_rank"].to_numpy(), predictions["filtered_tied"].to_numpy()
    ranks = predictions["gold_rank"].to_numpy()
    return ranks, np.zeros_like(ranks)


def reciprocal_ranks(predictions: pd.DataFrame, ranking: str) -> NDArray[np.float64]:
    """1 / rank, 0 for what has no rank or, in the raw ranking, one beyond 10,000."""
    ranks, tied = _rank_and_ties(predictions, ranking)
    values = reciprocal(ranks, tied)
    return np.where(ranks <= MAX_RAW_RANK, values, 0.0) if ranking == RAW else values


def hits(predictions: pd.DataFrame, ranking: str, k: int) -> NDArray[np.float64]:
    """1.0 where the gold object is among the first k, else 0.0; a chance where it ties."""
    return success(*_rank_and_ties(predictions, ranking), k)


def by_model(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Source, model and its predictions, of each in turn."""
    grouped = predictions.groupby(["source", "model"], **GROUPS)
    if grouped.ngroups == 1:  # of millions of rows a copy is large
        yield *predictions[["source", "model"]].iloc[0], predictions
        return
    for (source, model), of_model in grouped:
        yield source, model, of_model


def summarise_facts(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (source, relation, model, ranking), then each type, `macro` and `micro`.

    `macro` and the types are means over relations, the papers' number; `micro` is
    the mean over facts. Of `n_facts` the model has a score for the objects of `n_scored`; the
    others count as wrong.
    """
    rows = []
    for source, model, of_model in by_model(predictions):
        for ranking in (RAW, FILTERED):
            parts: list[tuple[str, str, _Outcomes]] = []
            values: list[Values] = []
            for i, (name, part) in enumerate(of_model.groupby("relation", **GROUPS)):
                values.append(_values(part, ranking))
                outcomes = _Outcomes.of(part, values[-1:], seed + i)
                parts.append((str(name), str(part["type"].iloc[0]), outcomes))
            everything = [outcomes for _, _, outcomes in parts]
            groups = [(name, kind, [outcomes]) for name, kind, outcomes in parts]
            for kind in TYPES:
                if of_kind := [outcomes for _, k, outcomes in parts if k == kind]:
                    groups.append((kind, kind, of_kind))
            pooled = _Outcomes.of(of_model, values, seed)
            groups += [(MACRO, "", everything), (MICRO, "", [pooled])]
            for name, kind, some in groups:
                row = {"source": source, "relation": name, "type": kind, "model": model}
                rows.append({**row, "ranking": ranking, **_summary(some)})
    return pd.DataFrame(rows)


def _values(part: pd.DataFrame, ranking: str) -> Values:
    return {
        "p_at_1": 100 * hits(part, ranking, 1),
        "p_at_10": 100 * hits(part, ranking, 10),
        "mrr": reciprocal_ranks(part, ranking),
    }


@dataclass(frozen=True)
class _Outcomes:
    """The numbers of one group of facts: means, and the bootstrapped ones [n_resamples]."""

    n: int
    n_scored: int
    means: dict[str, float]
    resampled: dict[str, NDArray[np.float64]]
    mean_log_prob: float

    @classmethod
    def of(cls, part: pd.DataFrame, values: Sequence[Values], seed: int) -> _Outcomes:
        """Of the facts in `part`, whose outcomes are the `values` of one relation after another."""
        means, resampled = {}, {}
        for key in values[0]:
            of_facts = np.concatenate([one[key] for one in values])
            means[key] = float(of_facts.mean())
            resampled[key] = resampled_means(of_facts, seed)
        # Of language models alone: the others' scores are not probabilities of a word.
        scores = part["gold_score"].where(part["n_subject_pieces"].notna())
        # (what is looked up and not found is a wrong answer, and not one that cannot be given)
        n_scored = int(((part["gold_rank"] > 0) | part["model"].isin(LOOKED_UP)).sum())
        return cls(len(part), n_scored, means, resampled, float(scores.mean()))


def _summary(groups: list[_Outcomes]) -> dict[str, Any]:
    """Means over `groups`, with bootstrap intervals over the facts in them."""
    row: dict[str, Any] = {
        "n_facts": sum(one.n for one in groups),
        "n_scored": sum(one.n_scored for one in groups),
    }
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
    for source, model, of_model in by_model(predictions):
        for ranking in (RAW, FILTERED):
            rank, tied = _rank_and_ties(of_model, ranking)
            n_ranks = int((rank + tied).max()) + 1
            shares, changes = [], np.arange(n_ranks + 1) == 1
            for facts in of_model.groupby("relation", observed=True).indices.values():
                gained, some = _gains(rank[facts], tied[facts], n_ranks)
                shares.append(np.cumsum(gained) / len(facts))
                changes |= some
            mean = np.mean(shares, axis=0)
            for k in np.flatnonzero(changes):
                key = {"source": source, "model": model, "ranking": ranking, "k": int(k)}
                rows.append({**key, "p_at_k": 100 * float(mean[k])})
    return pd.DataFrame(rows)


def _gains(
    rank: NDArray[np.int64], tied: NDArray[np.int64], n_ranks: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What rank k adds to the successes at k [n_ranks + 1], and where it adds anything.

    A gold that ties counts in equal parts at every rank that it may have.
    """
    rank, tied = rank[rank > 0], tied[rank > 0]
    gained, n_open = np.zeros(n_ranks + 1), np.zeros(n_ranks + 1, dtype=np.int64)
    for sums, part in ((gained, 1 / (tied + 1)), (n_open, 1)):
        np.add.at(sums, rank, part)
        np.subtract.at(sums, rank + tied + 1, part)
    changes = np.cumsum(n_open) > 0
    return np.where(changes, np.cumsum(gained), 0.0), changes


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
    for source, model, of_model in by_model(predictions):
        if of_model["n_subject_pieces"].isna().all():
            continue  # no language model
        columns = {name: of_model[column] for name, column in FACTORS.items()}
        columns["P@1"] = pd.Series(hits(of_model, RAW, 1), of_model.index)
        for i, metric in enumerate(columns):
            if i:  # (two columns at a time: of millions of rows a matrix is large)
                below = {name: _pearson(columns[name], columns[metric]) for name in [*columns][:i]}
                rows.append({"source": source, "model": model, "metric": metric, **below})
    return pd.DataFrame(rows)


def _pearson(first: pd.Series, second: pd.Series) -> float:
    pair = pd.DataFrame({"first": first, "second": second}).astype(float)
    return float(pair.corr().loc["first", "second"])


def summarise_negated(answers: pd.DataFrame) -> pd.DataFrame:
    """Per (source, relation, model), and as `macro`: overlap@1 in percent, mean Spearman.

    The measures of Kassner & Schuetze (2020, section 2): high ones say that the
    model ignores the negation.
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
    for (source, model), of_model in per_fact.groupby(level=["source", "model"], sort=False):
        quartiles = {f"rank_{q}": float(of_model["mean"].quantile(q / 100)) for q in (25, 50, 75)}
        row = {"source": source, "model": model, "n_facts": len(of_model), **quartiles}
        rows.append(
            {**row, "mean_rank": of_model["mean"].mean(), "mean_deviation": of_model["std"].mean()}
        )
    return pd.DataFrame(rows)
