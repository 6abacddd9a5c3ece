"""Figures of the relational probes, after those of Petroni et al. (2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.probes.lama.metrics import RAW
from hyperprobe.render.charts import short_name
from hyperprobe.render.figure import MARKERS, MUTED, SERIES, new_figure, styled


def p_at_k_figure(curves: pd.DataFrame) -> Any:
    """P@k against k on a logarithmic axis, a panel for each source, a line for each model.

    `curves` is the table of `hyperprobe.probes.lama.metrics.p_at_k`; the raw ranking is
    drawn (the paper's Figure 2).
    """
    raw = curves[curves["ranking"] == RAW]
    sources = list(dict.fromkeys(raw["source"]))
    models = list(dict.fromkeys(raw["model"]))
    with styled():
        figure, panels = new_figure(
            2.6 * len(sources), nrows=len(sources), sharex=True, squeeze=False
        )
        for panel, source in zip(panels[:, 0], sources, strict=True):
            of_source = raw[raw["source"] == source]
            for i, model in enumerate(models):
                line = of_source[of_source["model"] == model]
                panel.step(
                    line["k"], line["p_at_k"], where="post", color=SERIES[i % len(SERIES)],
                    marker=MARKERS[i % len(MARKERS)], markevery=[0], markersize=4,
                    label=short_name(model),
                )  # fmt: skip
            panel.set_xscale("log")
            panel.set_ylim(0, 100)
            panel.set_ylabel("percent of facts")
            panel.set_title(f"{short_name(source)}: right answer among the best k")
        panels[-1, 0].set_xlabel("k")
        panels[0, 0].legend()
    return figure


def correlations_figure(table: pd.DataFrame) -> Any:
    """Pearson correlations as a lower triangle, a panel for each source and model (Figure 3)."""
    parts = list(table.groupby(["source", "model"], sort=False))
    with styled():
        figure, panels = new_figure(3.2 * len(parts), nrows=len(parts), squeeze=False)
        for panel, ((source, model), part) in zip(panels[:, 0], parts, strict=True):
            columns = [c for c in part.columns if c not in ("source", "model", "metric")]
            values = part[columns].to_numpy(dtype=float)
            panel.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
            for i, j in np.argwhere(~np.isnan(values)):
                ink = "white" if abs(values[i, j]) > 0.6 else "black"
                panel.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", color=ink)
            panel.set_xticks(range(len(columns)), columns)
            panel.set_yticks(range(len(part)), part["metric"])
            panel.grid(visible=False)
            panel.set_title(f"{short_name(model)}, {short_name(source)}: Pearson")
    return figure


def mentions_figure(answers: pd.DataFrame) -> Any:
    """The mean rank of each fact's object over ten mentions, a box for each model (Figure 4)."""
    means = answers.groupby(["source", "model", "relation", "item"])["gold_rank"].mean()
    groups = list(means.groupby(level=["source", "model"], sort=False))
    names = [f"{short_name(model)}, {short_name(source)}" for (source, model), _ in groups]
    with styled():
        figure, axes = new_figure(1.0 + 0.5 * len(names))
        axes.boxplot(
            [part.to_numpy() for _, part in groups], orientation="horizontal", showfliers=False,
            tick_labels=names, medianprops={"color": SERIES[1]}, boxprops={"color": MUTED},
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlabel("mean rank over ten sentences")
    return figure
