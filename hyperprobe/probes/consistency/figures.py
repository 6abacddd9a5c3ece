"""The figures of consistency runs: profile, level curve, agreement of probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.probes.consistency.metrics import OF_EACH_NOUN, PROBES
from hyperprobe.render.charts import heat_map, short_name
from hyperprobe.render.figure import INK, MARKERS, MUTED, model_colours, new_figure, styled
from hyperprobe.statistics.intervals import FEW


def profile_figure(profile: pd.DataFrame) -> Any:
    """A row of small bars for each model, one for each probe: what is right, with its interval,
    and a line at what needs no knowledge."""
    models = list(dict.fromkeys(profile["model"]))
    colours = model_colours(models)
    probes = [probe for probe in PROBES if probe in set(profile["probe"])]
    with styled():
        figure, panels = new_figure(0.7 + 0.95 * len(models), nrows=len(models), squeeze=False)
        for panel, model in zip(panels[:, 0], models, strict=True):
            rows = profile[profile["model"] == model].set_index("probe").reindex(probes)
            at = np.arange(len(probes))
            value = rows["calibrated"].to_numpy(float)
            ends = np.abs(rows[["calibrated_low", "calibrated_high"]].to_numpy(float).T - value)
            panel.bar(at, value, 0.62, color=colours[model], yerr=ends, ecolor=INK)
            needs_none = rows[["chance", "noun_alone"]].max(axis=1).to_numpy(float)
            panel.hlines(needs_none, at - 0.42, at + 0.42, color=INK, linewidth=2.2)
            for x in at[np.isnan(value)]:
                panel.text(x, 6, "–", ha="center", color=MUTED)
            panel.set(ylim=(0, 100), yticks=(0, 50, 100), xlim=(-0.6, len(probes) - 0.4))
            panel.set_title(short_name(model))
            panel.grid(visible=False, axis="x")
            panel.set_xticks(at, [""] * len(at))
        panels[-1, 0].set_xticks(at, probes, rotation=30, ha="right")
    return figure


def level_figure(levels: pd.DataFrame) -> Any:
    """Accuracy against steps up the taxonomy, a line for each model, and what a guess scores.

    As far as `FEW` nouns have a step.
    """
    levels = levels[levels["n_items"] >= min(FEW, levels["n_items"].max())]
    models = list(dict.fromkeys(levels["model"]))
    colours = model_colours(models)
    with styled():
        figure, axes = new_figure(2.6)
        for i, model in enumerate(models):
            line = levels[levels["model"] == model]
            colour, x = colours[model], line["distance"]
            axes.fill_between(
                x, line["calibrated_low"], line["calibrated_high"], color=colour, alpha=0.15,
                linewidth=0,
            )  # fmt: skip
            axes.plot(
                x, line["calibrated"], MARKERS[i % len(MARKERS)] + "-", color=colour,
                markersize=4, label=short_name(model),
            )  # fmt: skip
        longest = levels[levels["model"] == models[0]]
        axes.plot(longest["distance"], longest["chance"], ":", color=MUTED, label="guess")
        axes.set(ylim=(0, 100), xlabel="steps above the noun", ylabel="percent right, calibrated")
        axes.legend()
    return figure


def agreement_figure(agreement: pd.DataFrame) -> Any:
    """Correlations of the probes over nouns as lower triangles, a panel for each model."""
    models = list(dict.fromkeys(agreement["model"]))
    named = {*agreement["probe"], *agreement["other"]}
    probes = [probe for probe in OF_EACH_NOUN if probe in named]
    index = {probe: i for i, probe in enumerate(probes)}
    with styled():
        figure, panels = new_figure(2.9 * len(models), nrows=len(models), squeeze=False)
        for panel, model in zip(panels[:, 0], models, strict=True):
            matrix = np.full((len(probes), len(probes)), np.nan)
            for row in agreement[agreement["model"] == model].itertuples():
                i, j = sorted((index[str(row.probe)], index[str(row.other)]))
                matrix[j, i] = row.correlation
            heat_map(panel, matrix[1:, :-1], probes[1:], probes[:-1])
            panel.tick_params(axis="x", rotation=30)
            panel.set_title(short_name(model))
    return figure
