"""The numbers of prompt search, from a predictions frame alone (Zhong et al. 2021).

Predictions have one row per (source, relation, model, method, control, fact) of the
test parts: what `hyperprobe.probes.lama.predictions` says of an answer, and `dev_p_at_1`,
`n_train`, `train_majority` (the most frequent object of train), `helpful_name`.
Shares are percentages, rankings raw, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.probes.lama.metrics import MACRO, MICRO, RAW, TYPES, hits, reciprocal_ranks
from hyperprobe.statistics.intervals import interval, resampled_means

KEYS = ["source", "model", "method", "control"]
FACT = ["source", "relation", "model", "item"]
NONE, MANUAL, NAIVE_BAYES = "none", "manual", "naive-bayes"
# The means over facts that a row of a relation has.
SHARES = ("p_at_1", "p_at_1_majority", "elicits_majority", "p_at_1_easy", "p_at_1_hard",
          "p_at_1_uhn")  # fmt: skip


def mark_outcomes(predictions: pd.DataFrame) -> pd.DataFrame:
    """The frame with yes-no columns of each answer and fact.

    `right`; `is_majority`: the right object is the most frequent one of train;
    `elicits_majority`: the first answer is. `easy`: naive Bayes or any random
    control of the run has the fact right (section 5; the other facts are hard).
    """
    table = predictions.assign(
        right=hits(predictions, RAW, 1) == 1,
        is_majority=predictions["gold"] == predictions["train_majority"],
        elicits_majority=predictions["best"] == predictions["train_majority"],
    )
    guesses = (table["method"] == NAIVE_BAYES) | ~table["control"].isin((NONE, ""))
    guessed = (table["right"] & guesses).groupby([table[key] for key in FACT]).transform("max")
    return table.assign(easy=guessed.astype(bool))


def summarise_prompts(marked: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per (source, relation, model, method, control), then each type, `macro`, `micro`.

    `p_at_1` with its interval, `dev_p_at_1`; `p_at_1_majority`, the facts that are
    right and whose object is train's majority (Maj. in Table 8), and as
    `majority_of_correct` their share of what is right; `elicits_majority` (Figure 3);
    P@1 on easy, hard and UHN facts, NaN where there are none; `n_...` count facts.
    `macro` and the types are means over relations (the paper's "micro-averaged over
    relations"), with `n_better`, `n_equal` and `n_worse`, the relations on which P@1
    is above, at, below that of the manual prompt on the model itself.
    """
    manual = {
        key: 100 * part["right"].mean()
        for key, part in marked[(marked["method"] == MANUAL) & (marked["control"] == NONE)].groupby(
            ["source", "model", "relation"]
        )
    }
    rows = []
    for key, of_key in marked.groupby(KEYS, sort=False):
        about: dict[str, Any] = dict(zip(KEYS, key, strict=True))
        parts = []
        for i, (name, part) in enumerate(of_key.groupby("relation", sort=False)):
            row, means = _of_relation(part, seed + i)
            row |= {"relation": name, "type": part["type"].iloc[0]}
            row["manual"] = manual.get((about["source"], about["model"], name), np.nan)
            parts.append((row, means))
        groups = [(kind, [p for p in parts if p[0]["type"] == kind]) for kind in TYPES]
        rows += [{**about, **row} for row, _ in parts]
        rows += [{**about, **_mean(name, some)} for name, some in [*groups, (MACRO, parts)] if some]
        rows.append({**about, **_of_relation(of_key, seed)[0], "relation": MICRO, "type": ""})
    order = ["source", "relation", "type", "model", "method", "control"]
    table = pd.DataFrame(rows).drop(columns="manual")
    return table[[*order, *(column for column in table.columns if column not in order)]]


def _of_relation(part: pd.DataFrame, seed: int) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """The numbers of some facts, and the bootstrapped means of P@1 [n_resamples]."""
    right = part["right"].to_numpy(dtype=float)
    resampled = resampled_means(100 * right, seed)
    low, high = interval(resampled)
    n_right_majority = int((part["right"] & part["is_majority"]).sum())
    kept = {"easy": part["easy"], "hard": ~part["easy"], "uhn": ~part["helpful_name"]}
    row = {
        "n_train": int(part["n_train"].iloc[0]),
        "n_facts": len(part),
        **{f"n_{name}": int(mask.sum()) for name, mask in kept.items()},
        "dev_p_at_1": float(part["dev_p_at_1"].mean()),
        "p_at_1": 100 * float(right.mean()),
        "p_at_1_low": low,
        "p_at_1_high": high,
        "p_at_1_majority": 100 * n_right_majority / len(part),
        "majority_of_correct": 100 * n_right_majority / right.sum() if right.any() else np.nan,
        "elicits_majority": 100 * float(part["elicits_majority"].mean()),
        **{
            f"p_at_1_{name}": 100 * float(part["right"][mask].mean()) if mask.any() else np.nan
            for name, mask in kept.items()
        },
        "mrr": float(reciprocal_ranks(part, RAW).mean()),
    }
    return row, resampled


