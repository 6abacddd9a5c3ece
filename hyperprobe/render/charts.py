"""What charts are drawn from: dots with intervals, stacked bars, heat maps, names, legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.render.figure import (
    INK,
    MARKERS,
    N_DARK_TONES,
    ON_SERIES,
    PAPER,
    TONES,
    model_colours,
)

NAME_LENGTH = 26


def dots(
    axes: Any, lines: Any, table: pd.DataFrame, column: str, series: int, label: str,
    hollow: bool = False,
) -> None:  # fmt: skip
    """One marker on each of `lines` with its interval, in the shape of a series and the colour of
    its row's model; `hollow` has no interval."""
    values, lines = table[column].to_numpy(float), np.asarray(lines, float)
    spread = None
    if f"{column}_low" in table and not hollow:
        ends = table[[f"{column}_low", f"{column}_high"]].to_numpy(float)
        spread = np.abs(ends.T - values)
    colours = colours_of_rows(table)
    look = {"marker": MARKERS[series % len(MARKERS)], "markersize": 5, "linestyle": "none"}
    fill = {"markerfacecolor": "none"} if hollow else {}
    for colour in dict.fromkeys(colours):
        rows = np.array([one == colour for one in colours])
        axes.errorbar(
            values[rows], lines[rows], xerr=None if spread is None else spread[:, rows],
            color=colour, elinewidth=1.2, **look, **fill,
        )  # fmt: skip
    axes.plot([], [], color=INK if len(set(colours)) > 1 else colours[0], label=label,
              **look, **fill)  # fmt: skip


def colours_of_rows(table: pd.DataFrame) -> list[str]:
    """The colour of each row's model; ink where rows are of none."""
    if "model" not in table:
        return [INK] * len(table)
    colours = model_colours(table["model"])
    return [colours[str(model)] for model in table["model"]]


def heat_map(
    axes: Any, values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Correlations [rows, columns] with their numbers, purple above zero and orange below."""
    axes.pcolormesh(values[::-1], cmap="PuOr", vmin=-1, vmax=1)
    n = len(rows)
    for i, j in np.argwhere(~np.isnan(values)):
        value = values[i, j]
        ink = "#fefefe" if abs(value) > 0.6 else "#000000"  # on both pages: the cells are the same
        axes.text(j + 0.5, n - i - 0.5, f"{value:.2f}", ha="center", va="center", color=ink)
    axes.set_yticks(np.arange(n)[::-1] + 0.5, rows)
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns)
    axes.grid(visible=False)


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
    """Horizontal bars of shares, dark to light, with their numbers inside, where they fit."""
    left = np.zeros(len(table))
    for i, (column, name) in enumerate(names.items()):
        width = table[column].to_numpy(float)
        axes.barh(
            range(len(table)), width, left=left, height=0.78, color=TONES[i], label=name,
            edgecolor=PAPER, linewidth=1,
        )  # fmt: skip
        for row, (start, size) in enumerate(zip(left, width, strict=True)):
            if size >= 7:
                axes.text(
                    start + size / 2, row, f"{size:.0f}", ha="center", va="center",
                    color=ON_SERIES if i < N_DARK_TONES else INK, fontsize=8.5,
                    fontweight="bold",
                )  # fmt: skip
        left = left + width
    axes.grid(visible=False)
