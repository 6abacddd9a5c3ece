"""Figures of the classifier probes: accuracy by fold, and by layer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.metrics.classification import NET, PAIR, accuracy_by_run
from hyperprobe.report.style import styled

CHANCE = 50.0


def figure_folds(predictions: pd.DataFrame) -> Any:
    """A matplotlib figure: accuracy of each net, a panel for each setting, a colour for each fold.

    Full inputs only; the black bar is the mean.
    """
    from matplotlib.figure import Figure

    asked = predictions[(predictions["layer"] == "") & (predictions["input"] == "full")]
    runs = accuracy_by_run(asked)
    runs = runs[(runs["classifier"] == NET) & (runs["question"] == PAIR)]
    settings = list(dict.fromkeys(runs["setting"]))
    models = list(dict.fromkeys(runs["model"]))[::-1]
    figure = Figure(figsize=(4.5 * len(settings), 0.45 * len(models) + 1.2), layout="constrained")
    panels = figure.subplots(1, len(settings), sharex=True, sharey=True, squeeze=False)[0]
    for panel, setting in zip(panels, settings, strict=True):
        own = runs[runs["setting"] == setting]
        for fold, part in own.groupby("fold"):
            height = part["model"].map(models.index) + 0.2 * (int(str(fold)) - 2)
            panel.scatter(part["accuracy"], height, s=14, alpha=0.7, label=f"fold {fold}")
        means = own.groupby("model")["accuracy"].mean()
        panel.scatter(means, [models.index(m) for m in means.index], marker="|", s=300, c="black")
        panel.axvline(CHANCE, color="grey", linewidth=0.8, linestyle=":")
        panel.set_title(f"{setting} hypernyms")
        panel.set_xlabel("percent right")
    panels[0].set_yticks(range(len(models)), models)
    panels[-1].legend(frameon=False, fontsize="small")
    return figure


def figure_layers(layers: pd.DataFrame) -> Any:
    """A matplotlib figure: accuracy against layer, a line for each model and setting.

    The band is one standard deviation over folds and seeds.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 3.5), layout="constrained")
    axes = figure.subplots()
    for (setting, model), own in layers.groupby(["setting", "model"], sort=False):
        mean, deviation = own["accuracy_mean"], own["accuracy_std"]
        axes.plot(own["layer"], mean, marker="o", label=f"{model}, {setting}")
        axes.fill_between(own["layer"], mean - deviation, mean + deviation, alpha=0.2)
    axes.axhline(CHANCE, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xticks(sorted(set(layers["layer"])))
    axes.set_xlabel("layer (0: the embeddings)")
    axes.set_ylabel("percent right")
    axes.legend(frameon=False, fontsize="small")
    return figure


def classify_figures(predictions: pd.DataFrame, layers: pd.DataFrame) -> dict[str, Any]:
    """File stem -> figure: `folds` and, where there are layers, `layers`."""
    with styled():
        figures = {"folds": figure_folds(predictions)}
        if len(layers):
            figures["layers"] = figure_layers(layers)
    return figures
