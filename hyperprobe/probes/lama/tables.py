"""The terminal's tables of the relational probes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from hyperprobe.probes.lama.metrics import FILTERED, MACRO, MICRO, RAW
from hyperprobe.render.terminal import MISSING, percent, print_table

DROPPED_WORDS = {
    "n_no_label": "no label",
    "n_too_long": "too long",
    "n_not_in_vocabulary": "not in vocabulary",
    "n_several_tokens": "several tokens",
    "n_denied": "denied",
    "n_repeated": "repeated",
    "n_not_spelled": "letters unknown",
}
MAX_EXAMPLES = 8


def print_result(
    metrics: pd.DataFrame,
    facts: pd.DataFrame,
    tables: dict[str, pd.DataFrame],
    predictions: pd.DataFrame,
    seed: int,
) -> None:
    """Facts kept, P@1 per relation and in all, tests, and what was asked for besides."""
    print_facts(facts)
    print_relations(metrics)
    print_aggregates(metrics)
    print_examples(predictions, seed)
    if "consistency.csv" in tables:
        print_consistency(tables["consistency.csv"])
    if "negated.csv" in tables:
        print_negated(tables["negated.csv"])
    if "mentions.csv" in tables:
        print_mentions(tables["mentions.csv"])


def print_facts(facts: pd.DataFrame) -> None:
    """How many rows of each relation were kept, and why others were not."""
    reasons = [column for column in DROPPED_WORDS if facts[column].any()]
    print_table(
        "facts kept, and left out for what reason",
        ["relation", "rows", *(DROPPED_WORDS[reason] for reason in reasons), "kept"],
        [
            [f"{row['source']} {row['relation']}"]
            + [str(row[column]) for column in ("n_rows", *reasons, "n_facts")]
            for row in facts.to_dict("records")
        ],
    )


def print_relations(metrics: pd.DataFrame) -> None:
    """P@1 of every model on every relation, raw and filtered where they differ."""
    for source, own in metrics.groupby("source", sort=False):
        own = own[~own["relation"].isin((MACRO, MICRO))]
        own = own[own["relation"] != own["type"]]
        raw = own[own["ranking"] == RAW].pivot(index="relation", columns="model", values="p_at_1")
        filtered = own[own["ranking"] == FILTERED].pivot(
            index="relation", columns="model", values="p_at_1"
        )
        models = list(dict.fromkeys(own["model"]))
        first = own.drop_duplicates("relation").set_index("relation")
        print_table(
            f"{source}: P@1 in percent, raw / filtered",
            ["relation", "type", "facts", *models],
            [
                [
                    str(relation),
                    str(first["type"][relation]),
                    str(first["n_facts"][relation]),
                    *(
                        f"{percent(raw[m][relation])} / {percent(filtered[m][relation])}"
                        for m in models
                    ),
                ]
                for relation in first.index
            ],
        )


def print_aggregates(metrics: pd.DataFrame) -> None:
    """The means over relations (macro) and over facts (micro)."""
    for source, own in metrics.groupby("source", sort=False):
        parts = {m: own[own["relation"] == m].to_dict("records") for m in (MACRO, MICRO)}
        print_table(
            f"{source}: means over relations (macro) and facts (micro), in percent "
            "± half the 95 % interval",
            ["model", "ranking"]
            + [f"{mean} {name}" for mean in (MACRO, MICRO) for name in ("P@1", "P@10", "MRR")]
            + ["log p of gold"],
            [
                [str(macro["model"]), str(macro["ranking"])]
                + [text for row in (macro, micro) for text in _shares(row)]
                + [_number(micro["mean_log_prob"])]
                for macro, micro in zip(parts[MACRO], parts[MICRO], strict=True)
            ],
        )


def _shares(row: dict[Hashable, Any]) -> list[str]:
    return [
        percent(row["p_at_1"], row["p_at_1_low"], row["p_at_1_high"]),
        percent(row["p_at_10"], row["p_at_10_low"], row["p_at_10_high"]),
        f"{row['mrr']:.3f}",
    ]


def _number(value: float) -> str:
    return MISSING if value != value else f"{value:.2f}"


def print_examples(predictions: pd.DataFrame, seed: int) -> None:
    """One random fact of each relation and the model's five best answers (the paper's Table 3)."""
    model = predictions["model"].iloc[-1]
    own = predictions[predictions["model"] == model]
    picked = own.groupby(["source", "relation"], sort=False).sample(1, random_state=seed)
    print_table(
        f"{model}: a random fact of each relation, its five best answers and their log p",
        ["question", "right", "answers"],
        [
            [
                str(r.text),
                str(r.gold),
                ", ".join(f"{w} {s:.1f}" for w, s in zip(r.top[:5], r.top_scores[:5], strict=True)),
            ]
            for r in picked.head(MAX_EXAMPLES).itertuples()
        ],
    )


def print_consistency(table: pd.DataFrame) -> None:
    """Do paraphrases of the prompt get the same answer?"""
    print_table(
        "consistency over paraphrased prompts, in percent",
        ["relation", "model", "patterns", "mean P@1", "same answer", "all right"],
        [
            [
                str(r.relation),
                str(r.model),
                str(r.n_patterns),
                percent(r.p_at_1),
                percent(r.consistency),
                percent(r.consistent_p_at_1),
            ]
            for r in table.itertuples()
        ],
    )


def print_negated(table: pd.DataFrame) -> None:
    """Does the model mind a negation?"""
    print_table(
        "question and negation: same first answer in percent, rank correlation of all answers",
        ["relation", "model", "facts", "overlap@1", "Spearman"],
        [
            [str(r.relation), str(r.model), str(r.n_facts), percent(r.overlap), f"{r.spearman:.2f}"]
            for r in table.itertuples()
        ],
    )


def print_mentions(table: pd.DataFrame) -> None:
    """How much does the rank depend on the sentence?"""
    print_table(
        "rank of the object in ten sentences that mention the fact",
        ["model", "facts", "mean rank", "quartiles", "deviation between sentences"],
        [
            [
                str(r.model),
                str(r.n_facts),
                f"{r.mean_rank:.0f}",
                f"{r.rank_25:.0f}, {r.rank_50:.0f}, {r.rank_75:.0f}",
                f"{r.mean_deviation:.0f}",
            ]
            for r in table.itertuples()
        ],
    )
