"""Does "is not a" lower the true category? After Kassner & Schuetze (2020) and Ettinger (2020)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import is_shown, points, titled
from hyperprobe.analysis.variants import NEGATED, each_asked
from hyperprobe.options import Article
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    RAW,
    SCORE,
    answers,
    right_answers,
)
from hyperprobe.probes.zero_shot.tables import largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import MUTED, new_figure, styled
from hyperprobe.render.table import (
    Table,
    make_table,
    mean,
    number,
    p_value,
    share,
    source_of,
    text,
    with_ends,
)
from hyperprobe.statistics.calibration import calibrated
from hyperprobe.statistics.columns import paired_columns, share_columns
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.ranks import more, rank_correlations
from hyperprobe.statistics.stratified import with_holm


def negation(
    asked: pd.DataFrame, article: Article, false: Mapping[tuple[str, str], str], seed: int = 0
) -> pd.DataFrame:
    """Does "is not a" lower the true category? One row per (diagnostic, model).

    Raw and, with `_calibrated`, calibrated under each prompt: `affirmed` and `negated`, percent
    of items answered with the true category after "is a" and after "is not a"; `same_answer`,
    percent with one answer to both; `relative_change`, by how much more the true category's score
    changes than the mean of the others, in nats; `lowered`, percent of items where that is below
    zero; `prefers_true` and `prefers_false`, percent of items with the true category above the
    false one of NEG-136 after "is a", and below it after "is not a" (Ettinger 2020), over the
    `n_false` items for which `false`, by (diagnostic, item), names one. What is equal counts half.

    `difference` is `affirmed` less `negated`, calibrated, in points, with McNemar's exact
    `p_value`, and `p_holm` over the set. `change` is the mean change of the true category's
    log-probability, `spearman` the mean rank correlation of the categories' scores (Kassner &
    Schuetze 2020, section 3): both raw. Intervals of changes and differences are over synsets.
    """
    rows = []
    for about, tables in each_asked(asked):
        if NEGATED not in tables:
            continue
        minus = tables[NEGATED]
        plus = tables[article].loc[minus.index]
        columns = [c for c in plus.columns if c.startswith(SCORE) and plus[c].notna().all()]
        named = {item: false.get((about["diagnostic"], item), "") for item in minus.index}
        # A set may name a false category that is none of its categories.
        known = {item: name for item, name in named.items() if f"{SCORE}{name}" in columns}
        row: dict[str, Any] = {**about, "n_items": len(minus), "n_false": len(known)}
        for suffix in (RAW, CALIBRATED):
            row |= _compared(plus, minus, columns, known, suffix, seed)
        yes, no = right_answers(plus), right_answers(minus)
        row |= paired_columns("difference", yes - no, minus["synset"], seed)
        change = _of_gold(_scores(minus, columns, RAW) - _scores(plus, columns, RAW), minus)
        row |= paired_columns("change", change, minus["synset"], seed, 1)
        row["spearman"] = float(rank_correlations(plus[columns], minus[columns]).mean())
        rows.append(row | {"p_value": mcnemar_exact(yes == 1, no == 1)[2]})
    return with_holm(pd.DataFrame(rows)) if rows else pd.DataFrame()


def _compared(
    plus: pd.DataFrame,
    minus: pd.DataFrame,
    columns: Sequence[str],
    false: Mapping[str, str],
    suffix: str,
    seed: int,
) -> dict[str, float]:
    """The columns of one kind of scores, raw or calibrated."""
    before, after = (_scores(table, columns, suffix) for table in (plus, minus))
    change = after - before
    true = _of_gold(change, minus)
    others = (change.sum(axis=1) - true) / (len(columns) - 1)
    same = answers(plus, suffix) == answers(minus, suffix)
    found: dict[str, float] = {}
    for name, outcomes in (
        ("affirmed", right_answers(plus, suffix)),
        ("negated", right_answers(minus, suffix)),
        ("same_answer", same),
        ("lowered", more(others, true)),
        ("prefers_true", _above(before, false, minus)),
        ("prefers_false", 1 - _above(after, false, minus)),
    ):
        found |= share_columns(f"{name}{suffix}", outcomes)
    name = f"relative_change{suffix}"
    return found | paired_columns(name, true - others, minus["synset"], seed, 1)


def _scores(table: pd.DataFrame, columns: Sequence[str], suffix: str) -> pd.DataFrame:
    """Scores [items, categories], by item and category."""
    scores = table[list(columns)].to_numpy(float)
    names = [column.removeprefix(SCORE) for column in columns]
    return pd.DataFrame(calibrated(scores) if suffix else scores, table.index, names)


def _of_gold(scores: pd.DataFrame, items: pd.DataFrame) -> np.ndarray:
    """Each item's score of its true category."""
    gold = [scores.columns.get_loc(name) for name in items["hypernym"]]
    chosen: np.ndarray = scores.to_numpy()[np.arange(len(scores)), gold]
    return chosen


def _above(scores: pd.DataFrame, false: Mapping[str, str], items: pd.DataFrame) -> np.ndarray:
    """Of the items in `false`, whether the true category is above the false one."""
    true = [scores.at[item, items.at[item, "hypernym"]] for item in false]
    return more(true, [scores.at[item, name] for item, name in false.items()])


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, 'the true category after "is a" and after "is not a"'),
        table,
        {
            "model": text("model"),
            "is a": share("affirmed_calibrated"),
            "is not a": share("negated_calibrated"),
            "difference": share("difference"),
            "p (Holm)": p_value("p_holm"),
            "same answer": mean("same_answer_calibrated"),
            "lowered": mean("lowered_calibrated"),
            "change": number("relative_change_calibrated"),
            "rank correlation": number("spearman"),
        },
        "Percent of the nouns, calibrated under each prompt. A model that understood the negation "
        "would hardly ever give the true category after it. Lowered: how often its score falls "
        "against the others'; change: by how many nats, below 0 for a fall. The rank correlation "
        "is of raw scores, as in Kassner & Schütze (2020).",
        "negation.csv",
    )


def negation_figure(table: pd.DataFrame) -> Any:
    """How often the true category is the answer after "is a" and after "is not a"."""
    with styled():
        figure, axes = new_figure(0.95 + len(table) * 0.36)
        lines = np.arange(len(table))
        axes.hlines(
            lines,
            table["negated_calibrated"],
            table["affirmed_calibrated"],
            color=MUTED,
            linewidth=1.2,
        )
        dots(axes, lines - 0.1, table, "affirmed_calibrated", 0, 'after "is a"')
        dots(axes, lines + 0.1, table, "negated_calibrated", 1, 'after "is not a"')
        name_rows(axes, [short_name(name) for name in table["model"]])
        percent_axis(axes, "true category is the answer, percent, calibrated")
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
        with_ends(part, "model", "affirmed_calibrated", "negated_calibrated"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    falls = row["difference"] > 0 and is_shown(row, "difference")
    return (
        f'after "is not a", {model} gives the true category for '
        f'{row["negated_calibrated"]:.1f} % of the nouns, after "is a" for '
        f"{row['affirmed_calibrated']:.1f} % ({points(row, 'difference')}: "
        f"{'it falls' if falls else 'it is not shown to fall'}), and the same answer to both for "
        f"{row['same_answer_calibrated']:.1f} %."
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
