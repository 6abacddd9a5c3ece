"""Figures of the classifier probes: accuracy by fold, and by layer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.probes.classify.metrics import NET, PAIR, accuracy_by_run
from hyperprobe.render.figure import INK, MARKERS, MUTED, SERIES, new_figure, styled

CHANCE = 50.0


def folds_figure(predictions: pd.DataFrame) -> Any:
    """Accuracy of each net: a panel for each setting, a mark for each fold, a bar for the mean.

    Full inputs only.
    """
    asked = predictions[(predictions["layer"] == "") & (predictions["input"] == "full")]
    runs = accuracy_by_run(asked)
    runs = runs[(runs["classifier"] == NET) & (runs["question"] == PAIR)]
    settings = list(dict.fromkeys(runs["setting"]))
    models = list(dict.fromkeys(runs["model"]))[::-1]
    with styled():
        figure, panels = new_figure(
            (0.3 * len(models) + 0.6) * len(settings),
            nrows=len(settings),
            sharex=True,
            squeeze=False,
        )
        for panel, setting in zip(panels[:, 0], settings, strict=True):
            of_setting = runs[runs["setting"] == setting]
            for i, (fold, part) in enumerate(of_setting.groupby("fold")):
                panel.scatter(
                    part["accuracy"], part["model"].map(models.index) + 0.2 * (i - 1), s=10,
                    alpha=0.7, color=SERIES[i % len(SERIES)], marker=MARKERS[i % len(MARKERS)],
                    label=f"fold {fold}",
                )  # fmt: skip
            means = of_setting.groupby("model")["accuracy"].mean()
            heights = [models.index(model) for model in means.index]
            panel.scatter(means, heights, marker="|", s=200, color=INK)
            panel.axvline(CHANCE, color=MUTED, linewidth=0.8, linestyle=":")
            panel.set_yticks(range(len(models)), models)
            panel.set_title(f"{setting} hypernyms")
        panels[-1, 0].set_xlabel("percent right")
        panels[0, 0].legend()
    return figure


def layers_figure(layers: pd.DataFrame) -> Any:
    """Accuracy against layer, a line for each model and setting.

    The band is one standard deviation over folds and seeds.
    """
    with styled():
        figure, axes = new_figure(3.0)
        for i, ((setting, model), part) in enumerate(
            layers.groupby(["setting", "model"], sort=False)
        ):
            mean, deviation = part["accuracy_mean"], part["accuracy_std"]
            colour, marker = SERIES[i % len(SERIES)], MARKERS[i % len(MARKERS)]
            axes.plot(part["layer"], mean, color=colour, marker=marker, label=f"{model}, {setting}")
            axes.fill_between(
                part["layer"], mean - deviation, mean + deviation, color=colour, alpha=0.2
            )
        axes.axhline(CHANCE, color=MUTED, linewidth=0.8, linestyle=":")
        axes.set_xticks(sorted(set(layers["layer"])))
        axes.set_xlabel("layer (0: the embeddings)")
        axes.set_ylabel("percent right")
        axes.legend()
    return figure
