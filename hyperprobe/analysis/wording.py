"""How much depends on the wording? Paraphrases against the set's prompt, item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import titled
from hyperprobe.analysis.variants import NEGATED, TEMPLATES, each_asked
from hyperprobe.diagnostic.templates import Noun, fill_in
from hyperprobe.options import ARTICLES, Article
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, RAW, answers, right_answers
from hyperprobe.probes.zero_shot.tables import largest_set, raw_and_calibrated
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import (
    Table,
    count,
    counted,
    interval,
    make_table,
    mean,
    number,
    p_value,
    share,
    source_of,
    text,
    with_ends,
)
from hyperprobe.statistics.columns import paired_columns, share_columns
from hyperprobe.statistics.generalisability import generalisability
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.stratified import with_holm

PROMPT = "the set's own prompt"  # written in the files of runs
COMPONENTS = ("category", "noun", "wording", "residual")


def template_accuracy(asked: pd.DataFrame, article: Article, seed: int = 0) -> pd.DataFrame:
    """Accuracy under each paraphrase of the singular prompt, and under the prompt itself.

    One row per (diagnostic, model, template): `singular` and `singular_calibrated`, the latter
    over the items under that wording; and its `difference` to the set's prompt, in points, with
    the bootstrap interval over synsets, McNemar's exact `p_value` and `p_holm` over the set.
    """
    rows = []
    for about, tables in each_asked(asked):
        of_set = right_answers(tables[article])
        chosen = _templates(tables, article)
        for template, table in chosen.items() if len(chosen) > 1 else ():
            right = right_answers(table)
            p = np.nan if template == PROMPT else mcnemar_exact(right == 1, of_set == 1)[2]
            rows.append(
                {
                    **about,
                    "template": template,
                    "n_items": len(right),
                    **share_columns("singular", right_answers(table, RAW)),
                    **share_columns("singular_calibrated", right),
                    **paired_columns("difference", right - of_set, table["synset"], seed),
                    "p_value": p,
                }
            )
    return with_holm(pd.DataFrame(rows)) if rows else pd.DataFrame()


def template_spread(asked: pd.DataFrame, article: Article) -> pd.DataFrame:
    """How much depends on the wording: one row per (diagnostic, model), in percent.

    Each column raw and, with `_calibrated`, calibrated: `prompt` is the set's; `mean`, `sd` (over
    templates), `lowest` and `highest` over it and its paraphrases; `always` and `never` the items
    that are right under all and under none, with Wilson intervals; `consistency` the share of
    pairs of templates with the same answer, mean over items (Elazar et al. 2021).

    Of the calibrated outcomes also the variances `variance_*` by category, noun, wording and the
    rest, the `generalisability` coefficient over these templates, and how many `wordings_needed`
    make it 0.8, empty where no number does (see `statistics.generalisability`).
    """
    rows = []
    for about, tables in each_asked(asked):
        chosen = _templates(tables, article)
        if len(chosen) == 1:  # the set has no wordings
            continue
        row = {**about, "n_items": len(chosen[PROMPT]), "n_templates": len(chosen)}
        for suffix in (RAW, CALIBRATED):
            spread = _spread(chosen, suffix)
            row |= {f"{name}{suffix}": value for name, value in spread.items()}
            for name in ("always", "never"):
                row |= share_columns(f"{name}{suffix}", spread[name])
        rows.append(row | _components(_outcomes(chosen, CALIBRATED), chosen[PROMPT]["hypernym"]))
    return pd.DataFrame(rows)


def _spread(tables: dict[str, pd.DataFrame], suffix: str) -> dict[str, Any]:
    right = _outcomes(tables, suffix)
    accuracy = 100 * right.mean()
    given = np.stack([answers(table, suffix).to_numpy(str) for table in tables.values()])
    n = len(given)
    same = np.mean([(given[i] == given[j]).mean() for i in range(n) for j in range(i)])
    return {
        "prompt": accuracy[PROMPT],
        "mean": accuracy.mean(),
        "sd": accuracy.std(ddof=1),
        "lowest": accuracy.min(),
        "worst": accuracy.idxmin(),
        "highest": accuracy.max(),
        "best": accuracy.idxmax(),
        "always": right.prod(axis=1),
        "never": (1 - right).prod(axis=1),
        "consistency": 100 * float(same),
    }


def _outcomes(tables: dict[str, pd.DataFrame], suffix: str) -> pd.DataFrame:
    """Outcomes [items, templates]."""
    return pd.DataFrame({name: right_answers(table, suffix) for name, table in tables.items()})


def _components(right: pd.DataFrame, categories: pd.Series) -> dict[str, float]:
    found = generalisability(right, categories)
    needed = found.n_needed if np.isfinite(found.n_needed) else np.nan
    return {
        **{f"variance_{name}": getattr(found, name) for name in COMPONENTS},
        "generalisability": found.coefficient,
        "wordings_needed": float(np.maximum(np.ceil(needed), 1)),
    }


def _templates(tables: dict[str, pd.DataFrame], article: Article) -> dict[str, pd.DataFrame]:
    of_set = {PROMPT: tables[article]}
    others = [name for name in tables if name not in (*ARTICLES, NEGATED)]
    return of_set | {name: tables[name] for name in others}


def _spread_table(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "the singular question in other words (percent right, calibrated)"),
        table,
        {
            "model": text("model"),
            "wordings": count("n_templates"),
            "own prompt": mean("prompt_calibrated"),
            "mean": mean("mean_calibrated"),
            "sd": mean("sd_calibrated"),
            "lowest": mean("lowest_calibrated"),
            "highest": mean("highest_calibrated"),
            "in all (raw)": mean("always"),
            "in all": share("always_calibrated"),
            "in none": share("never_calibrated"),
            "same answer": mean("consistency_calibrated"),
        },
        "Raw, a wording's bias towards some categories counts as failure on the others. What the "
        "noun alone gives away survives any wording: compare the control prompt.",
        "templates.csv",
    )
    yield make_table(
        titled(table, "how much of success is the noun, how much the wording?"),
        _with_shares(table),
        {
            "model": text("model"),
            **{f"{name}, %": mean(f"share_{name}") for name in COMPONENTS},
            "coefficient": number("generalisability"),
            "wordings for .8": count("wordings_needed"),
        },
        "Parts of the variance of calibrated outcomes; nouns within categories; the residual is "
        "noun by wording, and chance. The coefficient (Brennan 2001) says how well the mean over "
        "these wordings ranks nouns as other wordings would: it is about the instrument, and a "
        "model that is always wrong on the same nouns has a high one too.",
        "templates.csv",
    )


def _with_shares(table: pd.DataFrame) -> pd.DataFrame:
    """With each component's share of the variance in percent, as `share_*`."""
    total = table[[f"variance_{name}" for name in COMPONENTS]].sum(axis=1).replace(0, np.nan)
    return table.assign(
        **{f"share_{name}": 100 * table[f"variance_{name}"] / total for name in COMPONENTS}
    )


