"""The tables of the zero-shot probes, and the names that they and the analyses use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from hyperprobe.diagnostic.build import LM_DIAGNOSTIC_EXTENDED, PAPER_SIZE
from hyperprobe.model_names import has_fixed_answers
from hyperprobe.names import CONTROL, CONTROL_PREFIXES, EMBEDDED_VECTORS, MAJORITY, is_baseline
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED
from hyperprobe.render.table import (
    RUN,
    Cell,
    Table,
    count,
    interval,
    make_table,
    mean,
    number,
    p_value,
    share,
    text,
)
from hyperprobe.render.terminal import MISSING
from hyperprobe.statistics.pairs import MOST_PAIRED
from hyperprobe.statistics.stratified import ALPHA

CLOSED_HEADERS = {
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
CLOSED_SHORT = {
    "singular": "sing.",
    "plural": "plur.",
    "contextual": "cont.",
    "paired_singular_plural": "paired",
    "paired_aggregate": "all",
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


def on_largest_set(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The rows of all tables of a run on the set that is the largest in its `metrics`."""
    diagnostic = largest_set(tables["metrics"])["diagnostic"].iloc[0]
    return {name: table[table["diagnostic"] == diagnostic] for name, table in tables.items()}


def has_paper_items(table: pd.DataFrame) -> bool:
    """Whether a table is about the set of the paper's size, to which its BERT may be added."""
    items = table["n_items"] if "n_items" in table else pd.Series([PAPER_SIZE])
    return set(table["diagnostic"]) == {LM_DIAGNOSTIC_EXTENDED} and bool(
        (items == PAPER_SIZE).all()
    )


def subjects(models: Iterable[str]) -> list[str]:
    """The language models of a table's column, and scores from elsewhere: neither controls nor
    vectors, in order."""
    names = [str(name) for name in dict.fromkeys(models)]
    controlled = [n for n in names if f"{CONTROL}{n}" in names or has_fixed_answers(n)]
    return controlled or [name for name in names if not is_baseline(name)]


def adds_tables(adds: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Table]:
    """One table per diagnostic set: what the question adds to what the noun alone calls up."""
    for diagnostic, rows in adds.groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic} ({rows['n_items'].max()} items): what the question adds to the noun",
            with_settings(rows, settings),
            {
                "model": text("model"),
                "probe": lambda row: PROBE_NAMES[str(row["probe"])],
                "raw": mean("raw"),
                "calibrated": share("calibrated"),
                "control": mean("control_calibrated"),
                "adds": share("adds"),
                "p (Holm)": p_value("p_holm"),
            },
            "Percent right, points, and 95 % intervals. Calibrated: each category's score minus "
            "its mean over the other nouns. Control: the noun without the question, with or "
            "without a full stop, whichever is right more often (contexts: their words shuffled); "
            "calibrated too.",
            "adds.csv",
        )


def metrics_tables(metrics: pd.DataFrame, settings: Sequence[str] = ()) -> Iterator[Table]:
    """Two tables per diagnostic set, the paper's Table 2 and its open questions.

    Of the columns `settings`, those that vary follow the model's name.
    """
    for diagnostic, rows in metrics.groupby("diagnostic", sort=False):
        title = f"{diagnostic} ({rows['n_items'].iloc[0]} items)"
        rows = with_settings(rows, settings)
        yield make_table(
            f"{title}: percent right, raw / calibrated",
            rows,
            {"model": text("model")}
            | {name: raw_and_calibrated(key) for key, name in CLOSED_HEADERS.items()},
            unscored_note(rows),
            "metrics.csv",
        )
        yield from _scored_table(title, rows)
        if rows["open_p_at_1"].notna().any():
            yield make_table(
                f"{title}: any word of the vocabulary, percent right",
                rows[rows["open_p_at_1"].notna()],
                {"model": text("model"), "P@1": share("open_p_at_1"), "P@5": share("open_p_at_5")},
                source="metrics.csv",
            )


def paper_tables(metrics: pd.DataFrame, adds: pd.DataFrame) -> dict[str, Table]:
    """The headline tables of one set, narrow enough for a column of a paper."""
    n = int(metrics["n_items"].iloc[0])
    diagnostic = metrics["diagnostic"].iloc[0]
    shown = {f"{probe}{CALIBRATED}": name for probe, name in CLOSED_SHORT.items()}
    halves = [(metrics[f"{m}_high"] - metrics[f"{m}_low"]).max() / 2 for m in shown]
    widest = max((half for half in halves if half == half), default=0.0)
    accuracy = make_table(
        f"Percent right of {n} nouns ({diagnostic}), calibrated",
        metrics.drop(columns=RUN, errors="ignore"),
        {"model": text("model")} | {name: mean(metric) for metric, name in shown.items()},
        "Asked in the singular, the plural and in context; right in the singular and the plural "
        f"(paired), and in context too (all). 95 % intervals over nouns: at most ±{widest:.1f}.",
    )
    added = make_table(
        f"What the question adds to the noun alone, in points ({diagnostic}, {n} nouns)",
        adds.drop(columns=RUN, errors="ignore"),
        {
            "model": text("model"),
            "probe": lambda row: PROBE_NAMES[str(row["probe"])],
            "right": mean("calibrated"),
            "adds": share("adds"),
        },
        "Calibrated, against the harder of the control prompts; 95 % intervals.",
    )
    return {"accuracy": accuracy, "adds": added} if len(adds) else {"accuracy": accuracy}


