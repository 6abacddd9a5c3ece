"""What is shown of checkpoints: accuracy over training steps, as a figure and as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from hyperprobe.probes.zero_shot.tables import PROBE_NAMES, largest_set, with_settings
from hyperprobe.render.charts import legend
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import MARKERS, MUTED, SERIES, new_figure, styled
from hyperprobe.render.labels import short_names
from hyperprobe.render.table import (
    RUN,
    Table,
    count,
    make_table,
    mean,
    p_value,
    share,
    source_of,
    text,
)

N_SHOWN = 6  # trainings in one report
DECADES = 100  # steps that span this ratio are drawn on a logarithmic axis
PICTURE = (
    "Accuracy of {training} over training steps. The distance from the control to the probe is "
    "what the question adds to the noun alone; dashed lines are raw, and what separates them from "
    "the full ones is bias. Bars are 95 % intervals over nouns."
)


def with_training_names(table: pd.DataFrame, settings: Sequence[str] = ()) -> pd.DataFrame:
    """The rows with short names of their trainings, and behind them the settings that vary and
    the run, where several runs have the training."""
    if table.empty:
        return table
    short = short_names(table["training"])
    shown = table.assign(model=[short[name] for name in table["training"]])
    shown["training"] = with_settings(shown, settings)["model"]
    if RUN in shown:
        several = shown.groupby("training")[RUN].transform("nunique") > 1
        shown.loc[several, "training"] += " [" + shown[RUN].astype(str) + "]"
    return shown


def steps_pictures(steps: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Picture]:
    """One picture for each training, on the largest set."""
    if steps.empty:
        return
    shown = with_training_names(largest_set(steps), settings)
    for number, (training, rows) in enumerate(shown.groupby("training", sort=False)):
        if number == N_SHOWN:
            return
        name = f"steps-{number + 1}" if number else "steps"
        words = PICTURE.format(training=training)
        yield Picture(name, steps_figure(rows), words, source_of(rows, "steps.csv"))


def steps_figure(rows: pd.DataFrame) -> Any:
    """One panel for each probe of one training: calibrated and raw accuracy, and the control's."""
    from matplotlib.ticker import EngFormatter

    probes = [probe for probe in PROBE_NAMES if (rows["probe"] == probe).any()]
    numbers = sorted(rows["step"].unique())
    positive = [number for number in numbers if number > 0]
    with styled():
        height = 0.9 + 1.75 * -(-len(probes) // 2)
        n_columns = min(2, len(probes))
        figure, grid = new_figure(
            height, nrows=-(-len(probes) // 2), ncols=n_columns, sharex=True, sharey=True,
            squeeze=False,
        )  # fmt: skip
        for axes, probe in zip(grid.flat, probes, strict=False):
            _panel(axes, rows[rows["probe"] == probe].sort_values("step"))
            axes.set_title(PROBE_NAMES[probe])
            axes.set_ylim(-2, 102)
            if positive and numbers[-1] >= DECADES * positive[0]:  # 0 has no logarithm
                axes.set_xscale("symlog", linthresh=positive[0], linscale=0.4)
                axes.minorticks_off()
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        for axes in list(grid.flat)[len(probes) :]:
            axes.set_visible(False)
        figure.supxlabel("training step", fontsize=9)
        figure.supylabel("percent right", fontsize=9)
        legend(figure, grid.flat[0], 2)
    return figure


def _panel(axes: Any, rows: pd.DataFrame) -> None:
    """The lines of one probe."""
    drawn = (
        ("calibrated", 0, "-", "asked, calibrated"),
        ("control_calibrated", 1, "-", "control, calibrated"),
        ("raw", 0, "--", "asked, raw"),
        ("control_raw", 1, "--", "control, raw"),
    )
    for column, series, style, label in drawn:
        values = rows[column].to_numpy(float)
        ends = None
        if f"{column}_low" in rows:
            low, high = (rows[f"{column}_{end}"].to_numpy(float) for end in ("low", "high"))
            ends = abs(low - values), abs(high - values)  # (rounding may cross the value)
        axes.errorbar(
            rows["step"], values, yerr=ends, fmt=MARKERS[series], linestyle=style, markersize=4,
            color=SERIES[series], elinewidth=0.9, linewidth=1.2, label=label,
            markerfacecolor=SERIES[series] if style == "-" else "none",
        )  # fmt: skip
    for column, style in (("majority", ":"), ("chance", "-.")):
        axes.axhline(rows[column].iloc[0], color=MUTED, linestyle=style, linewidth=1, label=column)


def steps_tables(steps: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Table]:
    """One table for each training: accuracy in both numbers by step, on the largest set."""
    if steps.empty:
        return
    shown = with_training_names(largest_set(steps), settings)
    for training, rows in shown.groupby("training", sort=False):
        probe = next(p for p in ("paired_singular_plural", *PROBE_NAMES) if p in set(rows["probe"]))
        of_probe = rows[rows["probe"] == probe]
        first = of_probe.iloc[0]
        yield make_table(
            f"{training} over training steps, {PROBE_NAMES[probe]} (percent right)",
            of_probe,
            {
                "step": count("step"),
                "raw": share("raw"),
                "calibrated": share("calibrated"),
                "control": mean("control_calibrated"),
                "adds": share("adds"),
            },
            f"{first['diagnostic']}, {int(first['n_items'])} items. Majority: "
            f"{mean('majority')(first)}, chance: {mean('chance')(first)}.",
            "steps.csv",
        )


def growth_tables(growth: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Table]:
    """What the question adds at the last step against the first, on the largest set."""
    if growth.empty:
        return
    yield make_table(
        "What the question adds at the last step and at the first, in points",
        with_training_names(largest_set(growth), settings),
        {
            "training": text("training"),
            "probe": lambda row: PROBE_NAMES[str(row["probe"])],
            "steps": lambda row: f"{row['first']:,} to {row['last']:,}",
            "first": mean("adds_first"),
            "last": mean("adds_last"),
            "difference": share("adds"),
            "p (Holm)": p_value("p_holm"),
        },
        "Noun by noun: bootstrap interval over nouns and exact sign test.",
        "growth.csv",
    )
