"""What horizontal charts are drawn from: dots with intervals, stacked bars, names, legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.render.figure import MARKERS, ON_SERIES, PAPER, SERIES

NAME_LENGTH = 26


def dots(axes: Any, lines: Any, table: pd.DataFrame, column: str, series: int, label: str) -> None:
    """One marker on each of `lines` with its interval, in the colour and shape of a series."""
    values = table[column].to_numpy(float)
    spread = None
    if f"{column}_low" in table:
        ends = table[[f"{column}_low", f"{column}_high"]].to_numpy(float)
        spread = np.abs(ends.T - values)
    axes.errorbar(
        values, lines, xerr=spread, fmt=MARKERS[series % len(MARKERS)], markersize=5,
        color=SERIES[series % len(SERIES)], elinewidth=1.2, label=label, linestyle="none",
    )  # fmt: skip


def short_name(model: str) -> str:
    """A name (see `labels.short_names`), its middle left out where it is too long for a chart."""
    if len(model) <= NAME_LENGTH:
        return model
    half = NAME_LENGTH // 2
    return f"{model[: half - 1]}…{model[-half:]}"


def name_rows(axes: Any, labels: Sequence[str]) -> None:
    """Name the lines of a horizontal chart, first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def percent_axis(axes: Any, label: str = "percent right") -> None:
    """A horizontal axis of percentages."""
    axes.set_xlim(-2, 102)
    axes.set_xlabel(label)


def legend(figure: Any, axes: Any, columns: int = 2) -> None:
    """What the series mean, above the chart."""
    from matplotlib.artist import Artist

    pairs = sorted(
        zip(*axes.get_legend_handles_labels(), strict=True),
        key=lambda pair: isinstance(pair[0], Artist),  # lines after containers of markers
    )
    figure.legend(
        *zip(*pairs, strict=True), loc="outside upper left", ncols=columns, handletextpad=0.4,
        columnspacing=1.2,
    )  # fmt: skip


def stacked(axes: Any, table: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Horizontal bars of shares with their numbers inside, where they fit."""
    left = np.zeros(len(table))
    colours = (SERIES[0], SERIES[2], SERIES[1], SERIES[3], SERIES[5])
    for (column, name), colour in zip(names.items(), colours, strict=False):
        width = table[column].to_numpy(float)
        axes.barh(
            range(len(table)), width, left=left, height=0.78, color=colour, label=name,
            edgecolor=PAPER, linewidth=1,
        )  # fmt: skip
        for row, (start, size) in enumerate(zip(left, width, strict=True)):
            if size >= 7:
                axes.text(
                    start + size / 2, row, f"{size:.0f}", ha="center", va="center",
                    color=ON_SERIES, fontsize=8.5, fontweight="bold",
                )  # fmt: skip
        left = left + width
    axes.grid(visible=False)