def raw_and_calibrated(metric: str) -> Cell:
    """`79.7 / 79.5`, as in the tables' titles."""

    def cell(row: dict[str, object]) -> str:
        shares = [mean(name)(row) for name in (metric, f"{metric}{CALIBRATED}")]
        return MISSING if set(shares) == {MISSING} else " / ".join(shares)

    return cell


def _scored_table(title: str, rows: pd.DataFrame) -> Iterator[Table]:
    """Accuracy on the items that all models can score, where some lack some."""
    n_scored, n_items = rows["n_scored"].iloc[0], rows["n_items"].iloc[0]
    if 0 < n_scored < n_items:
        names = ("singular", "plural", "paired_singular_plural")
        yield make_table(
            f"{title}: percent right on the {n_scored} that every model can score, calibrated",
            rows,
            {"model": text("model")}
            | {PROBE_NAMES[name]: mean(f"{name}{CALIBRATED}_scored") for name in names},
            source="metrics.csv",
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
        f"{r['model']} cannot score {r['n_unscored_singular']} singular and "
        f"{r['n_unscored_plural']} plural items: counted as wrong."
        for r in rows.to_dict("records")
        if r["n_unscored_singular"] or r["n_unscored_plural"]
    ]
    return " ".join(notes)


def systematic_tables(systematic: pd.DataFrame) -> Iterator[Table]:
    """Is success systematic? Singular and plural within categories, and as answers."""
    for diagnostic, rows in systematic.groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: do singular and plural go together, category by category?",
            rows[rows["model"] != MAJORITY],
            {
                "model": text("model"),
                "items": count("n_items"),
                "odds ratio": number("odds_ratio", 1),
                "p (Holm)": p_value("p_holm"),
                "kappa": number("kappa"),
            },
            "Odds ratio (Cochran-Mantel-Haenszel): how many times the odds of being right in the "
            "plural rise with being right in the singular, within categories; 1 is no relation. "
            "Kappa: agreement of the answers, wrong ones included; 0 is chance. All calibrated. "
            "A noun's association with its category makes both high: read them beside the "
            "control's.",
            "systematic.csv",
        )


def headline_tables(metrics: pd.DataFrame) -> Iterator[Table]:
    """Over what the headline numbers generalise: items, or categories."""
    names = {f"{probe}{CALIBRATED}": name for probe, name in CLOSED_HEADERS.items()}
    for diagnostic, of_set in metrics.groupby("diagnostic", sort=False):
        of_subjects = of_set[of_set["model"].isin(subjects(of_set["model"]))]
        rows = [
            {
                "model": row["model"],
                "probe": name,
                "over_items": row[metric],
                "over_items_low": row[f"{metric}_low"],
                "over_items_high": row[f"{metric}_high"],
                "macro": row[f"{metric}_macro"],
                "macro_low": row[f"{metric}_categories_low"],
                "macro_high": row[f"{metric}_categories_high"],
                "effect": row[f"{metric}_design_effect"],
            }
            for row in of_subjects.to_dict("records")
            for metric, name in names.items()
            if row[metric] == row[metric]
        ]
        yield make_table(
            f"{diagnostic}: over items and over categories, calibrated, percent right",
            pd.DataFrame(rows),
            {
                "model": text("model"),
                "probe": text("probe"),
                "over items": share("over_items"),
                "mean of categories": mean("macro"),
                "over categories": interval("macro"),
                "design effect": number("effect", 1),
            },
            "Nouns of a category stand or fall together. The interval over categories says what "
            "to expect of other categories; the design effect is how many nouns count as one.",
            "metrics.csv",
        )


def mcnemar_tables(mcnemar: pd.DataFrame) -> Iterator[Table]:
    """Paired success, calibrated: every language model against its controls and the baselines."""
    metric = f"paired_singular_plural{CALIBRATED}"
    for diagnostic, tests in mcnemar[mcnemar["metric"] == metric].groupby("diagnostic", sort=False):
        cells: dict[tuple[str, str], str] = {}
        for r in tests.to_dict("records"):
            star = "*" if r["p_holm"] < ALPHA else ""
            cells[r["model"], r["other"]] = f"{r['only_model']}:{r['only_other']}{star}"
            cells[r["other"], r["model"]] = f"{r['only_other']}:{r['only_model']}{star}"
        names = list(dict.fromkeys([*tests["model"], *tests["other"]]))
        named = subjects(names)
        columns = [name for name in names if name == MAJORITY or name in EMBEDDED_VECTORS]
        prefixes = [p for p in CONTROL_PREFIXES if any(f"{p}{name}" in names for name in named)]
        headers = [*columns, *(prefix.removesuffix(":") for prefix in prefixes)]
        rows = [
            (name, *(cells.get((name, other), MISSING) for other in others))
            for name in named
            if name not in columns
            for others in [[*columns, *(f"{prefix}{name}" for prefix in prefixes)]]
        ]
        pairs = "Any two models" if len(named) <= MOST_PAIRED else "Each and the best model"
        yield Table(
            f"{diagnostic}: paired, calibrated, each model against baselines and its controls",
            ("model", *headers),
            tuple(rows),
            "Nouns that the model alone has right, paired : the column's alone. "
            f"* Holm-adjusted p < 0.05, exact McNemar test. {pairs}: mcnemar.csv.",
            "mcnemar.csv",
        )
