"""Figures of the relational probes, after those of Petroni et al. (2019)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.probes.lama.metrics import RAW
from hyperprobe.render.charts import heat_map, short_name
from hyperprobe.render.figure import INK, MARKERS, MUTED, model_colours, new_figure, styled


def p_at_k_figure(curves: pd.DataFrame) -> Any:
    """P@k against k on a logarithmic axis, a panel for each source, a line for each model.

    `curves` is the table of `hyperprobe.probes.lama.metrics.p_at_k`; the raw ranking is
    drawn (the paper's Figure 2).
    """
    raw = curves[curves["ranking"] == RAW]
    sources = list(dict.fromkeys(raw["source"]))
    models = list(dict.fromkeys(raw["model"]))
    colours = model_colours(models)
    with styled():
        figure, panels = new_figure(
            2.6 * len(sources), nrows=len(sources), sharex=True, squeeze=False
        )
        for panel, source in zip(panels[:, 0], sources, strict=True):
            of_source = raw[raw["source"] == source]
            for i, model in enumerate(models):
                line = of_source[of_source["model"] == model]
                panel.step(
                    line["k"], line["p_at_k"], where="post", color=colours[model],
                    marker=MARKERS[i % len(MARKERS)], markevery=[0], markersize=4,
                    label=short_name(model),
                )  # fmt: skip
            _logarithmic(panel)
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
            heat_map(panel, values, list(part["metric"]), columns)
            panel.set_title(f"{short_name(model)}, {short_name(source)}: Pearson")
    return figure


def _logarithmic(axes: Any) -> None:
    """A logarithmic axis with plain numbers (powers would need mathematical text)."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")


def mentions_figure(answers: pd.DataFrame) -> Any:
    """The mean rank of each fact's object over ten mentions, a box for each model (Figure 4)."""
    means = answers.groupby(["source", "model", "relation", "item"])["gold_rank"].mean()
    groups = list(means.groupby(level=["source", "model"], sort=False))
    names = [f"{short_name(model)}, {short_name(source)}" for (source, model), _ in groups]
    with styled():
        figure, axes = new_figure(1.0 + 0.5 * len(names))
        axes.boxplot(
            [part.to_numpy() for _, part in groups], orientation="horizontal", showfliers=False,
            tick_labels=names, medianprops={"color": INK}, boxprops={"color": MUTED},
        )  # fmt: skip
        _logarithmic(axes)
        axes.set_xlabel("mean rank over ten sentences")
    return figure
