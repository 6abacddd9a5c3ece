"""What `pairs` shows: a table, a figure and sentences, on the terminal and in reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.names import CHANCE, FREQ, is_subject
from hyperprobe.probes.pairs.metrics import ALL
from hyperprobe.render.charts import dots, legend, name_rows, short_name
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.render.figure import GRID, MUTED, new_figure, styled
from hyperprobe.render.table import (
    Cell,
    Table,
    count,
    make_table,
    mean,
    number,
    share,
    text,
    with_ends,
)
from hyperprobe.render.terminal import percent
from hyperprobe.runs.read import FinishedRun

PREDICTIONS, METRICS = "predictions.parquet", "metrics.csv"
NEEDS = ("diagnostic", "model", "measure", "fold", "n_pairs", "n_known", "ap", "rho", "direction")
WORDINGS = ("singular", "plural")  # of which the table has the mean too
SERIES = {"ap": "average precision", "direction": "direction", "rho": "Spearman x 100"}
PICTURE = (
    "Grey ticks are what random scores get. A model knows more than frequency only where it is "
    "above freq, too. Bars are 95 % intervals over hyponyms."
)
WORDS = (
    "Detection: are hypernyms scored higher than other pairs (average precision)? Direction: is "
    "robin - bird scored higher than bird - robin? Graded: do the scores rank pairs as people do "
    "(Spearman)? Accuracy: right with a threshold that is set on 2 % of the pairs. chance knows "
    "nothing; freq knows how frequent the second word is, and not the first."
)


def shown(metrics: pd.DataFrame) -> pd.DataFrame:
    """One row for each set, model and measure: on the test fold where the set has one, else on
    all pairs; the accuracy is of all pairs."""
    keys = ["diagnostic", "model", "measure"]
    tested = set(metrics.loc[metrics["fold"] == "test", "diagnostic"])
    fold = np.where(metrics["diagnostic"].isin(tested), "test", ALL)
    rows = metrics[metrics["fold"] == fold].drop(columns=_of_accuracy(metrics))
    whole = metrics.loc[metrics["fold"] == ALL, [*keys, *_of_accuracy(metrics)]]
    merged = rows.merge(whole, on=keys, how="left", sort=False)
    return merged.assign(n_unknown=merged["n_pairs"] - merged["n_known"])


def _of_accuracy(metrics: pd.DataFrame) -> list[str]:
    return [name for name in metrics.columns if name.startswith("accuracy")]


def metrics_table(metrics: pd.DataFrame) -> Table:
    """Every set and model; columns that apply to no set are left out."""
    rows = shown(metrics)
    columns: dict[str, tuple[str, Cell]] = {
        "average precision": ("ap", share("ap")),
        "direction": ("direction", share("direction")),
        "strict": ("direction_strict", mean("direction_strict")),
        "accuracy": ("accuracy", share("accuracy")),
        "Spearman": ("rho", number("rho", 2)),
    }
    wanted = {
        header: cell
        for header, (name, cell) in columns.items()
        if name in rows and rows[name].notna().any()
    }
    return make_table(
        "labelled pairs, on the test fold where there is one (percent; chance: random scores)",
        rows,
        {
            "set": text("diagnostic"),
            "model": text("model"),
            "measure": text("measure"),
            "pairs": count("n_pairs"),
            "unknown": count("n_unknown"),
            **wanted,
        },
        _left_out(metrics),
        METRICS,
    )


def _left_out(metrics: pd.DataFrame) -> str:
    """What of the files was not asked, or stands there twice."""
    notes = []
    for row in metrics.drop_duplicates("diagnostic").to_dict("records"):
        if row.get("n_other_pos", 0) > 0:
            notes.append(f"{row['diagnostic']}: {int(row['n_other_pos']):,} pairs are not of nouns "
                         "and left out.")  # fmt: skip
        if row.get("n_repeated", 0) > 0:
            notes.append(f"{row['diagnostic']}: {int(row['n_repeated']):,} pairs stand there "
                         "before, and count again.")  # fmt: skip
    return " ".join(notes)


def pictures(metrics: pd.DataFrame) -> Iterator[Picture]:
    """All sets and models, but the single wordings of language models."""
    rows = shown(metrics)
    drawn = with_ends(rows, "diagnostic", "model", "measure", *SERIES)
    yield Picture("pairs", pairs_figure(rows), PICTURE, METRICS, drawn)


def pairs_figure(rows: pd.DataFrame) -> Any:
    """A line for each set and model with its metrics, and ticks where chance is."""
    chance = rows[rows["model"] == CHANCE].set_index("diagnostic")
    rows = rows[(rows["model"] != CHANCE) & ~rows["measure"].isin(WORDINGS)].reset_index(drop=True)
    scaled = {"rho": 100.0}
    with styled():
        figure, axes = new_figure(1.0 + 0.26 * len(rows))
        for series, (name, label) in enumerate(SERIES.items()):
            if name not in rows or not rows[name].notna().any():
                continue
            scale = scaled.get(name, 1.0)
            table = (rows[[name, f"{name}_low", f"{name}_high"]] * scale).assign(
                model=rows["model"]
            )
            lines = np.arange(len(rows)) + (series - 1) * 0.2
            by_chance = chance[name].reindex(rows["diagnostic"]).to_numpy(float) * scale
            axes.plot(by_chance, lines, "|", color=MUTED, markersize=7, linestyle="none")
            dots(axes, lines, table, name, series, label)
        for line in np.flatnonzero(rows["diagnostic"].ne(rows["diagnostic"].shift())[1:]) + 0.5:
            axes.axhline(line, color=GRID, linewidth=0.7)
        # (vectors, frequency and a file have one measure, which goes without saying)
        several = rows.groupby("model")["measure"].transform("nunique") > 1
        name_rows(
            axes,
            [
                f"{row.diagnostic}, {short_name(row.model)}{f' {row.measure}' if many else ''}"
                for row, many in zip(rows.itertuples(), several, strict=True)
            ],
        )
        axes.set_xlabel("percent; Spearman x 100")
        legend(figure, axes, 3)
    return figure


def tables(metrics: pd.DataFrame) -> list[Table]:
    """What the terminal shows."""
    return [metrics_table(metrics)]


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """One section for each run."""
    findings: list[Finding] = []
    sections = []
    subjects: list[str] = []
    for label, run in runs.items():
        metrics = run.table(METRICS, NEEDS)
        id = f"pairs-{label}"
        subjects += filter(is_subject, metrics["model"])
        findings += find(metrics, label, id)
        blocks = of_run([metrics_table(metrics), *pictures(metrics)], label, run)
        sections.append(Section(id, f"Labelled pairs (run {label})", WORDS, blocks=blocks))
    return Part(
        subjects=tuple(dict.fromkeys(subjects)), findings=tuple(findings), sections=tuple(sections)
    )


def find(metrics: pd.DataFrame, label: str = "", topic: str = "") -> Iterator[Finding]:
    """For each model that was named, what it gets on each set, beside chance and frequency."""
    for diagnostic, of_set in shown(metrics).groupby("diagnostic", sort=False):
        baselines = of_set[of_set["model"].isin(BASELINE_NAMES)].set_index("model")
        for row in of_set[of_set["model"].map(is_subject)].to_dict("records"):
            if row["measure"] in WORDINGS:
                continue
            said = [_said(name, row, baselines) for name in SAID]
            if found := [words for words in said if words]:
                text = f"on {diagnostic}, {row['model']} has {'; '.join(found)}."
                yield Finding("Pairs", text, label, topic, row["model"])


def _said(name: str, row: Mapping[str, Any], baselines: pd.DataFrame) -> str:
    """A metric with its interval and the baselines; nothing where it does not apply."""
    words, form = SAID[name]
    value, low, high = (row.get(f"{name}{end}", np.nan) for end in ("", "_low", "_high"))
    if not np.isfinite([value, low, high]).all():
        return ""
    others = {BASELINE_NAMES[key]: float(baselines[name][key]) for key in baselines.index}
    known = {key: other for key, other in others.items() if np.isfinite(other)}
    beside = ", ".join(f"{key} {form(other)}" for key, other in known.items())
    # (conservative: the two are of the same pairs, so that their intervals may overlap a little)
    ends = {BASELINE_NAMES[key]: baselines[f"{name}_high"][key] for key in baselines.index}
    unclear = [key for key in known if not low > ends[key]]
    verdict = f"; not shown to be above {' and '.join(unclear)}" if unclear else ""
    return f"{words} of {form(value, low, high)} ({beside}{verdict})"


def _decimals(value: float, low: float = np.nan, high: float = np.nan) -> str:
    return f"{value:.2f}" + (f" [{low:.2f}, {high:.2f}]" if low == low else "")


BASELINE_NAMES = {CHANCE: "chance", FREQ: "frequency"}
SAID = {
    "ap": ("an average precision", percent),
    "direction": ("a direction accuracy", percent),
    "rho": ("a Spearman correlation", _decimals),
}
