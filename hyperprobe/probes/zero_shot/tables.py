"""The tables of the zero-shot probes, and the names that they and the analyses use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from hyperprobe.diagnostic.build import CATEGORIES, LM_DIAGNOSTIC_EXTENDED, PAPER_SIZE
from hyperprobe.names import is_baseline
from hyperprobe.render.table import (
    RUN,
    Cell,
    Table,
    count,
    make_table,
    mean,
    p_value,
    share,
    text,
)
from hyperprobe.render.terminal import MISSING

HEADERS = {
    "open_p_at_1": "open P@1",
    "open_p_at_5": "open P@5",
    "singular": "singular",
    "plural": "plural",
    "contextual": "contextual",
    "paired_singular_plural": "paired",
    "paired_aggregate": "paired all",
}
PROBE_NAMES = {
    "singular": "singular",
    "plural": "plural",
    "contextual": "contextual",
    "paired_singular_plural": "paired",
}
BERT = "BERT (published)"
# Columns that say how a model was asked, in the tables of a study.
SETTINGS = ("article", "dtype", "pll", "causal_scoring")


def largest_set(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the set with the most items (of several, the extended one)."""
    sets = list(dict.fromkeys(table["diagnostic"]))
    size = [c for c in table.columns if c.startswith("n_") and c not in ("n_templates", "n_false")]
    if len(sets) == 1 or not size:
        return table
    totals = table.groupby("diagnostic", sort=False)[size].max().sum(axis=1)
    return table[table["diagnostic"] == totals.idxmax()]


def has_paper_items(table: pd.DataFrame) -> bool:
    """Whether a table is about the set of the paper's size, to which its BERT may be added."""
    items = table["n_items"] if "n_items" in table else pd.Series([PAPER_SIZE])
    return set(table["diagnostic"]) == {LM_DIAGNOSTIC_EXTENDED} and bool(
        (items == PAPER_SIZE).all()
    )


def subjects(models: Iterable[str]) -> list[str]:
    """The language models of a table's column: neither controls nor vectors, in order."""
    names = [str(name) for name in dict.fromkeys(models)]
    controlled = [name for name in names if f"control:{name}" in names]
    return controlled or [name for name in names if not is_baseline(name)]


def metrics_tables(metrics: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Table]:
    """One table per diagnostic set, laid out as the paper's Table 2.

    Of the columns `settings`, those that vary follow the model's name.
    """
    for diagnostic, rows in metrics.groupby("diagnostic", sort=False):
        n_items = rows["n_items"].iloc[0]
        rows = with_settings(rows, settings)
        columns = {"model": text("model")} | {name: share(key) for key, name in HEADERS.items()}
        yield make_table(
            f"{diagnostic} ({n_items} items): percent right ± half the 95 % interval",
            rows,
            columns,
            unscored_note(rows),
            "metrics.csv",
        )


def with_settings(rows: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    """The rows with the settings that vary after the model's name."""
    varying = [key for key in settings if rows[key].dropna().nunique() > 1]
    names = [
        " ".join([str(row["model"]), *(row[k] for k in varying if pd.notna(row[k]))])
        for row in rows.to_dict("records")
    ]
    return rows.assign(model=names) if varying else rows


def unscored_note(rows: pd.DataFrame) -> str:
    """Which models could not score some items: those count as wrong."""
    notes = [
        f"{r['model']} has no vector for {r['n_unscored_singular']} singular and "
        f"{r['n_unscored_plural']} plural hyponyms: counted as wrong."
        for r in rows.to_dict("records")
        if r["n_unscored_singular"] or r["n_unscored_plural"]
    ]
    return " ".join(notes)


def paired_tables(metrics: pd.DataFrame, mcnemar: pd.DataFrame) -> Iterator[Table]:
    """Is success systematic? Paired accuracy against independence, and model against model."""
    for diagnostic, rows in metrics.groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: is a model right in both numbers more often than by chance?",
            rows[rows["model"] != "majority"],
            {
                "model": text("model"),
                "paired": mean("paired_singular_plural"),
                "expected if independent": share("paired_expected"),
                "difference in points": share("paired_difference"),
            },
            source="metrics.csv",
        )
        tests = mcnemar[
            (mcnemar["diagnostic"] == diagnostic) & (mcnemar["metric"] == "paired_singular_plural")
        ]
        yield make_table(
            f"{diagnostic}: paired accuracy, model against model (exact McNemar test)",
            tests,
            {
                "model": text("model"),
                "other": text("other"),
                "only model right": count("only_model"),
                "only other right": count("only_other"),
                "p": p_value("p_value"),
            },
            source="mcnemar.csv",
        )


def category_table(table: pd.DataFrame) -> Table:
    """Singular / plural accuracy by category, on the largest set."""
    rows = table[table["by"] == "category"]
    largest = rows.groupby(["diagnostic", "model"], sort=False)["n_items"].sum().idxmax()[0]
    rows = rows[rows["diagnostic"] == largest].drop(columns=RUN, errors="ignore")
    wide = rows.drop_duplicates(["value", "model"]).set_index(["value", "model"])

    def of_model(model: str) -> Cell:
        def cell(row: dict[str, object]) -> str:
            key = (row["value"], model)
            if key not in wide.index:
                return MISSING
            shares = (wide[probe][key] for probe in ("singular", "plural"))
            return " / ".join(MISSING if value != value else f"{value:.0f}" for value in shares)

        return cell

    columns = {"category": text("value"), "items": count("n_items")}
    return make_table(
        f"{largest}: percent right by category, singular / plural",
        rows.drop_duplicates("value").sort_values("value", key=category_order),
        columns | {str(model): of_model(model) for model in dict.fromkeys(rows["model"])},
        source="breakdown.csv",
    )


def category_order(categories: pd.Series) -> pd.Series:
    """A sort key: the nine in the order of their groups, those of a user's set after them."""
    index = {name: i for i, name in enumerate(CATEGORIES)}
    return categories.map(lambda name: (index.get(name, len(index)), name))
