"""The figure of the zero-shot probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.probes.zero_shot.tables import PROBE_NAMES
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.figure import GRID, INK, new_figure, styled

ROW = 0.2  # inches of height for one line of dots


def accuracy_figure(metrics: pd.DataFrame) -> Any:
    """Each model in the singular, the plural, in context and in both numbers, with intervals.

    The tick is the paired accuracy of a model whose two answers were independent.
    """
    with styled():
        n = len(metrics)
        figure, axes = new_figure(0.9 + n * len(PROBE_NAMES) * ROW * 0.9)
        for series, (metric, name) in enumerate(PROBE_NAMES.items()):
            lines = np.arange(n) + (series - 1.5) * 0.2
            dots(axes, lines, metrics, metric, series, name)
            if metric == "paired_singular_plural":
                axes.plot(
                    metrics["paired_expected"], lines, "|", markersize=10, color=INK,
                    label="paired, if independent",
                )  # fmt: skip
        for line in range(1, n):
            axes.axhline(line - 0.5, color=GRID, linewidth=0.7)
        name_rows(axes, [short_name(name) for name in metrics["model"]])
        percent_axis(axes)
        legend(figure, axes, 3)
    return figure
