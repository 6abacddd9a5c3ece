"""The sentences that a run's tables allow, and the rules by which they allow them.

A model that knows nothing can be right often: by a bias towards frequent categories, or because
its noun and category go together in text. So nothing is claimed for accuracy itself. What a
question adds to the noun alone is claimed where three things agree: its interval over nouns, its
interval over categories, and its Holm-adjusted test. (A model that knows nothing may like some
categories for reasons that calibration does not take away, such as rare nouns or wider noise. Then
its gain comes from those categories, and the interval over categories contains 0.) Systematicity is
claimed where the question adds to the paired probe and success goes together within categories.
Growth over training is claimed by the same rules for the difference of what the question adds, and
where it adds something at the last step.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from hyperprobe.render.table import format_p_value
from hyperprobe.statistics.stratified import ALPHA, is_gain

PAIRED = "paired_singular_plural"
ASKED = {
    "singular": "about one",
    "plural": "about several",
    PAIRED: "about one and about several",
    "contextual": "in a sentence",
}


def adds(row: pd.Series) -> bool:
    """Whether the question adds something: both intervals and the adjusted test say so."""
    return is_gain(row)


def _adds_over_nouns(row: pd.Series) -> bool:
    return bool(row["adds_low"] > 0 and row["p_holm"] < ALPHA)


def is_systematic(adds_in_both: pd.Series | None, related: pd.Series | None) -> bool:
    """Whether success is systematic: the question adds to the paired probe, and within
    categories the plural is right where the singular is."""
    if adds_in_both is None or related is None:
        return False
    return adds(adds_in_both) and bool(related["odds_ratio_low"] > 1 and related["p_holm"] < ALPHA)


def adds_sentence(row: pd.Series) -> str:
    """What the question adds in one probe."""
    asked, n = ASKED[str(row["probe"])], int(row["n_items"])
    what = "shuffled words" if row["probe"] == "contextual" else "the noun alone"
    effect = f"{row['adds']:+.1f} points {_ends(row, 'adds')}"
    if adds(row):
        return (
            f"asked {asked}, {row['model']} is right on {row['calibrated']:.1f} % of {n} nouns, "
            f"{effect} over {what}; also beyond these categories {_ends(row, 'adds_categories')}."
        )
    if _adds_over_nouns(row) and row["adds_categories_low"] == row["adds_categories_low"]:
        effect += f", but over categories {_ends(row, 'adds_categories')}"
    return (
        f"asked {asked}, {row['model']} is right on {row['calibrated']:.1f} % of {n} nouns, and "
        f"from {what} on {row['control_calibrated']:.1f} %: {effect}, so that the question is not "
        "shown to add anything."
    )


def growth_sentence(row: pd.Series, last: pd.Series) -> str:
    """How what the question adds grows from the first step of a training to the last, of which
    `last` is the row of `adds`; empty where that is not shown."""
    if not (adds(row) and adds(last)):
        return ""
    return (
        f"asked {ASKED[str(row['probe'])]}, the question adds {row['adds_first']:.1f} points at "
        f"step {int(row['first']):,} of {row['training']} and {row['adds_last']:.1f} at step "
        f"{int(row['last']):,}: {row['adds']:+.1f} points {_ends(row, 'adds')}; also beyond these "
        f"categories {_ends(row, 'adds_categories')}."
    )


def systematic_sentence(model: str, in_both: pd.Series | None, related: pd.Series | None) -> str:
    """Whether success is systematic, and by what."""
    if in_both is None or related is None:
        return f"{model} has no control prompt or only one number: nothing can be said."
    odds = (
        "no odds ratio, since no category has both hits and misses in each number"
        if pd.isna(related["odds_ratio"])
        else f"common odds ratio within categories {related['odds_ratio']:.1f} "
        f"{_ends(related, 'odds_ratio')}, p {format_p_value(related['p_holm'])}"
    )
    numbers = (
        f"{odds}; the question adds {in_both['adds']:+.1f} points {_ends(in_both, 'adds')} to the "
        "paired probe"
    )
    if is_systematic(in_both, related):
        return f"{model} is right in the plural where it is in the singular: {numbers}."
    return f"not shown for {model}: {numbers}."


def headline(row: pd.Series | None, model: str) -> str:
    """The main finding about a model, from its paired row; without a full stop."""
    if row is None:
        return f"{model}: accuracy alone, without a control to compare it with"
    right, n = f"{row['calibrated']:.0f} %", int(row["n_items"])
    if adds(row):
        return (
            f"Asked in the singular and the plural (paired), {model} is right about {right} of "
            f"{n} nouns, {row['adds']:.0f} points more than from the noun alone"
        )
    return (
        f"It is not shown that asking {model} adds to the noun alone: in the singular and the "
        f"plural (paired) it is right about {right} of {n} nouns, and about "
        f"{row['control_calibrated']:.0f} % unasked"
    )


def _ends(row: pd.Series, name: str) -> str:
    low, high = (_rounded(row[f"{name}_{end}"]) for end in ("low", "high"))
    return f"[{low}, {high}]"


def _rounded(value: Any) -> str:
    return f"{round(float(value), 1) + 0.0:.1f}"
