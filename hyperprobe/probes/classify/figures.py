"""Figures of the classifier probes: accuracy by fold, and by layer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.probes.classify.metrics import NET, PAIR, accuracy_by_run
from hyperprobe.render.figure import INK, MARKERS, MUTED, model_colours, new_figure, styled

CHANCE = 50.0


def full_accuracies(predictions: pd.DataFrame) -> pd.DataFrame:
    """The accuracy of each net with a full input."""
    asked = predictions[(predictions["layer"] == "") & (predictions["input"] == "full")]
    runs = accuracy_by_run(asked)
    runs = runs[(runs["classifier"] == NET) & (runs["question"] == PAIR)]
    return runs[["setting", "model", "fold", "seed", "accuracy"]]


def folds_figure(runs: pd.DataFrame) -> Any:
    """A panel for each setting, a mark for each net of `full_accuracies`, a bar for the mean."""
    settings = list(dict.fromkeys(runs["setting"]))
    models = list(dict.fromkeys(runs["model"]))[::-1]
    colours = model_colours(models[::-1])
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
                    alpha=0.7, c=part["model"].map(colours).tolist(),
                    marker=MARKERS[i % len(MARKERS)],
                )  # fmt: skip
                panel.scatter([], [], s=10, color=INK, marker=MARKERS[i % len(MARKERS)],
                              label=f"fold {fold}")  # fmt: skip
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
    colours = model_colours(layers["model"])
    lines = dict(zip(dict.fromkeys(layers["setting"]), ("-", "--"), strict=False))
    with styled():
        figure, axes = new_figure(3.0)
        for i, ((setting, model), part) in enumerate(
            layers.groupby(["setting", "model"], sort=False)
        ):
            mean, deviation = part["accuracy_mean"], part["accuracy_std"]
            colour, marker = colours[model], MARKERS[i % len(MARKERS)]
            axes.plot(
                part["layer"], mean, lines[setting], color=colour, marker=marker,
                label=f"{model}, {setting}",
            )  # fmt: skip
            axes.fill_between(
                part["layer"], mean - deviation, mean + deviation, color=colour, alpha=0.2
            )
        axes.axhline(CHANCE, color=MUTED, linewidth=0.8, linestyle=":")
        axes.set_xticks(sorted(set(layers["layer"])))
        axes.set_xlabel("layer (0: the embeddings)")
        axes.set_ylabel("percent right")
        axes.legend()
    return figure
