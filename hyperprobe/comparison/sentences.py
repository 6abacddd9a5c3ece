"""The sentences that a comparison allows: clear differences in headline metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from hyperprobe.comparison.items import SEPARATE
from hyperprobe.comparison.rows import (
    SIDES,
    distinct,
    is_clear,
    is_published,
    lettered,
    main_rows,
)
from hyperprobe.names import MAJORITY, is_subject
from hyperprobe.probes.lama.metrics import FILTERED, MICRO
from hyperprobe.render.document import Finding
from hyperprobe.render.table import format_p_value

# The metrics of headlines, the most telling first: each setting has sentences of one.
HEADLINE = {
    "paired_singular_plural_calibrated": "in paired accuracy (calibrated)",
    "singular_calibrated": "in the singular (calibrated)",
    "paired_singular_plural": "in paired accuracy (raw)",
    "singular": "in the singular (raw)",
    "accuracy_mean": "in accuracy",
    "p_at_1": "in P@1",
}


def comparison_findings(
    differences: pd.DataFrame, label: str = "", topic: str = ""
) -> Iterator[Finding]:
    """A sentence for each clear difference in the headline metric of a setting: of the best model
    to each other, and of each model to a paper's.

    Baselines and vectors that ship are left out where there are models that a user named. A
    difference that is not significant after Holm's adjustment has no sentence.
    """
    differences = distinct(differences)
    rows = main_rows(differences[differences["metric"].isin(HEADLINE)])
    words = rows["setting"].fillna("").str.split()
    rows = rows[words.map(lambda parts: not {MICRO, FILTERED} & set(parts))]
    published = is_published(rows)
    for among, choose in ((rows[~published], _of_best), (rows[published], _against_paper)):
        told = pd.DataFrame([row for part in _headline_rows(among) for row in choose(part)])
        if len(told):
            named, _ = lettered(told, among, differences)
            for row in named.to_dict("records"):
                lead = row["setting"] if row["setting"] == row["setting"] else row["command"]
                yield Finding(str(lead), _sentence(row), label, topic)


def _headline_rows(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Of each command and setting the rows of the first metric in `HEADLINE`; most items first."""
    rows = rows.sort_values("n_items", ascending=False, kind="stable")
    for _, part in rows.groupby(["command", "setting"], sort=False, dropna=False):
        first = min(part["metric"], key=list(HEADLINE).index)
        yield part[part["metric"] == first]


def _of_best(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows in which the best model is clearly ahead, with that model first."""
    named = rows["model"].map(is_subject) & rows["other"].map(is_subject)
    rows = rows[named] if named.any() else rows
    sides = zip(SIDES, ("value", "other_value"), strict=True)
    values = [
        one for side, value in sides for one in zip(*(rows[c] for c in (*side, value)), strict=True)
    ]
    best = max(values, key=lambda one: one[2])[:2]
    for row, clear in zip(rows.to_dict("records"), is_clear(rows), strict=True):
        if clear and (row["model"], row["run"]) == best and row["difference"] > 0:
            yield row
        elif clear and (row["other"], row["other_run"]) == best and row["difference"] < 0:
            yield _turned(row)


def _against_paper(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows that are clear."""
    named = rows["model"].map(is_subject)
    rows = rows[named] if named.any() else rows
    yield from rows[is_clear(rows) & (rows["model"] != MAJORITY)].to_dict("records")


def _turned(row: dict[str, Any]) -> dict[str, Any]:
    """The same difference, seen from the other model."""
    return {
        **row,
        "model": row["other"], "run": row["other_run"],
        "other": row["model"], "other_run": row["run"],
        "value": row["other_value"], "other_value": row["value"],
        "difference": -row["difference"],
        "difference_low": -row["difference_high"], "difference_high": -row["difference_low"],
    }  # fmt: skip


def _sentence(row: dict[str, Any]) -> str:
    verb = "is ahead of" if row["difference"] > 0 else "is behind"
    of_paper = str(row["other"]).startswith("published")
    paper = f" of {row['other_run']}" if of_paper else ""
    low, high = row["difference_low"], row["difference_high"]
    sure = f"95 % interval {low:.1f} to {high:.1f}"
    if row["p_holm"] == row["p_holm"]:
        sure += f", Holm-adjusted p {format_p_value(row['p_holm'])}"
    elif of_paper or row["items"] == SEPARATE:
        sure += ", separate items"
    return (
        f"{row['model']} {verb} {row['other']}{paper} {HEADLINE[row['metric']]} by "
        f"{abs(row['difference']):.1f} points, {row['value']:.1f} against "
        f"{row['other_value']:.1f} % ({sure})."
    )
