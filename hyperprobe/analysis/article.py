"""What does the article before the slot give away? Accuracy under the three policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import is_shown, points, titled
from hyperprobe.analysis.variants import each_asked
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.lexicon.morphology import indefinite_article
from hyperprobe.options import ARTICLES
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, RAW, right_answers
from hyperprobe.probes.zero_shot.tables import largest_set, raw_and_calibrated
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import (
    Table,
    interval,
    make_table,
    p_value,
    share,
    source_of,
    text,
    with_ends,
)
from hyperprobe.statistics.columns import paired_columns, share_columns
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.stratified import with_holm


def article_leak(
    asked: pd.DataFrame, seed: int = 0, sets: Mapping[str, DiagnosticSet] | None = None
) -> pd.DataFrame:
    """Singular accuracy under the three policies: one row per (diagnostic, model, policy).

    `singular` and `vowel`, accuracy on the items whose category takes another article
    than most ("an"; as `sets` have it, by name, or else in English), are raw and, with
    `_calibrated`, calibrated under the policy. `leak` is calibrated accuracy under the policy
    minus that under `marginal`, which gives nothing away, in points with the interval over
    synsets, McNemar's exact `p_value` and `p_holm` over the set; `leak_raw` the same raw.
    """
    rows = []
    for about, tables in each_asked(asked):
        marginal = _right(tables["marginal"])
        other = _with_other_article(tables["marginal"]["gold"].unique(), about, sets or {})
        for policy in ARTICLES:
            table = tables[policy]
            takes_an = table["gold"].isin(other)
            row: dict[str, Any] = {**about, "policy": policy, "n_items": len(table)}
            row |= {"n_vowel": int(takes_an.sum())}
            right = _right(table)
            for suffix, outcomes in right.items():
                row |= share_columns(f"singular{suffix}", outcomes)
                row |= share_columns(f"vowel{suffix}", outcomes[takes_an])
            for name, suffix in (("leak_raw", RAW), ("leak", CALIBRATED)):
                leak = right[suffix] - marginal[suffix]
                row |= paired_columns(name, leak, table["synset"], seed)
            with_article, without = (of[CALIBRATED] == 1 for of in (right, marginal))
            p = np.nan if policy == "marginal" else mcnemar_exact(with_article, without)[2]
            rows.append(row | {"p_value": p})
    return with_holm(pd.DataFrame(rows))


def _with_other_article(
    categories: Iterable[str], about: Mapping[str, str], sets: Mapping[str, DiagnosticSet]
) -> list[str]:
    """The categories that take another article than most of their set."""
    of = sets.get(about["diagnostic"])
    if of is None:
        return [word for word in categories if indefinite_article(word) == "an"]
    return [word for word in categories if of.noun(word).article != of.common_article]


def _right(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Outcomes by item, raw and calibrated."""
    return {suffix: right_answers(table, suffix) for suffix in (RAW, CALIBRATED)}


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "what the article gives away (singular, percent right)"),
        table,
        {
            "model": text("model"),
            "article": text("policy"),
            "raw / calibrated": raw_and_calibrated("singular"),
            "interval": interval("singular_calibrated"),
            "of other article": raw_and_calibrated("vowel"),
            "against marginal": lambda row: (
                "" if row["policy"] == "marginal" else share("leak")(row)
            ),
            "p (Holm)": lambda row: "" if row["policy"] == "marginal" else p_value("p_holm")(row),
        },
        "gold: the right answer's article, as the paper; fixed: always the same (a); marginal: "
        "each candidate with its own, which gives nothing away. The interval and the difference "
        "are of calibrated outcomes.",
        "article.csv",
    )


def article_figure(article: pd.DataFrame) -> Any:
    """Calibrated singular accuracy of each model under the three article policies."""
    with styled():
        models = list(dict.fromkeys(article["model"]))
        figure, axes = new_figure(0.95 + len(models) * 0.55)
        for series, policy in enumerate(("gold", "fixed", "marginal")):
            part = article[article["policy"] == policy]
            rows = part["model"].map(models.index).to_numpy(float) + (series - 1) * 0.24
            dots(axes, rows, part, "singular_calibrated", series, policy)
        name_rows(axes, [short_name(name) for name in models])
        percent_axis(axes, "percent right, calibrated")
        legend(figure, axes, 3)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["article"])
    yield Picture(
        "article",
        article_figure(part),
        "The further gold is to the right of marginal, the more the article gives away.",
        source_of(part, "article.csv"),
        with_ends(part, "model", "policy", "singular_calibrated"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows[rows["policy"] == "gold"].iloc[0]
    shown = "gives something away" if row["leak"] > 0 and is_shown(row, "leak") else ""
    return (
        f"the article of the right answer {shown or 'is not shown to give anything away'} to "
        f"{model} ({points(row, 'leak')}, calibrated; raw {row['leak_raw']:+.1f})."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    if not material.has_variants:
        return {"article": pd.DataFrame()}
    return {"article": article_leak(material.variants, material.seed, material.sets)}


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
