"""Questions that need the model again: other articles, negation, paraphrases of the prompt.

Their analyses read one frame of singular predictions of language models with a `variant`
beside the usual columns (`with_run_prompt`), compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.diagnostic.templates import Templates, fill_in
from hyperprobe.models.base import ClozeModel
from hyperprobe.options import ARTICLES, Article
from hyperprobe.probes.zero_shot.clozes import SINGULAR
from hyperprobe.probes.zero_shot.predictions import predict_probe

NEGATED = "negated"
TEMPLATES = Templates().wordings  # of a set without its own


def ask_again(model: ClozeModel, asked_set: DiagnosticSet, article: Article) -> pd.DataFrame:
    """The model's predictions for every variant: two more article policies, negation, wordings.

    `article` is the policy of the run, under which negation and the set's wordings are asked too.
    """
    frame = asked_set.frame
    parts = [
        predict_probe(model, asked_set, SINGULAR, other).assign(variant=other)
        for other in ARTICLES
        if other != article
    ]
    asked = {NEGATED: list(frame["negated"])} if "negated" in frame else {}
    asked |= {text: fill_template(asked_set, text) for text in asked_set.templates.wordings}
    for variant, prompts in asked.items():
        if any(prompts):
            varied = replace(asked_set, frame=frame.assign(variant=prompts))
            probe = replace(SINGULAR, prompt="variant")
            parts.append(predict_probe(model, varied, probe, article).assign(variant=variant))
    return pd.concat(parts, ignore_index=True)


def fill_template(asked_set: DiagnosticSet, template: str) -> list[str]:
    """The template's prompt for each item."""
    frame = asked_set.frame
    return [
        fill_in(template, asked_set.noun(hyponym), asked_set.noun(hypernym))
        for hyponym, hypernym in zip(frame["hyponym"], frame["hypernym"], strict=True)
    ]


def with_run_prompt(
    predictions: pd.DataFrame, again: pd.DataFrame, article: Article
) -> pd.DataFrame:
    """`again` and, as the variant `article`, the run's singular probes of the same models."""
    of_run = predictions[
        (predictions["probe"] == "singular") & predictions["model"].isin(again["model"])
    ]
    return pd.concat([of_run.assign(variant=article), again], ignore_index=True)


def each_asked(
    asked: pd.DataFrame,
) -> Iterator[tuple[dict[str, str], dict[str, pd.DataFrame]]]:
    """For each (diagnostic, model): variant -> its predictions, one row per item.

    All are in one order of items, and indexed by them.
    """
    for (diagnostic, model), rows in asked.groupby(["diagnostic", "model"], sort=False):
        in_order = rows.set_index("item", drop=False).rename_axis(None).sort_index()
        parts = dict(list(in_order.groupby("variant")))
        tables = {str(variant): parts[variant] for variant in rows["variant"].unique()}
        yield {"diagnostic": str(diagnostic), "model": str(model)}, tables
