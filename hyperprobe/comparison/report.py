"""The tables and sentences of `hyperprobe compare`."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hyperprobe.names import MAJORITY
from hyperprobe.render.table import RUN, Table, format_p, make_table, number, p_value, share, text
from hyperprobe.reporting.findings import Finding

# Those that a sentence is made of: of each command the metrics of its headline.
TOLD = ("singular", "paired_singular_plural", "accuracy_mean", "p_at_1")
NAMES = {
    "singular": "in the singular",
    "paired_singular_plural": "in both numbers",
    "accuracy_mean": "in accuracy",
    "p_at_1": "in P@1",
}


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
            source="metrics.csv",
        )


def comparison_findings(differences: pd.DataFrame, label: str = "") -> Iterator[Finding]:
    """A plain sentence for each difference in a headline metric."""
    told = differences["metric"].isin(TOLD) & (differences["model"] != MAJORITY)
    for row in differences[told].to_dict("records"):
        size = abs(row["difference"])
        verb = "is level with" if size < 0.05 else "is ahead of" if row["difference"] > 0 else (
            "is behind"
        )  # fmt: skip
        points = "" if size < 0.05 else f" by {size:.1f} points"
        low, high = row["difference_low"], row["difference_high"]
        if low != low:
            sure = "no interval known"
        else:
            clear = "clear" if low > 0 or high < 0 else "could be chance"
            sure = f"95 % interval {low:.1f} to {high:.1f}: {clear}"
        p = "" if row["p_value"] != row["p_value"] else f", McNemar p {format_p(row['p_value'])}"
        paper = f" of {row['other_run']}" if str(row["other"]).startswith("published") else ""
        yield Finding(
            f"{row['setting']}: {row['model']} {verb} {row['other']}{paper} "
            f"{NAMES[row['metric']]}{points}, {row['value']:.1f} against "
            f"{row['other_value']:.1f} % ({sure}{p}).",
            label,
        )