def _mean(name: str, parts: Sequence[tuple[dict[str, Any], NDArray[np.float64]]]) -> dict[str, Any]:
    """The means over relations, each counting the same."""
    table = pd.DataFrame([row for row, _ in parts])
    row: dict[str, Any] = {"relation": name, "type": name if name in TYPES else ""}
    row |= {key: int(table[key].sum()) for key in table if str(key).startswith("n_")}
    row |= {key: float(table[key].mean()) for key in ("dev_p_at_1", "mrr", *SHARES)}
    low, high = interval(np.mean([means for _, means in parts], axis=0))
    row |= {"p_at_1_low": low, "p_at_1_high": high}
    share = table["p_at_1_majority"].sum() / table["p_at_1"].sum() if row["p_at_1"] else np.nan
    row["majority_of_correct"] = 100 * share
    known = table["manual"].notna()
    difference = (table["p_at_1"] - table["manual"])[known].round(9)
    for column, count in (("n_better", difference > 0), ("n_equal", difference == 0),
                          ("n_worse", difference < 0)):  # fmt: skip
        row[column] = int(count.sum()) if known.any() else np.nan
    return row


# -- the paper's tables, in the layouts of its published figures ---------------------------


def paper_tables(metrics: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """File name -> table of the first model and source: the paper's 2 (with 3), 4, 6, 7, 8, 9."""
    first = metrics[metrics["source"] == metrics["source"].iloc[0]]
    of_model = first[first["model"] == first["model"].iloc[0]]
    of_model = of_model.assign(types=of_model["relation"].isin(TYPES))
    relations = of_model[~of_model["types"] & ~of_model["relation"].isin((MACRO, MICRO))]
    plain = of_model[of_model["control"].isin((NONE, ""))]
    plain_relations = relations[relations["control"].isin((NONE, ""))]
    return {
        "table2_overall.csv": _overall(plain),
        "table4_easy_hard.csv": _easy_hard(plain[plain["relation"] == MACRO]),
        "table6_models.csv": _models(first[first["relation"] == MACRO]),
        "table7_per_relation.csv": _per_relation(plain_relations),
        "table8_random_controls.csv": _controls(relations),
        "table9_easy_hard.csv": _easy_hard_relations(plain_relations),
    }


def _overall(plain: pd.DataFrame) -> pd.DataFrame:
    """Table 2, and with the classifiers Table 3: method, P@1 of each type, all, UHN."""
    wide = plain.pivot(index="method", columns="relation", values="p_at_1")
    uhn = plain[plain["relation"] == MACRO].set_index("method")["p_at_1_uhn"]
    columns = [kind for kind in TYPES if kind in wide] + [MACRO]
    table = wide[columns].rename(columns={MACRO: "all"}).assign(uhn=uhn)
    return table.loc[list(dict.fromkeys(plain["method"]))].reset_index()


def _easy_hard(macro: pd.DataFrame) -> pd.DataFrame:
    columns = {"p_at_1": "all", "p_at_1_easy": "easy", "p_at_1_hard": "hard"}
    counts = ["n_facts", "n_easy", "n_hard"]
    return macro[["method", *columns, *counts]].rename(columns=columns).reset_index(drop=True)


def _models(macro: pd.DataFrame) -> pd.DataFrame:
    asked = macro[macro["control"] != ""]
    wide = asked.pivot(index="method", columns=["model", "control"], values="p_at_1")
    wide.columns = [f"{model} {control}" for model, control in wide.columns]
    return wide.loc[list(dict.fromkeys(asked["method"]))].reset_index()


def _per_relation(plain: pd.DataFrame) -> pd.DataFrame:
    methods = list(dict.fromkeys(plain["method"]))
    keys = ["relation", "type", "n_facts"]
    wide = plain.pivot(index=keys, columns="method", values="p_at_1")[methods].reset_index()
    return _in_order(wide.rename(columns={"n_facts": "facts"}), plain)


def _controls(relations: pd.DataFrame) -> pd.DataFrame:
    """Table 8: of every control and method the majority's part of P@1, and P@1."""
    controls = relations[~relations["control"].isin((NONE, ""))]
    if controls.empty:
        return pd.DataFrame(columns=["relation", "type"])
    columns = {"p_at_1_majority": "majority", "p_at_1": "accuracy"}
    wide = controls.pivot(
        index=["relation", "type"], columns=["control", "method"], values=list(columns)
    )
    wide.columns = [
        f"{control}_{method}_{columns[value]}".replace("-", "_")
        for value, control, method in wide.columns
    ]
    return _in_order(wide[sorted(wide)].reset_index(), relations)


def _easy_hard_relations(plain: pd.DataFrame) -> pd.DataFrame:
    """Table 9: the size of both parts of every relation, and every method's P@1 on them."""
    methods = list(dict.fromkeys(plain["method"]))
    keys = ["relation", "type", "n_easy", "n_hard"]
    wide = plain.pivot(index=keys, columns="method", values=["p_at_1_easy", "p_at_1_hard"])
    table = wide.reset_index(level=["n_easy", "n_hard"])
    parts = {}
    for part in ("easy", "hard"):
        parts[f"{part}_facts"] = table[(f"n_{part}", "")]
        for method in methods:
            parts[f"{part}_{method}"] = table[(f"p_at_1_{part}", method)]
    return _in_order(pd.DataFrame(parts).reset_index(), plain)


def _in_order(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    order = list(dict.fromkeys(like["relation"]))
    rank = table["relation"].map({name: i for i, name in enumerate(order)})
    return table.iloc[np.argsort(rank.to_numpy(), kind="stable")].reset_index(drop=True)
