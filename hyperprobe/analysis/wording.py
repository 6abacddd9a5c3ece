"""How much depends on the wording? Paraphrases against the set's prompt, item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames, Material
from hyperprobe.analysis.outcomes import titled
from hyperprobe.analysis.variants import TEMPLATES, each_asked, one_prompt, right_answers
from hyperprobe.options import Article
from hyperprobe.probes.zero_shot.tables import largest_set
from hyperprobe.render.charts import dots, legend, name_rows, percent_axis, short_name
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import new_figure, styled
from hyperprobe.render.table import (
    Table,
    count,
    make_table,
    number,
    p_value,
    share,
    source_of,
    text,
)
from hyperprobe.statistics.columns import mean_columns
from hyperprobe.statistics.intervals import mcnemar_exact

PROMPT = "the set's own prompt"  # written in the files of runs


def template_accuracy(asked: pd.DataFrame, article: Article, seed: int = 0) -> pd.DataFrame:
    """Accuracy under each paraphrase of the singular prompt, and under the prompt itself.

    One row per (diagnostic, model, template); `difference` is to the set's
    prompt, in points, with its interval and McNemar's exact `p_value`.
    """
    rows = []
    for about, tables in each_asked(asked):
        of_set = right_answers(tables[one_prompt(article)])
        for template, table in _templates(tables, article).items():
            right = right_answers(table)
            row: dict[str, Any] = {**about, "template": template, "n_items": len(right)}
            row |= mean_columns("singular", right, seed)
            row |= mean_columns("difference", right - of_set, seed)
            rows.append(row | {"p_value": mcnemar_exact(right, of_set)[2]})
    return pd.DataFrame(rows)


def template_spread(asked: pd.DataFrame, article: Article) -> pd.DataFrame:
    """How much depends on the wording: one row per (diagnostic, model), in percent.

    `prompt` is the set's; `mean`, `sd` (over templates), `lowest` and `highest`
    over it and its paraphrases; `always` and `never` the items that are right under
    all and under none; `consistency` the share of pairs of templates with the same
    answer, mean over items (Elazar et al. 2021).
    """
    rows = []
    for about, tables in each_asked(asked):
        chosen = _templates(tables, article)
        right = pd.DataFrame({name: right_answers(table) for name, table in chosen.items()})
        answers = np.stack([table["best"].to_numpy(str) for table in chosen.values()])
        n = len(answers)
        same = np.mean([(answers[i] == answers[j]).mean() for i in range(n) for j in range(i)])
        accuracy = 100 * right.mean()
        rows.append(
            {
                **about,
                "n_items": len(right),
                "n_templates": n,
                "prompt": accuracy[PROMPT],
                "mean": accuracy.mean(),
                "sd": accuracy.std(ddof=1),
                "lowest": accuracy.min(),
                "worst": accuracy.idxmin(),
                "highest": accuracy.max(),
                "best": accuracy.idxmax(),
                "always": 100 * right.prod(axis=1).mean(),
                "never": 100 * (1 - right).prod(axis=1).mean(),
                "consistency": 100 * float(same),
            }
        )
    return pd.DataFrame(rows)


def _templates(tables: dict[str, pd.DataFrame], article: Article) -> dict[str, pd.DataFrame]:
    of_set = {PROMPT: tables[one_prompt(article)]}
    return of_set | {name: tables[name] for name in TEMPLATES if name in tables}


def _spread_table(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "the singular question in other words (percent right)"),
        table,
        {
            "model": text("model"),
            "templates": count("n_templates"),
            "own prompt": number("prompt", 1),
            "mean": number("mean", 1),
            "sd": number("sd", 1),
            "lowest": number("lowest", 1),
            "highest": number("highest", 1),
            "right in all": number("always", 1),
            "right in none": number("never", 1),
            "same answer in a pair": number("consistency", 1),
        },
        source="templates.csv",
    )


def _each_table(table: pd.DataFrame) -> Iterator[Table]:
    yield make_table(
        titled(table, "each wording (percent right)"),
        table,
        {
            "wording": lambda row: readable_template(str(row["template"])),
            "model": text("model"),
            "singular": share("singular"),
            "against own prompt": share("difference"),
            "p": p_value("p_value"),
        },
        source="template_accuracy.csv",
    )


def readable_template(template: str) -> str:
    """A template with a robin in it."""
    return template.format(A="A", a="a", x="robin", b="a")


def wording_figure(templates: pd.DataFrame) -> Any:
    """Singular accuracy under each wording of the question, for each model."""
    with styled():
        wordings = list(dict.fromkeys(templates["template"]))
        models = list(dict.fromkeys(templates["model"]))
        figure, axes = new_figure(0.9 + len(wordings) * (0.2 + 0.07 * len(models)))
        for series, model in enumerate(models):
            part = templates[templates["model"] == model]
            shift = (series - (len(models) - 1) / 2) * 0.16
            rows = part["template"].map(wordings.index).to_numpy(float) + shift
            dots(axes, rows, part, "singular", series, short_name(model))
        name_rows(axes, [readable_template(wording) for wording in wordings])
        percent_axis(axes)
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
    )


def _sentence(model: str, rows: pd.DataFrame) -> str:
    row = rows.iloc[0]
    return (
        f"over {int(row['n_templates'])} ways to ask, {model} is right on "
        f"{row['lowest']:.1f} to {row['highest']:.1f} % of the nouns (worst: "
        f'"{readable_template(str(row["worst"]))}"), and on {row["always"]:.1f} % in all of them.'
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
)
