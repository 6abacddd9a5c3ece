"""Singular against plural: which items are right in both, and what each form favours.

After Ravichander et al. (2020, section 3.5 and Figure 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import each_model, each_outcome, titled
from hyperprobe.data.published import read_published
from hyperprobe.diagnostic.build import PAPER_SIZE
from hyperprobe.names import CONTROL
from hyperprobe.probes.zero_shot.breakdowns import category_order
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, RAW, SCORE
from hyperprobe.probes.zero_shot.tables import (
    BERT,
    PROBE_NAMES,
    has_paper_items,
    largest_set,
    raw_and_calibrated,
)
from hyperprobe.render.charts import legend, name_rows, percent_axis, stacked
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import GRID, MARKERS, MUTED, model_colours, new_figure, styled
from hyperprobe.render.table import RUN, Cell, Table, count, make_table, mean, source_of, text
from hyperprobe.statistics.columns import share_columns

OUTCOMES = ("both", "singular_only", "plural_only", "neither")
ALL = "all"
N_PICTURED = 6  # models


def agreement(predictions: pd.DataFrame) -> pd.DataFrame:
    """Percent of items right in both forms, in one only, in neither; raw and `_calibrated`.

    One row per (diagnostic, model, category), with the category `all` first, and Wilson intervals.
    """
    rows = []
    for diagnostic, model, table in each_outcome(predictions):
        known = table.dropna(subset=["singular", "plural"])
        parts = [(ALL, known), *known.groupby("hypernym", sort=False)]
        for category, part in parts:
            if part.empty:
                continue
            row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "category": category}
            row |= {"n_items": len(part)}
            for suffix in (RAW, CALIBRATED):
                one, many = (part[f"{name}{suffix}"].to_numpy() for name in ("singular", "plural"))
                shares = (one * many, one * (1 - many), (1 - one) * many, (1 - one) * (1 - many))
                for name, share_of in zip(OUTCOMES, shares, strict=True):
                    row |= share_columns(f"{name}{suffix}", share_of)
            rows.append(row)
    return pd.DataFrame(rows)


def category_scores(predictions: pd.DataFrame) -> pd.DataFrame:
    """The mean score of each category for the items of each category, in both forms (Figure 2).

    Columns: `diagnostic, model, probe, hypernym, category, n_items, score`, a natural
    log-probability for language models and a cosine for vectors; raw, as in the paper, so that
    a bias towards a category is seen.
    """
    rows = []
    for diagnostic, model, asked in each_model(predictions):
        columns = [c for c in asked.columns if c.startswith(SCORE) and asked[c].notna().any()]
        closed = asked[asked["probe"].isin(("singular", "plural"))]
        parts = closed.groupby(["probe", "hypernym"], sort=False)[columns]
        for (probe, hypernym), part in parts:
            row = {"diagnostic": diagnostic, "model": model, "probe": probe, "hypernym": hypernym}
            for column, score in part.mean().items():
                category = str(column).removeprefix(SCORE)
                rows.append(row | {"category": category, "n_items": len(part), "score": score})
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    whole = table[table["category"] == ALL]
    shares: dict[str, Cell] = {_words(name): raw_and_calibrated(name) for name in OUTCOMES}
    caption = (
        "Easy and hard categories alone make singular and plural right together: whether they do "
        "so within categories is in the zero-shot run's systematic.csv."
    )
    rows = whole
    if has_paper_items(whole):
        published, source = read_published("hypernymy_singular_plural_agreement")
        paper = {r.outcome.replace(" ", "_"): r.percent for r in published.itertuples()}
        rows = pd.concat([whole, pd.DataFrame([{"model": BERT, "n_items": PAPER_SIZE, **paper}])])
        caption += f" Last line: {source}, raw."
    yield make_table(
        titled(table, "right in which number (percent, raw / calibrated)"),
        rows,
        {"model": text("model"), "items": count("n_items"), **shares},
        caption,
        "agreement.csv",
    )
    asked = [name for name in table["model"].unique() if f"{CONTROL}{name}" in set(table["model"])]
    subjects = table[(table["category"] != ALL) & table["model"].isin(asked)]
    if subjects.empty:
        return
    yield make_table(
        titled(table, "the same by category, language models (percent, calibrated)"),
        subjects.sort_values("category", key=category_order, kind="stable"),
        {"category": text("category"), "model": text("model"), "items": count("n_items")}
        | {_words(name): mean(f"{name}{CALIBRATED}") for name in OUTCOMES},
        source="agreement.csv",
    )


def _words(name: str) -> str:
    return PROBE_NAMES["paired_singular_plural"] if name == "both" else name.replace("_", " ")


def agreement_figure(agreement: pd.DataFrame) -> Any:
    """For one model, the calibrated share of each category right paired, in one, in neither."""
    with styled():
        table = agreement[agreement["category"] != ALL]
        table = table.sort_values("category", key=category_order, kind="stable")
        figure, axes = new_figure(1.0 + len(table) * 0.27)
        names = {f"{name}{CALIBRATED}": _words(name) for name in OUTCOMES}
        stacked(axes, table, names)
        name_rows(axes, [f"{r.category} ({r.n_items})" for r in table.itertuples()])
        percent_axis(axes, "percent of the nouns, calibrated")
        legend(figure, axes, 4)
    return figure


def scores_figure(scores: pd.DataFrame) -> Any:
    """For one model, the mean score of every category for the nouns of each (the paper's Fig. 2).

    The large dot is the right category: it should be rightmost.
    """
    with styled():
        order = scores[["hypernym"]].drop_duplicates().sort_values("hypernym", key=category_order)
        categories = list(order["hypernym"])
        (colour,) = model_colours(scores["model"]).values()
        figure, axes = new_figure(0.9 + len(categories) * 0.42)
        for series, probe in enumerate(("singular", "plural")):
            part = scores[scores["probe"] == probe]
            rows = part["hypernym"].map(categories.index) + (series - 0.5) * 0.36
            right = part["category"] == part["hypernym"]
            axes.plot(
                part["score"][~right], rows[~right], "|", markersize=6, color=MUTED,
                label="a wrong category" if series else None,
            )  # fmt: skip
            axes.plot(
                part["score"][right], rows[right], MARKERS[series], markersize=7, linestyle="none",
                color=colour, label=f"the right one, {probe}",
            )  # fmt: skip
        for line in range(1, len(categories)):
            axes.axhline(line - 0.5, color=GRID, linewidth=0.7)
        name_rows(axes, categories)
        axes.set_xlabel("mean log-probability of the category, nats")
        legend(figure, axes)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    for i, name in enumerate(models[:N_PICTURED]):
        table = largest_set(frames["agreement"])
        part = table[table["model"] == name]
        if len(part):
            yield Picture(
                f"agreement-{i + 1}",
                agreement_figure(part),
                f"{name}: of a category that is known, paired fills the whole bar. The middle "
                "parts are nouns whose category depends on grammatical number.",
                source_of(part, "agreement.csv"),
                part.drop(columns=["diagnostic", RUN], errors="ignore"),
            )
        scores = largest_set(frames["category_scores"])
        part = scores[scores["model"] == name]
        if len(part):
            yield Picture(
                f"scores-{i + 1}",
                scores_figure(part),
                f"{name}: mean log-probability of each category for the nouns of one, in both "
                "numbers, raw. The large mark is the right category and should be rightmost.",
                source_of(part, "category_scores.csv"),
                part.drop(columns=["diagnostic", RUN], errors="ignore"),
            )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return (
        f"{model} is right, paired, on {row['both_calibrated']:.1f} % of the nouns (calibrated; "
        f"raw {row['both']:.1f} %), in the singular only on "
        f"{row['singular_only_calibrated']:.1f} %, in the plural only on "
        f"{row['plural_only_calibrated']:.1f} %, in neither on {row['neither_calibrated']:.1f} %."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    return {
        "agreement": agreement(material.predictions),
        "category_scores": category_scores(material.predictions),
    }


ANALYSIS = Analysis(
    name="agreement",
    title="Singular against plural",
    words="The same noun asked about one and about many.",
    files=("agreement", "category_scores"),
    lists=("category_scores",),
    compute=_compute,
    tables={"agreement": _tables},
    pictures=_pictures,
    lead="Singular and plural",
    sentence=_sentence,
    reason=lambda material: "no set is asked in the plural",
    is_first=True,
)
