"""Does "is not a" lower the true category? After Kassner & Schuetze (2020) and Ettinger (2020)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import titled
from hyperprobe.analysis.variants import NEGATED, each_asked, one_prompt, right_answers
from hyperprobe.options import Article
from hyperprobe.probes.zero_shot.outcomes import SCORE
from hyperprobe.probes.zero_shot.tables import largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import MUTED, new_figure, styled
from hyperprobe.render.table import Table, make_table, number, share, source_of, text
from hyperprobe.statistics.columns import mean_columns
from hyperprobe.statistics.ranks import more, rank_correlations


def negation(
    asked: pd.DataFrame, article: Article, false: Mapping[tuple[str, str], str], seed: int = 0
) -> pd.DataFrame:
    """Does "is not a" lower the true category? One row per (diagnostic, model).

    `affirmed` and `negated`: percent of items answered with the true category after
    "is a" and after "is not a". `same_answer`: percent with one answer to both.
    `change`: mean change of the true category's log-probability, in nats;
    `relative_change`: that minus the mean change of the other categories;
    `lowered`: percent of items whose relative change is below zero.
    `spearman`: mean rank correlation of the categories' scores (Kassner & Schuetze
    2020, section 3). `prefers_true` and `prefers_false`: percent of items with the true
    category above the false one of NEG-136 after "is a", and below it after "is not
    a" (Ettinger 2020), over the items for which `false`, by (diagnostic, item), names one.
    What is equal counts half.
    """
    rows = []
    for about, tables in each_asked(asked):
        if NEGATED not in tables:
            continue
        minus = tables[NEGATED]
        plus = tables[one_prompt(article)].loc[minus.index]
        columns = [c for c in plus.columns if c.startswith(SCORE) and plus[c].notna().all()]
        change = minus[columns] - plus[columns]
        gold = [columns.index(f"{SCORE}{name}") for name in plus["hypernym"]]
        true = change.to_numpy()[np.arange(len(change)), gold]
        others = (change.sum(axis=1) - true) / (len(columns) - 1)
        spearman = rank_correlations(plus[columns], minus[columns])
        row: dict[str, Any] = {**about, "n_items": len(minus)}
        row |= mean_columns("affirmed", right_answers(plus), seed)
        row |= mean_columns("negated", right_answers(minus), seed)
        row |= {"same_answer": 100 * (plus["best"] == minus["best"]).mean()}
        row |= mean_columns("change", true, seed, 1)
        row |= mean_columns("relative_change", others.rsub(true), seed, 1)
        row |= {"lowered": 100 * more(others, true).mean(), "spearman": float(spearman.mean())}
        named = {item: false.get((about["diagnostic"], item), "") for item in minus.index}
        # A set may name a false category that is none of its categories.
        known = {item: name for item, name in named.items() if f"{SCORE}{name}" in columns}
        row |= _prefers(plus, minus, known)
        rows.append(row)
    return pd.DataFrame(rows)


def _prefers(plus: pd.DataFrame, minus: pd.DataFrame, false: Mapping[str, str]) -> dict[str, float]:
    """Ettinger's sensitivity: the true category above the false one, and below it when negated.

    `false` has the false category of each item that counts.
    """

    def above(table: pd.DataFrame, item: str) -> float:
        true = table.at[item, f"{SCORE}{table.at[item, 'hypernym']}"]
        return float(more(true, table.at[item, f"{SCORE}{false[item]}"]))

    if not false:
        return {"n_false": 0, "prefers_true": np.nan, "prefers_false": np.nan}
    return {
        "n_false": len(false),
        "prefers_true": 100 * float(np.mean([above(plus, item) for item in false])),
        "prefers_false": 100 * float(np.mean([1 - above(minus, item) for item in false])),
    }


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, 'after "is a" and after "is not a"'),
        table,
        {
            "model": text("model"),
            "true category, is a": share("affirmed"),
            "true category, is not a": share("negated"),
            "same answer, %": number("same_answer", 1),
            "change of log P(true)": number("change"),
            "relative to the others": number("relative_change"),
            "lowered, %": number("lowered", 1),
            "rank correlation": number("spearman"),
        },
        "A model that understood the negation would hardly ever give the true category after it. "
        "Changes are in nats.",
        "negation.csv",
    )


def negation_figure(table: pd.DataFrame) -> Any:
    """How often the true category is the answer after "is a" and after "is not a"."""
    with styled():
        figure, axes = new_figure(0.95 + len(table) * 0.36)
        lines = np.arange(len(table))
        axes.hlines(lines, table["negated"], table["affirmed"], color=MUTED, linewidth=1.2)
        dots(axes, lines - 0.1, table, "affirmed", 0, 'after "is a"')
        dots(axes, lines + 0.1, table, "negated", 1, 'after "is not a"')
        name_rows(axes, [short_name(name) for name in table["model"]])
        percent_axis(axes, "true category is the answer, percent")
        legend(figure, axes)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["negation"])
    yield Picture(
        "negation",
        negation_figure(part),
        "If the model took the negation into account, the square would be near zero. Where both "
        "marks overlap, its answers are the same.",
        source_of(part, "negation.csv"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return (
        f'after "is not a", {model} still gives the true category for '
        f'{row["negated"]:.1f} % of the nouns ({row["affirmed"]:.1f} % after "is a"), and the same '
        f"answer to both for {row['same_answer']:.1f} %."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    if not material.has_variants:
        return {"negation": pd.DataFrame()}
    table = negation(material.variants, material.article, material.false, material.seed)
    return {"negation": table}


def _reason(material: Material) -> str:
    if material.asked is None:
        return ""
    return "the sets have no negated prompts, or no language model was asked"


ANALYSIS = Analysis(
    name="negation",
    title="Negation",
    words="Does the word not change a model's answer?",
    files=("negation",),
    compute=_compute,
    tables={"negation": _tables},
    pictures=_pictures,
    lead="Negation",
    sentence=_sentence,
    reason=_reason,
)
