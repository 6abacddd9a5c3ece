"""The figures of the zero-shot probes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.probes.zero_shot.outcomes import CALIBRATED
from hyperprobe.probes.zero_shot.tables import PROBE_NAMES
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.figure import GRID, MUTED, new_figure, styled

ROW = 0.2  # inches of height for one line of dots


def adds_figure(adds: pd.DataFrame) -> Any:
    """Each probe of each model, calibrated, joined to its control; hollow what both are raw."""
    with styled():
        lines = np.arange(len(adds))
        figure, axes = new_figure(0.95 + len(adds) * 0.3)
        axes.hlines(lines, adds["control_calibrated"], adds["calibrated"], color=MUTED)
        dots(axes, lines, adds, "calibrated", 0, "asked, calibrated")
        controls = adds.assign(model=adds["control"])
        dots(axes, lines, controls, "control_calibrated", 1, "control, calibrated")
        dots(axes, lines, adds, "raw", 0, "asked, raw", hollow=True)
        dots(axes, lines, controls, "control_raw", 1, "control, raw", hollow=True)
        several = adds["model"].nunique() > 1
        names = [
            f"{short_name(r.model)}, {PROBE_NAMES[r.probe]}" if several else PROBE_NAMES[r.probe]
            for r in adds.itertuples()
        ]
        name_rows(axes, names)
        percent_axis(axes)
        legend(figure, axes, 2)
    return figure


def accuracy_figure(metrics: pd.DataFrame) -> Any:
    """Each model in the singular, the plural, in context and paired, calibrated, with
    intervals."""
    with styled():
        n = len(metrics)
        figure, axes = new_figure(0.9 + n * len(PROBE_NAMES) * ROW * 0.9)
        for series, (metric, name) in enumerate(PROBE_NAMES.items()):
            lines = np.arange(n) + (series - 1.5) * 0.2
            dots(axes, lines, metrics, f"{metric}{CALIBRATED}", series, name)
        for line in range(1, n):
            axes.axhline(line - 0.5, color=GRID, linewidth=0.7)
        name_rows(axes, [short_name(name) for name in metrics["model"]])
        percent_axis(axes)
        legend(figure, axes, 3)
    return figure
