"""The terminal's tables of prompt search."""

from __future__ import annotations

import pandas as pd

from hyperprobe.probes.lama.metrics import MACRO, MICRO, TYPES
from hyperprobe.probes.prompts.metrics import NONE
from hyperprobe.render.terminal import MISSING, percent, print_table


def print_result(metrics: pd.DataFrame, splits: pd.DataFrame) -> None:
    """The facts, P@1 per relation, and what the controls make of it."""
    print_splits(splits)
    print_relations(metrics)
    print_overview(metrics)
    print_parts(metrics)


def label(method: str, control: str) -> str:
    """`optiprompt`, or `optiprompt random-model`."""
    return method if control in (NONE, "") else f"{method} {control}"


def print_splits(splits: pd.DataFrame) -> None:
    """How many facts each part has, and how frequent train's most frequent object is."""
    print_table(
        "facts: no pair of train or dev is in test",
        ["relation", "train", "dev", "test", "left out", "majority", "% of train", "% of test"],
        [
            [
                f"{row['source']} {row['relation']}",
                *(str(row[f"n_{part}"]) for part in ("train", "dev", "test")),
                str(row["n_rows"] - sum(row[f"n_{part}"] for part in ("train", "dev", "test"))),
                str(row["majority"] or MISSING),
                percent(row["majority_share_train"]),
                percent(row["majority_share_test"]),
            ]
            for row in splits.to_dict("records")
        ],
        "without a train or a test fact a relation is left out of the tables below",
    )


def _relations(metrics: pd.DataFrame) -> pd.DataFrame:
    return metrics[~metrics["relation"].isin((MACRO, MICRO, *TYPES))]


def print_relations(metrics: pd.DataFrame) -> None:
    """P@1 on test of every method on the model itself (the paper's Table 7)."""
    own = _relations(metrics)
    own = own[own["control"].isin((NONE, ""))]
    for (source, model), part in own.groupby(["source", "model"], sort=False):
        methods = list(dict.fromkeys(part["method"]))
        wide = part.pivot(index="relation", columns="method", values="p_at_1")
        first = part.drop_duplicates("relation").set_index("relation")
        print_table(
            f"{model} on {source}: P@1 on test facts, in percent",
            ["relation", "type", "train", "test", *methods],
            [
                [
                    str(name),
                    *(str(first[column][name]) for column in ("type", "n_train", "n_facts")),
                    *(percent(wide[method][name]) for method in methods),
                ]
                for name in first.index
            ],
        )


def print_overview(metrics: pd.DataFrame) -> None:
    """Means over relations; of it what is learned and not recalled (Figures 2 and 3)."""
    own = metrics[metrics["relation"] == MACRO]
    for (source, model), part in own.groupby(["source", "model"], sort=False):
        print_table(
            f"{model} on {source}: means over relations, in percent ± half the 95 % interval",
            ["method", "P@1", "dev", "majority right", "of what is right", "says majority",
             "manual: better/same/worse"],
            [
                [
                    label(str(r.method), str(r.control)),
                    percent(r.p_at_1, r.p_at_1_low, r.p_at_1_high),
                    percent(r.dev_p_at_1),
                    percent(r.p_at_1_majority),
                    percent(r.majority_of_correct),
                    percent(r.elicits_majority),
                    MISSING if r.n_better != r.n_better
                    else f"{r.n_better:.0f}/{r.n_equal:.0f}/{r.n_worse:.0f}",
                ]
                for r in part.itertuples()
            ],
            "majority right: facts that are right and whose object is the most frequent one of "
            "train; says majority: how often the first answer is that object",
        )  # fmt: skip


def print_parts(metrics: pd.DataFrame) -> None:
    """P@1 on the facts that the controls get right, on the others, and on UHN (Table 4)."""
    own = metrics[(metrics["relation"] == MACRO) & metrics["control"].isin((NONE, ""))]
    for (source, model), part in own.groupby(["source", "model"], sort=False):
        first = part.iloc[0]
        sizes = [f"{name} ({first[f'n_{name}']})" for name in ("easy", "hard", "uhn")]
        print_table(
            f"{model} on {source}: P@1 on parts of the test facts, means over relations",
            ["method", f"all ({first['n_facts']})", *sizes],
            [
                [
                    str(r.method),
                    *(
                        percent(value)
                        for value in (r.p_at_1, r.p_at_1_easy, r.p_at_1_hard, r.p_at_1_uhn)
                    ),
                ]
                for r in part.itertuples()
            ],
            "easy: naive Bayes or a random control has the fact right; uhn: the subject's name "
            "does not give the answer away",
        )
