"""The numbers of the classifier probes, from a predictions frame alone.

The columns are those of `hyperprobe.probes.classify`. All shares are percentages, as in
the paper's Table 4 (Ravichander et al. 2020). Means and standard deviations are
over folds x seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.statistics.calibration import calibrated
from hyperprobe.statistics.ranks import more

NET, LOGISTIC = "net", "logistic"  # classifiers
PAIR, REVERSED, CONTROL = "pair", "reversed", "control"  # questions


def accuracy_by_run(predictions: pd.DataFrame) -> pd.DataFrame:
    """Percent right and `n_items` for each setting, model, input, classifier, layer, question,
    fold and seed."""
    keys = ["setting", "model", "input", "classifier", "layer", "question", "fold", "seed"]
    right = 1 - _errors(predictions)
    grouped = right.groupby([predictions[key] for key in keys], sort=False)
    table = grouped.agg(["mean", "size"]).reset_index()
    table["accuracy"] = 100 * table.pop("mean")
    return table.rename(columns={"size": "n_items"})


def summarise(predictions: pd.DataFrame, codes: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row per (setting, model, input), in the order of the frame; NaN where none applies.

    `accuracy_*` is the net's on the `n_test` test pairs, in `n_unknown` of which a word
    has no vector; log-odds of exactly zero count as half right; `false_positive_share` is of its
    errors; `accuracy_calibrated` and `false_positive_share_calibrated` are the same of
    `calibrated_pairs`; `reversed_rejected` is how many positive pairs it rejects when
    reversed; `logistic_*` is a logistic regression's accuracy; `control_*` the net's on
    the control task and `selectivity` the accuracy above it (Hewitt & Liang 2019,
    section 2.3), in points; `compression_*` how many times shorter than one bit a
    label the online code is (Voita & Titov 2020), from `codes`.
    """
    asked = predictions[predictions["layer"] == ""]
    runs = accuracy_by_run(asked)
    rows = []
    for (setting, model, view), of_model in runs.groupby(["setting", "model", "input"], sort=False):
        row: dict[str, Any] = {"setting": setting, "model": model, "input": view}
        net = of_model[(of_model["classifier"] == NET) & (of_model["question"] == PAIR)]
        row |= _mean_and_deviation("accuracy", net["accuracy"])
        row["n_folds"], row["n_seeds"] = net["fold"].nunique(), net["seed"].nunique()
        row["n_test"] = int(net.groupby("fold")["n_items"].first().sum())
        row["std_between_folds"] = net.groupby("fold")["accuracy"].mean().std()
        row["std_between_seeds"] = net.groupby("fold")["accuracy"].std().mean()
        answers = asked[
            (asked["setting"] == setting) & (asked["model"] == model) & (asked["input"] == view)
        ]
        row["n_unknown"] = count_unknown(answers)
        row["false_positive_share"] = false_positive_share(answers)
        pairs = calibrated_pairs(answers)
        row["accuracy_calibrated"] = accuracy_by_run(pairs)["accuracy"].mean()
        row["false_positive_share_calibrated"] = false_positive_share(pairs)
        backwards = of_model[(of_model["classifier"] == NET) & (of_model["question"] == REVERSED)]
        row["reversed_rejected"] = backwards["accuracy"].mean()
        logistic = of_model[(of_model["classifier"] == LOGISTIC) & (of_model["question"] == PAIR)]
        row |= _mean_and_deviation("logistic", logistic["accuracy"])
        control = of_model[of_model["question"] == CONTROL]
        row |= _mean_and_deviation("control", control["accuracy"])
        row["selectivity"] = row["accuracy_mean"] - row["control_mean"]
        row |= _mean_and_deviation("compression", _compression(codes, setting, model, view))
        rows.append(row)
    return pd.DataFrame(rows)


def count_unknown(predictions: pd.DataFrame) -> int:
    """How many test pairs have a word without a vector."""
    pairs = predictions[(predictions["question"] == PAIR) & ~predictions["known"]]
    return len(pairs.drop_duplicates(["fold", "hyponym", "hypernym"]))


def false_positive_share(predictions: pd.DataFrame) -> float:
    """Of the net's errors on test pairs, the percentage that say "hypernym"; NaN without any."""
    asked = predictions[(predictions["classifier"] == NET) & (predictions["question"] == PAIR)]
    errors = _errors(asked)
    false_positive = errors[asked["label"] != 1].sum()
    return float(100 * false_positive / errors.sum()) if errors.any() else float("nan")


def calibrated_pairs(predictions: pd.DataFrame) -> pd.DataFrame:
    """The net's answers on test pairs, without its liking of some hypernyms: from the log-odds of
    each pair the mean over the other hyponyms of the same hypernym is subtracted.

    Within a setting, model, fold and seed; no labels are used. A hypernym with one pair has zeros.
    """
    asked = predictions[(predictions["classifier"] == NET) & (predictions["question"] == PAIR)]
    keys = ["setting", "model", "input", "layer", "fold", "seed", "hypernym"]
    log_odds = asked.groupby(keys)["log_odds"].transform(
        lambda one: calibrated(one.to_numpy(float)[:, None])[:, 0]
    )
    return asked.assign(log_odds=log_odds)


def _errors(predictions: pd.DataFrame) -> pd.Series:
    """1 for a wrong answer, 0 for a right one; a half for log-odds of zero, which are no answer."""
    says_hypernym = more(predictions["log_odds"], 0)
    return (predictions["label"] - says_hypernym).abs()


def summarise_layers(predictions: pd.DataFrame) -> pd.DataFrame:
    """`accuracy_mean` and `accuracy_std` by setting, model and layer; empty without layers."""
    asked = predictions[(predictions["layer"] != "") & (predictions["question"] == PAIR)]
    runs = accuracy_by_run(asked[asked["classifier"] == NET])
    rows: list[dict[str, Any]] = []
    for (setting, model, layer), of_layer in runs.groupby(
        ["setting", "model", "layer"], sort=False
    ):
        row = {"setting": setting, "model": model, "layer": int(layer)}
        rows.append({**row, **_mean_and_deviation("accuracy", of_layer["accuracy"])})
    return pd.DataFrame(rows)


def _mean_and_deviation(name: str, values: pd.Series) -> dict[str, float]:
    """The mean and the standard deviation (n - 1); 0 for one value."""
    deviation = 0.0 if len(values) == 1 else values.std()
    return {f"{name}_mean": values.mean(), f"{name}_std": deviation}


def _compression(codes: pd.DataFrame | None, setting: str, model: str, view: str) -> pd.Series:
    if codes is None or codes.empty:
        return pd.Series(dtype=np.float64)
    of_model = codes[
        (codes["setting"] == setting) & (codes["model"] == model) & (codes["input"] == view)
    ]
    return of_model["n_labels"] / of_model["bits"]
