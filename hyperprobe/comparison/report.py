"""The tables and sentences of `hyperprobe compare`, and its part of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from hyperprobe.comparison.items import SEPARATE
from hyperprobe.names import MAJORITY
from hyperprobe.render.document import Finding, Part, Section
from hyperprobe.render.table import (
    RUN,
    Table,
    format_p_value,
    make_table,
    number,
    p_value,
    share,
    text,
)
from hyperprobe.runs.read import FinishedRun

COLUMNS = (
    "command", "setting", "metric", "model", "run", "value", "other", "other_run", "other_value",
    "difference", "difference_low", "difference_high", "p_value", "n_items", "n_other", "items",
)  # fmt: skip
# Those that a sentence is made of: of each command the metrics of its headline.
IN_SENTENCES = ("singular", "paired_singular_plural", "accuracy_mean", "p_at_1")
NAMES = {
    "singular": "in the singular",
    "paired_singular_plural": "in both numbers",
    "accuracy_mean": "in accuracy",
    "p_at_1": "in P@1",
}
SEPARATE_NOTE = (
    "Without p: the two were asked separate items (or only their means are known), so the "
    "interval is of two separate samples."
)


def comparison_tables(differences: pd.DataFrame) -> Iterator[Table]:
    """One table for each command and setting."""
    for (command, setting), rows in differences.groupby(["command", "setting"], sort=False):
        yield make_table(
            f"{command} {setting}: differences in points, with 95 % intervals",
            rows.drop(columns=RUN),
            {
                "model": text("model"),
                "in": text(RUN),
                "other": text("other"),
                "metric": text("metric"),
                "model's": number("value", 1),
                "other's": number("other_value", 1),
                "difference": share("difference"),
                "p": p_value("p_value"),
            },
            SEPARATE_NOTE if (rows["items"] == SEPARATE).any() else "",
            source="metrics.csv",
        )


def comparison_findings(differences: pd.DataFrame, label: str = "") -> Iterator[Finding]:
    """A plain sentence for each difference in a headline metric."""
    shown = differences["metric"].isin(IN_SENTENCES) & (differences["model"] != MAJORITY)
    for row in differences[shown].to_dict("records"):
        yield Finding(str(row["setting"]), _sentence(row), label)


def _sentence(row: dict[str, Any]) -> str:
    size = abs(row["difference"])
    if size < 0.05:
        verb, points = "is level with", ""
    else:
        verb = "is ahead of" if row["difference"] > 0 else "is behind"
        points = f" by {size:.1f} points"
    paper = f" of {row['other_run']}" if str(row["other"]).startswith("published") else ""
    return (
        f"{row['model']} {verb} {row['other']}{paper} {NAMES[row['metric']]}{points}, "
        f"{row['value']:.1f} against {row['other_value']:.1f} % ({_how_sure(row)})."
    )


def _how_sure(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    if low != low:
        sure = "no interval known"
    else:
        clear = "clear" if low > 0 or high < 0 else "could be chance"
        sure = f"95 % interval {low:.1f} to {high:.1f}: {clear}"
    if row["p_value"] == row["p_value"]:
        sure += f", McNemar p {format_p_value(row['p_value'])}"
    return sure + (", separate items" if row["items"] == SEPARATE else "")


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of comparisons (label -> run): a section each."""
    findings: list[Finding] = []
    sections = []
    for label, run in runs.items():
        differences = run.table("metrics.csv", COLUMNS)
        findings += comparison_findings(differences, label)
        blocks = tuple(comparison_tables(differences))
        sections.append(Section(f"comparison-{label}", "Comparison", blocks=blocks))
    return Part(findings=tuple(findings), sections=tuple(sections))