def _each_table(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "each wording (percent right)"),
        table,
        {
            "wording": lambda row: readable_template(str(row["template"])),
            "model": text("model"),
            "raw / calibrated": raw_and_calibrated("singular"),
            "interval": interval("singular_calibrated"),
            "against own prompt": share("difference"),
            "p (Holm)": p_value("p_holm"),
        },
        "The interval and the difference are of calibrated outcomes.",
        source="template_accuracy.csv",
    )


def readable_template(template: str) -> str:
    """One of the usual templates with a robin in it; a set's own as it is."""
    if template not in TEMPLATES:
        return template
    return fill_in(template, Noun("robin", "robins", "a"), Noun("bird", "birds", "a"))


def wording_figure(templates: pd.DataFrame) -> Any:
    """Calibrated singular accuracy under each wording of the question, for each model."""
    with styled():
        wordings = list(dict.fromkeys(templates["template"]))
        models = list(dict.fromkeys(templates["model"]))
        figure, axes = new_figure(0.9 + len(wordings) * (0.2 + 0.07 * len(models)))
        for series, model in enumerate(models):
            part = templates[templates["model"] == model]
            shift = (series - (len(models) - 1) / 2) * 0.16
            rows = part["template"].map(wordings.index).to_numpy(float) + shift
            dots(axes, rows, part, "singular_calibrated", series, short_name(model))
        name_rows(axes, [readable_template(wording) for wording in wordings])
        percent_axis(axes, "percent right, calibrated")
        if len(models) > 1:
            legend(figure, axes)
    return figure


def _pictures(frames: Frames, models: Sequence[str]) -> Iterator[Picture]:
    part = largest_set(frames["template_accuracy"])
    shown = part[part["model"].isin(list(dict.fromkeys(part["model"]))[:6])]
    yield Picture(
        "wording",
        wording_figure(shown),
        "What a model knows should not depend on how it is asked: the wider the spread, the more "
        "a result depends on the prompt.",
        source_of(part, "template_accuracy.csv"),
        with_ends(shown, "model", "template", "singular_calibrated"),
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    spread = (
        f"over {int(row['n_templates'])} ways to ask, {model} is right on "
        f"{row['lowest_calibrated']:.1f} to {row['highest_calibrated']:.1f} % of the nouns "
        f'(worst: "{readable_template(str(row["worst_calibrated"]))}"), and in all of them on '
        f"{row['always_calibrated']:.1f} % (raw {row['always']:.1f} %)"
    )
    if pd.isna(row["generalisability"]):
        return f"{spread}."
    if pd.isna(row["wordings_needed"]):
        return f"{spread}; no number of wordings tells its nouns apart reliably."
    n = int(row["wordings_needed"])
    return (
        f"{spread}; the mean over them tells nouns apart with a reliability of "
        f"{row['generalisability']:.2f} (0.80 takes {counted(n, 'wording')})."
    )


def _compute(material: Material) -> dict[str, pd.DataFrame]:
    if not material.has_variants:
        return dict.fromkeys(("templates", "template_accuracy"), pd.DataFrame())
    asked, article = material.variants, material.article
    return {
        "templates": template_spread(asked, article),
        "template_accuracy": template_accuracy(asked, article, material.seed),
    }


ANALYSIS = Analysis(
    name="templates",
    title="Wording",
    words="The same question in other words.",
    files=("templates", "template_accuracy"),
    compute=_compute,
    tables={"templates": _spread_table, "template_accuracy": _each_table},
    pictures=_pictures,
    lead="Wording",
    sentence=_sentence,
    reason=lambda material: "the sets have no wordings" if material.has_variants else "",
)
