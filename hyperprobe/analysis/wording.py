"""How much hangs on the wording? Articles, negation and paraphrases against the run's own prompt.

The input of all is one frame of singular predictions of language models with a
`variant` beside the usual columns (`with_own_prompt`), compared item by item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.analysis.variants import NEGATED, TEMPLATES, one_prompt
from hyperprobe.lexicon.morphology import indefinite_article
from hyperprobe.options import ARTICLES, Article
from hyperprobe.probes.zero_shot.outcomes import SCORE
from hyperprobe.statistics.intervals import bootstrap_interval, mcnemar_exact
from hyperprobe.statistics.ranks import more, rank_correlations, success

PROMPT = "the set's own prompt"


def with_own_prompt(
    predictions: pd.DataFrame, again: pd.DataFrame, article: Article
) -> pd.DataFrame:
    """`again` and, as the variant `article`, the run's own singular probes of the same models."""
    own = predictions[
        (predictions["probe"] == "singular") & predictions["model"].isin(again["model"])
    ]
    return pd.concat([own.assign(variant=article), again], ignore_index=True)


def _variants(asked: pd.DataFrame) -> Iterator[tuple[dict[str, str], dict[str, pd.DataFrame]]]:
    """For each (diagnostic, model): variant -> its predictions by item, in one order of items."""
    for (diagnostic, model), own in asked.groupby(["diagnostic", "model"], sort=False):
        tables = {
            str(variant): part.set_index("item").sort_index()
            for variant, part in own.groupby("variant", sort=False)
        }
        yield {"diagnostic": str(diagnostic), "model": str(model)}, tables


def _right(table: pd.DataFrame) -> pd.Series:
    return pd.Series(success(table["gold_rank"], table["gold_tied"]), index=table.index)


def _share(name: str, values: pd.Series, scale: float = 100) -> dict[str, float]:
    low, high = bootstrap_interval(values.to_numpy())
    return {name: scale * values.mean(), f"{name}_low": scale * low, f"{name}_high": scale * high}


def article_leak(asked: pd.DataFrame) -> pd.DataFrame:
    """Singular accuracy under the three policies: one row per (diagnostic, model, policy).

    `leak` is accuracy under the policy minus that under `marginal`, which gives
    nothing away, in points with its interval, and `p_value` McNemar's exact test of it.
    `vowel` is accuracy on the items whose category takes "an".
    """
    rows = []
    for about, tables in _variants(asked):
        honest = _right(tables["marginal"])
        for policy in ARTICLES:
            right = _right(tables[policy])
            takes_an = tables[policy]["gold"].map(indefinite_article) == "an"
            row: dict[str, Any] = {**about, "policy": policy, "n_items": len(right)}
            row |= _share("singular", right)
            row |= {"n_vowel": int(takes_an.sum()), "vowel": 100 * right[takes_an].mean()}
            row |= _share("leak", right - honest)
            rows.append(row | {"p_value": mcnemar_exact(right, honest)[2]})
    return pd.DataFrame(rows)


def negation(
    asked: pd.DataFrame, article: Article, false: dict[tuple[str, str], str]
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
    for about, tables in _variants(asked):
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
        row |= _share("affirmed", _right(plus))
        row |= _share("negated", _right(minus))
        row |= {"same_answer": 100 * (plus["best"] == minus["best"]).mean()}
        row |= _share("change", pd.Series(true), 1)
        row |= _share("relative_change", others.rsub(true), 1)
        row |= {"lowered": 100 * more(others, true).mean(), "spearman": float(spearman.mean())}
        own = {item: false.get((about["diagnostic"], item), "") for item in minus.index}
        row |= _prefers(plus, minus, own)
        rows.append(row)
    return pd.DataFrame(rows)


def _prefers(plus: pd.DataFrame, minus: pd.DataFrame, false: dict[str, str]) -> dict[str, float]:
    """Ettinger's sensitivity: the true category above the false one, and below it when negated."""

    def above(table: pd.DataFrame, item: str) -> float:
        true = table.at[item, f"{SCORE}{table.at[item, 'hypernym']}"]
        return float(more(true, table.at[item, f"{SCORE}{false[item]}"]))

    # A set may name a false category that is not one of its own.
    known = [item for item in minus.index if f"{SCORE}{false[item]}" in plus]
    if not known:
        return {"n_false": 0, "prefers_true": np.nan, "prefers_false": np.nan}
    return {
        "n_false": len(known),
        "prefers_true": 100 * float(np.mean([above(plus, item) for item in known])),
        "prefers_false": 100 * float(np.mean([1 - above(minus, item) for item in known])),
    }


def template_accuracy(asked: pd.DataFrame, article: Article) -> pd.DataFrame:
    """Accuracy under each paraphrase of the singular prompt, and under the prompt itself.

    One row per (diagnostic, model, template); `difference` is to the set's own
    prompt, in points, with its interval and McNemar's exact `p_value`.
    """
    rows = []
    for about, tables in _variants(asked):
        own = _right(tables[one_prompt(article)])
        for template, table in _templates(tables, article).items():
            right = _right(table)
            row: dict[str, Any] = {**about, "template": template, "n_items": len(right)}
            row |= _share("singular", right) | _share("difference", right - own)
            rows.append(row | {"p_value": mcnemar_exact(right, own)[2]})
    return pd.DataFrame(rows)


def template_spread(asked: pd.DataFrame, article: Article) -> pd.DataFrame:
    """How much hangs on the wording: one row per (diagnostic, model), in percent.

    `prompt` is the set's own; `mean`, `sd` (over templates), `lowest` and `highest`
    over it and its paraphrases; `always` and `never` the items that are right under
    all and under none; `consistency` the share of pairs of templates with the same
    answer, mean over items (Elazar et al. 2021).
    """
    rows = []
    for about, tables in _variants(asked):
        chosen = _templates(tables, article)
        right = pd.DataFrame({name: _right(table) for name, table in chosen.items()})
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
    own = {PROMPT: tables[one_prompt(article)]}
    return own | {name: tables[name] for name in TEMPLATES if name in tables}
