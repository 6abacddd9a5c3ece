"""The tables of a comparison: two models side by side, more as a matrix, and the papers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from hyperprobe.comparison.items import SEPARATE
from hyperprobe.comparison.rows import (
    PUBLISHED,
    distinct,
    is_clear,
    is_published,
    lettered,
    main_rows,
)
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, CLOSED, PAIRED
from hyperprobe.probes.zero_shot.tables import CLOSED_HEADERS
from hyperprobe.render.table import Cell, Table, make_table, number, p_value, share, text

METRICS_FILE = "metrics.csv"
MRR = "mrr"
MAX_SETTINGS = 4  # of a paper's table, that have a table each
N_WITH_INTERVALS = 4  # models in a matrix: of more, the intervals do not fit
NAMES = {
    "open_p_at_1": "open P@1",
    "open_p_at_5": "open P@5",
    "p_at_1": "P@1",
    "p_at_10": "P@10",
    "accuracy_mean": "accuracy",
    MRR: "MRR",
}
# The metrics that have a matrix, and those of two models; without any of them, all.
MATRIX = {*(f"{name}{CALIBRATED}" for name in (*CLOSED, *PAIRED)), "p_at_1", "accuracy_mean"}
SIDE_BY_SIDE = {*MATRIX, *NAMES, *CLOSED, *PAIRED}
POINTS = "Points, with 95 % intervals. "
STAR = "Points. * The 95 % interval leaves out 0, and Holm-adjusted p < 0.05 (metrics.csv). "
SEPARATE_NOTE = (
    "Without p: the two were asked separate items (or only their means are known), so the "
    "interval is of two separate samples. "
)
RAW_NOTE = "All raw, as in the paper: it has no calibrated numbers. "


def comparison_tables(differences: pd.DataFrame) -> Iterator[Table]:
    """For each command and setting two models side by side, or more as a matrix for each main
    metric; then a table for each paper."""
    differences = distinct(differences)
    published = is_published(differences)
    between, against = main_rows(differences[~published]), differences[published]
    rows, note = lettered(between, between, differences)
    groups = rows.groupby(["command", "setting"], sort=False, dropna=False)
    for (command, setting), of_setting in groups:
        title = f"{command} {setting}" if setting == setting else str(command)
        if len(_names(of_setting)) == 2:
            yield _side_by_side(title, _main_metrics(of_setting, SIDE_BY_SIDE), note)
            continue
        shown = _main_metrics(of_setting, MATRIX)
        for metric, of_metric in shown.groupby("metric", sort=False):
            heading = f"{title}: {metric_name(str(metric))}, row minus column"
            yield _matrix(heading, of_metric, note)
    yield from _published_tables(*lettered(against, against, differences))


def _main_metrics(rows: pd.DataFrame, metrics: set[str]) -> pd.DataFrame:
    """The rows of those metrics, or of all where there is none of them."""
    chosen = rows["metric"].isin(metrics)
    return rows[chosen] if chosen.any() else rows


def _names(rows: pd.DataFrame) -> list[str]:
    """The models of rows, in order."""
    return [str(name) for name in dict.fromkeys([*rows["model"], *rows["other"]])]


def metric_name(metric: str) -> str:
    """`paired, calibrated`, or the name of the column."""
    name = metric.removesuffix(CALIBRATED)
    if name not in CLOSED_HEADERS:
        return NAMES.get(metric, metric)
    return f"{CLOSED_HEADERS[name]}, {'raw' if name == metric else 'calibrated'}"


def _side_by_side(title: str, rows: pd.DataFrame, note: str) -> Table:
    one, other = rows[["model", "other"]].iloc[0]
    rows = rows.assign(metric=[metric_name(metric) for metric in rows["metric"]])
    separate = SEPARATE_NOTE if (rows["items"] == SEPARATE).any() else ""
    return make_table(
        f"{title}: {one} minus {other}",
        rows.drop(columns="run"),
        {
            "metric": text("metric"),
            str(one): _number("value"),
            str(other): _number("other_value"),
            "difference": _number("difference"),
            "p (Holm)": p_value("p_holm"),
        },
        f"{POINTS}{separate}{note}".strip(),
        METRICS_FILE,
    )


def _number(column: str) -> Cell:
    """A percentage or points; three decimals for a reciprocal rank, which is between 0 and 1."""
    return lambda row: number(column, 3 if row["metric"] == NAMES[MRR] else 1)(row)


def _matrix(title: str, rows: pd.DataFrame, note: str) -> Table:
    """Differences of each model to those above it; `*` where they are clear."""
    names = _names(rows)
    values: dict[str, float] = {}
    cells: dict[tuple[str, str], str] = {}
    for row, clear in zip(rows.to_dict("records"), is_clear(rows), strict=True):
        tested = row["p_holm"] == row["p_holm"]
        one, other = str(row["model"]), str(row["other"])
        values.setdefault(one, row["value"])
        values.setdefault(other, row["other_value"])
        star = "*" if clear and tested else ""
        for pair, sign in (((one, other), 1), ((other, one), -1)):
            cells[pair] = _cell(row, sign, star, len(names) <= N_WITH_INTERVALS)
    body = tuple(
        (
            f"{i + 1} {name}",
            f"{values[name]:.1f}",
            *(cells.get((name, other), "") for other in names[:i]),
            *[""] * (len(names) - 1 - i),
        )
        for i, name in enumerate(names)
    )
    separate = SEPARATE_NOTE if (rows["items"] == SEPARATE).any() else ""
    return Table(
        title,
        ("model", "value", *(str(i + 1) for i in range(len(names) - 1))),
        body,
        f"{STAR}{separate}{note}".strip(),
        METRICS_FILE,
    )


def _cell(row: dict[str, Any], sign: int, star: str, with_interval: bool) -> str:
    ends = sorted(sign * row[f"difference_{end}"] for end in ("low", "high"))
    shown = f"{sign * row['difference'] + 0.0:+.1f}{star}"
    if not with_interval or ends[0] != ends[0]:
        return shown
    low, high = (round(end, 1) + 0.0 for end in ends)
    return f"{shown} [{low:.1f}, {high:.1f}]"


def _published_tables(rows: pd.DataFrame, note: str) -> Iterator[Table]:
    """A table for each paper's table, of few settings one each."""
    for (command, source), of_paper in rows.groupby(["command", "other_run"], sort=False):
        settings = list(of_paper.groupby("setting", sort=False))
        if len(settings) <= MAX_SETTINGS:
            for setting, of_setting in settings:
                yield _published_table(f"{command} {setting}: against {source}", of_setting, note)
        else:
            yield _published_table(f"{command}: against {source}", of_paper, note, "setting")


def _published_table(title: str, rows: pd.DataFrame, note: str, *more: str) -> Table:
    points = POINTS if rows["difference_low"].notna().any() else "Points. "
    raw = RAW_NOTE if (rows["command"] == "zero-shot").all() else ""
    return make_table(
        title,
        rows.assign(
            other=rows["other"].str.removeprefix(PUBLISHED),
            metric=[metric_name(metric) for metric in rows["metric"]],
        ).drop(columns="run"),
        {
            "model": text("model"),
            **{column: text(column) for column in more},
            "metric": text("metric"),
            "ours": number("value", 1),
            "paper's": number("other_value", 1),
            "of": text("other"),
            "difference": share("difference"),
        },
        f"{raw}{points}The paper's items are others, so there is no test; docs/deviations.md says "
        f"what else differs. {note}".strip(),
        METRICS_FILE,
    )
