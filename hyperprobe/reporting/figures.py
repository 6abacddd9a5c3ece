"""The figures of a report: functions from tables to matplotlib figures.

Each takes the rows that it shows, of one diagnostic set, and draws with the
object-oriented API: nothing is opened and no global state is left behind. Save
what comes back with `hyperprobe.render.figure.svg_of` or `png_of`, or any way
that matplotlib knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist

from hyperprobe.analysis.agreement import ALL, OUTCOMES
from hyperprobe.analysis.errors import CLASSES
from hyperprobe.analysis.frequency import WORDFREQ
from hyperprobe.probes.zero_shot.tables import category_order
from hyperprobe.render.figure import (
    GRID,
    INK,
    MARKERS,
    MUTED,
    ON_SERIES,
    PAPER,
    SERIES,
    new_figure,
    styled,
)
from hyperprobe.reporting.analysis_tables import ERROR_NAMES, PROBE_NAMES, readable_template

NAME_LENGTH = 26
ROW = 0.2  # inches of height for one line of dots


def _dots(axes: Any, rows: Any, table: pd.DataFrame, column: str, series: int, label: str) -> None:
    """One marker per place in `rows` with its interval, in the colour and shape of a series."""
    values = table[column].to_numpy(float)
    spread = None
    if f"{column}_low" in table:
        ends = table[[f"{column}_low", f"{column}_high"]].to_numpy(float)
        spread = np.abs(ends.T - values)
    axes.errorbar(
        values, rows, xerr=spread, fmt=MARKERS[series % len(MARKERS)], markersize=5,
        color=SERIES[series % len(SERIES)], elinewidth=1.2, label=label, linestyle="none",
    )  # fmt: skip


def short_name(model: str) -> str:
    """A model's name as it fits beside a chart: of a path its end."""
    name = model if model.count("/") <= 1 else model.rsplit("/", 1)[1]
    prefix = model.split(":", 1)[0] + ":" if ":" in model and ":" not in name else ""
    name = prefix + name
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"


def _rows(axes: Any, labels: Sequence[str]) -> None:
    """Name the lines of a horizontal chart, first on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _percent_axis(axes: Any, label: str = "percent right") -> None:
    axes.set_xlim(-2, 102)
    axes.set_xlabel(label)


def _legend(figure: Any, axes: Any, columns: int = 2) -> None:
    pairs = sorted(
        zip(*axes.get_legend_handles_labels(), strict=True),
        key=lambda pair: isinstance(pair[0], Artist),  # lines after containers of markers
    )
    figure.legend(
        *zip(*pairs, strict=True), loc="outside upper left", ncols=columns, handletextpad=0.4,
        columnspacing=1.2,
    )  # fmt: skip


def accuracy_figure(metrics: pd.DataFrame) -> Any:
    """Each model in the singular, the plural, in context and in both numbers, with intervals.

    The tick is the paired accuracy of a model whose two answers were independent.
    """
    with styled():
        n = len(metrics)
        figure, axes = new_figure(0.9 + n * len(PROBE_NAMES) * ROW * 0.9)
        for series, (metric, name) in enumerate(PROBE_NAMES.items()):
            rows = np.arange(n) + (series - 1.5) * 0.2
            _dots(axes, rows, metrics, metric, series, name)
            if metric == "paired_singular_plural":
                axes.plot(
                    metrics["paired_expected"], rows, "|", markersize=10, color=INK,
                    label="paired, if independent",
                )  # fmt: skip
        for line in range(1, n):
            axes.axhline(line - 0.5, color=GRID, linewidth=0.7)
        _rows(axes, [short_name(name) for name in metrics["model"]])
        _percent_axis(axes)
        _legend(figure, axes, 3)
    return figure


def agreement_figure(agreement: pd.DataFrame) -> Any:
    """For one model, the share of each category right in both numbers, in one, in neither."""
    with styled():
        table = agreement[agreement["category"] != ALL]
        table = table.sort_values("category", key=category_order, kind="stable")
        figure, axes = new_figure(1.0 + len(table) * 0.27)
        names = {name: name.replace("_", " ") for name in OUTCOMES}
        _stacked(axes, table, names)
        _rows(axes, [f"{r.category} ({r.n_items})" for r in table.itertuples()])
        _percent_axis(axes, "percent of the nouns")
        _legend(figure, axes, 4)
    return figure


def _stacked(axes: Any, table: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Horizontal bars of shares with their numbers inside, where there is room."""
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


def scores_figure(scores: pd.DataFrame) -> Any:
    """For one model, the mean score of every category for the nouns of each (the paper's Fig. 2).

    The large dot is the right category: it should stand rightmost.
    """
    with styled():
        order = scores[["hypernym"]].drop_duplicates().sort_values("hypernym", key=category_order)
        categories = list(order["hypernym"])
        figure, axes = new_figure(0.9 + len(categories) * 0.42)
        for series, probe in enumerate(("singular", "plural")):
            own = scores[scores["probe"] == probe]
            rows = own["hypernym"].map(categories.index) + (series - 0.5) * 0.36
            right = own["category"] == own["hypernym"]
            axes.plot(
                own["score"][~right], rows[~right], "|", markersize=6, color=SERIES[5],
                label="a wrong category" if series else None,
            )  # fmt: skip
            axes.plot(
                own["score"][right], rows[right], MARKERS[series], markersize=7, linestyle="none",
                color=SERIES[series], label=f"the right one, {probe}",
            )  # fmt: skip
        for line in range(1, len(categories)):
            axes.axhline(line - 0.5, color=GRID, linewidth=0.7)
        _rows(axes, categories)
        axes.set_xlabel("mean log-probability of the category, nats")
        _legend(figure, axes)
    return figure


