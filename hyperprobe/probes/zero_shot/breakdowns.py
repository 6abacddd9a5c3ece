"""Tables of accuracies by category and by tag of the noun."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.names import is_baseline
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED
from hyperprobe.render.table import (
    RUN,
    Cell,
    Table,
    count,
    make_table,
    text,
)
from hyperprobe.render.terminal import MISSING


def category_table(breakdown: pd.DataFrame) -> Table:
    """Calibrated singular / plural accuracy by category, on the largest set."""
    return _breakdown_table(breakdown, "category", "by category")


def tag_tables(breakdown: pd.DataFrame) -> Iterator[Table]:
    """The same with and without the nouns that spell their category, and by further tags."""
    if (breakdown["by"] == "tag").any():
        yield _breakdown_table(breakdown, "tag", "by tag (one noun may have several)")


def _breakdown_table(table: pd.DataFrame, by: str, title: str) -> Table:
    rows = table[table["by"] == by]
    largest = rows.groupby(["diagnostic", "model"], sort=False)["n_items"].sum().idxmax()[0]
    rows = rows[rows["diagnostic"] == largest].drop(columns=RUN, errors="ignore")
    wide = rows.drop_duplicates(["value", "model"]).set_index(["value", "model"])
    names = dict.fromkeys(map(str, rows["model"]))

    def of_model(model: str) -> Cell:
        def cell(row: dict[str, object]) -> str:
            key = (row["value"], model)
            if key not in wide.index:
                return MISSING
            probes = ("singular", "plural")
            shares = (wide[f"{probe}{CALIBRATED}"][key] for probe in probes)
            return " / ".join(MISSING if value != value else f"{value:.0f}" for value in shares)

        return cell

    values = rows.drop_duplicates("value")
    if by == "category":
        values = values.sort_values("value", key=category_order)
    return make_table(
        f"{largest}: percent right {title}, calibrated, singular / plural",
        values,
        {by: text("value"), "items": count("n_items")}
        | {model: of_model(model) for model in names if not is_baseline(model)},
        source="breakdown.csv",
    )


def category_order(categories: pd.Series) -> pd.Series:
    """A sort key: the nine in the order of their groups, those of a user's set after them."""
    index = {name: i for i, name in enumerate(CATEGORIES)}
    return categories.map(lambda name: (index.get(name, len(index)), name))
