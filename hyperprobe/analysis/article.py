"""What does the article before the slot give away? Accuracy under the three policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import titled
from hyperprobe.analysis.variants import each_asked, right_answers
from hyperprobe.lexicon.morphology import indefinite_article
from hyperprobe.options import ARTICLES
from hyperprobe.probes.zero_shot.tables import largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import Table, make_table, number, p_value, share, source_of, text
from hyperprobe.statistics.columns import mean_columns
from hyperprobe.statistics.intervals import mcnemar_exact


def article_leak(asked: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Singular accuracy under the three policies: one row per (diagnostic, model, policy).

    `leak` is accuracy under the policy minus that under `marginal`, which gives
    nothing away, in points with its interval, and `p_value` McNemar's exact test of it.
    `vowel` is accuracy on the items whose category takes "an".
    """
    rows = []
    for about, tables in each_asked(asked):
        marginal = right_answers(tables["marginal"])
        for policy in ARTICLES:
            right = right_answers(tables[policy])
            takes_an = tables[policy]["gold"].map(indefinite_article) == "an"
            row: dict[str, Any] = {**about, "policy": policy, "n_items": len(right)}
            row |= mean_columns("singular", right, seed)
            row |= {"n_vowel": int(takes_an.sum()), "vowel": 100 * right[takes_an].mean()}
            row |= mean_columns("leak", right - marginal, seed)
            rows.append(row | {"p_value": mcnemar_exact(right, marginal)[2]})
    return pd.DataFrame(rows)


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "what the article gives away (singular, percent right)"),
        table,
        {
            "model": text("model"),
            "article": text("policy"),
            "singular": share("singular"),
            "of insects": number("vowel", 1),
            "against marginal": lambda row: (
                "" if row["policy"] == "marginal" else share("leak")(row)
            ),
            "p": lambda row: "" if row["policy"] == "marginal" else p_value("p_value")(row),
        },
        "gold: the right answer's article, as the paper; fixed: always a; marginal: each "
        "candidate with its own, which gives nothing away.",
        "article.csv",
    )


def article_figure(article: pd.DataFrame) -> Any:
    """Singular accuracy of each model under the three article policies."""
    with styled():
        models = list(dict.fromkeys(article["model"]))
        figure, axes = new_figure(0.95 + len(models) * 0.55)
        for series, policy in enumerate(("gold", "fixed", "marginal")):
            part = article[article["policy"] == policy]
            rows = part["model"].map(models.index).to_numpy(float) + (series - 1) * 0.24
            dots(axes, rows, part, "singular", series, policy)
        name_rows(axes, [short_name(name) for name in models])
        percent_axis(axes)
        legend(figure, axes, 3)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["article"])
    yield Picture(
        "article",
        article_figure(part),
        "The further gold is to the right of marginal, the more the article gives away.",
        source_of(part, "article.csv"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows[rows["policy"] == "gold"].iloc[0]
    return (
        f"the article of the right answer is worth {row['leak']:.1f} points to {model} "
        f"(95 % interval {row['leak_low']:.1f} to {row['leak_high']:.1f})."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    if not material.has_variants:
        return {"article": pd.DataFrame()}
    return {"article": article_leak(material.variants, material.seed)}


ANALYSIS = Analysis(
    name="article",
    title="The article",
    words="A bumblebee is an ...: the article gives insect away.",
    files=("article",),
    compute=_compute,
    tables={"article": _tables},
    pictures=_pictures,
    lead="Article",
    sentence=_sentence,
    reason=lambda material: "" if material.asked is None else "no language model was asked",
)