def frequency_figure(curve: pd.DataFrame) -> Any:
    """Singular accuracy over frequency bands, a panel for each source of counts."""
    with styled():
        sources = list(dict.fromkeys(curve["source"]))
        models = list(dict.fromkeys(curve["model"]))
        figure, panels = new_figure(
            0.6 + 2.2 * len(sources), nrows=len(sources), sharey=True, squeeze=False
        )
        for axes, source in zip(panels[:, 0], sources, strict=True):
            own = curve[curve["source"] == source]
            bands = own.drop_duplicates("band").sort_values("band")
            for series, model in enumerate(models):
                line = own[own["model"] == model].sort_values("band")
                x = [list(bands["band"]).index(band) for band in line["band"]]
                y = line["singular"].to_numpy(float)
                spread = np.abs(line[["singular_low", "singular_high"]].to_numpy(float).T - y)
                shift = (series - (len(models) - 1) / 2) * 0.07
                axes.errorbar(
                    np.array(x) + shift, y, yerr=spread, marker=MARKERS[series % 6], markersize=5,
                    color=SERIES[series % 6], elinewidth=1, linewidth=1.4, label=short_name(model),
                )  # fmt: skip
            names = [_band(row, source) for row in bands.to_dict("records")]
            axes.set_xticks(range(len(bands)), names)
            axes.set_ylim(-3, 103)
            axes.set_ylabel("percent right")
            axes.set_title(f"counts from {source}")
            axes.set_xlabel("Zipf frequency" if source == WORDFREQ else "occurrences in the corpus")
        _legend(figure, panels[0, 0], 3)
    return figure


def _band(row: dict[str, Any], source: str) -> str:
    """The band [from, to) in words."""
    low, high = row["from"], row["to"]
    if source == WORDFREQ:
        return f"under {high:g}" if low == 0 else f"{low:g}+" if high > 8 else f"{low:g}–{high:g}"
    if high == math.inf:
        return f"{low:g}+"
    return f"{low:g}" if high - low == 1 else f"{low:g}–{high - 1:g}"


def errors_figure(errors: pd.DataFrame) -> Any:
    """The kinds of wrong open-vocabulary answers of each model, as shares of its errors."""
    with styled():
        table = errors.pivot_table(index="model", columns="error", values="percent", sort=False)
        table = table.reindex(columns=list(CLASSES)).fillna(0).reset_index()
        figure, axes = new_figure(1.15 + len(table) * 0.34)
        _stacked(axes, table, {name: ERROR_NAMES[name] for name in CLASSES})
        _rows(axes, [short_name(name) for name in table["model"]])
        _percent_axis(axes, "percent of the wrong answers")
        _legend(figure, axes, 3)
    return figure


def memorisation_figure(rows: pd.DataFrame) -> Any:
    """Accuracy with and without the sentence or pattern in the corpus.

    `rows` has `label`, `with` and `without`, each with its `n_`.
    """
    with styled():
        figure, axes = new_figure(0.95 + len(rows) * 0.36)
        places = np.arange(len(rows))
        axes.hlines(places, rows["without"], rows["with"], color=MUTED, linewidth=1.2)
        _dots(axes, places, rows, "with", 0, "read in the corpus")
        _dots(axes, places, rows, "without", 1, "not read")
        _rows(axes, list(rows["label"]))
        _percent_axis(axes)
        _legend(figure, axes)
    return figure


def wording_figure(templates: pd.DataFrame) -> Any:
    """Singular accuracy under each wording of the question, for each model."""
    with styled():
        wordings = list(dict.fromkeys(templates["template"]))
        models = list(dict.fromkeys(templates["model"]))
        figure, axes = new_figure(0.9 + len(wordings) * (0.2 + 0.07 * len(models)))
        for series, model in enumerate(models):
            own = templates[templates["model"] == model]
            shift = (series - (len(models) - 1) / 2) * 0.16
            rows = own["template"].map(wordings.index).to_numpy(float) + shift
            _dots(axes, rows, own, "singular", series, short_name(model))
        _rows(axes, [readable_template(wording) for wording in wordings])
        _percent_axis(axes)
        if len(models) > 1:
            _legend(figure, axes)
    return figure


def negation_figure(negation: pd.DataFrame) -> Any:
    """How often the true category is the answer after "is a" and after "is not a"."""
    with styled():
        figure, axes = new_figure(0.95 + len(negation) * 0.36)
        places = np.arange(len(negation))
        axes.hlines(places, negation["negated"], negation["affirmed"], color=MUTED, linewidth=1.2)
        _dots(axes, places - 0.1, negation, "affirmed", 0, 'after "is a"')
        _dots(axes, places + 0.1, negation, "negated", 1, 'after "is not a"')
        _rows(axes, [short_name(name) for name in negation["model"]])
        _percent_axis(axes, "true category is the answer, percent")
        _legend(figure, axes)
    return figure


def article_figure(article: pd.DataFrame) -> Any:
    """Singular accuracy of each model under the three article policies."""
    with styled():
        models = list(dict.fromkeys(article["model"]))
        figure, axes = new_figure(0.95 + len(models) * 0.55)
        for series, policy in enumerate(("gold", "fixed", "marginal")):
            own = article[article["policy"] == policy]
            rows = own["model"].map(models.index).to_numpy(float) + (series - 1) * 0.24
            _dots(axes, rows, own, "singular", series, policy)
        _rows(axes, [short_name(name) for name in models])
        _percent_axis(axes)
        _legend(figure, axes, 3)
    return figure
