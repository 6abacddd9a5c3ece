"""The terminal's tables of the classifier probes."""

from __future__ import annotations

import pandas as pd

from hyperprobe.render.terminal import MISSING, percent, print_table

SETTING_HEADERS = {"seen": "seen hypernyms", "unseen": "unseen hypernyms"}
PARTIAL_MARK = " (hypernym only)"


def print_accuracy(metrics: pd.DataFrame) -> None:
    """Accuracy by model and setting, laid out as the paper's Table 4."""
    settings = list(dict.fromkeys(metrics["setting"]))
    wide = metrics.set_index(["setting", "model", "input"])
    rows = []
    for model, view in dict.fromkeys(zip(metrics["model"], metrics["input"], strict=True)):
        cells = [wide.loc[(setting, model, view)] for setting in settings]
        name = f"{model}{PARTIAL_MARK if view == 'partial' else ''}"
        rows.append([name, *(_deviating(c["accuracy_mean"], c["accuracy_std"]) for c in cells)])
    n_runs = [metrics[c].max() for c in ("n_folds", "n_seeds")]
    print_table(
        f"accuracy of the probe: percent right ± standard deviation over {n_runs[0]} folds and "
        f"{n_runs[1]} seeds",
        ["model", *(SETTING_HEADERS[setting] for setting in settings)],
        rows,
        caption=unknown_note(metrics),
    )


def print_details(metrics: pd.DataFrame) -> None:
    """What stands beside the accuracy of each full input; what was not computed is left out."""
    full = metrics[(metrics["input"] == "full") & (metrics["model"] != "majority")]
    columns = {
        "accuracy": "accuracy_mean",
        "logistic": "logistic_mean",
        "false positives": "false_positive_share",
        "reversed rejected": "reversed_rejected",
        "control task": "control_mean",
        "selectivity": "selectivity",
        "compression": "compression_mean",
    }
    shown = {header: name for header, name in columns.items() if full[name].notna().any()}
    print_table(
        "beside the accuracy (percent; compression: times shorter than one bit a label)",
        ["setting", "model", *shown],
        [
            [
                str(row["setting"]),
                str(row["model"]),
                *(
                    _plain(row[name], 2 if name == "compression_mean" else 1)
                    for name in shown.values()
                ),
            ]
            for row in full.to_dict("records")
        ],
        caption="false positives: share of the errors. reversed rejected: bird - robin is no pair.",
    )


def print_layers(layers: pd.DataFrame) -> None:
    """Accuracy layer by layer, one column for each model and setting."""
    columns = list(dict.fromkeys(zip(layers["model"], layers["setting"], strict=True)))
    wide = layers.set_index(["layer", "model", "setting"])
    print_table(
        "accuracy by layer (0: the embeddings)",
        ["layer", *(f"{model}, {setting}" for model, setting in columns)],
        [
            [
                str(layer),
                *(
                    _deviating(*wide.loc[(layer, *column), ["accuracy_mean", "accuracy_std"]])
                    if (layer, *column) in wide.index
                    else MISSING
                    for column in columns
                ),
            ]
            for layer in sorted(set(layers["layer"]))
        ],
    )


def unknown_note(metrics: pd.DataFrame) -> str:
    """Which models lack vectors of words that the test asks about."""
    rows = metrics[(metrics["n_unknown"] > 0) & (metrics["input"] == "full")]
    notes = [
        f"{row['model']} has no vector for a word of {row['n_unknown']} of the {row['n_test']} "
        f"{row['setting']} test pairs: zeros in its place."
        for row in rows.to_dict("records")
    ]
    return " ".join(notes)


def _deviating(mean: float, deviation: float) -> str:
    return percent(mean, mean - deviation, mean + deviation)


def _plain(value: float, digits: int) -> str:
    return MISSING if value != value else f"{value:.{digits}f}"
