"""The sentences that the tables of a consistency run allow, and when.

A share is no finding: a noun alone calls up its category, and a guess is right sometimes. A probe
counts as passed by a model where what it adds to the higher of control and chance is shown over
nouns, over categories and by a Holm-adjusted test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hyperprobe.names import CONTROL
from hyperprobe.probes.consistency.metrics import CONTROLLED
from hyperprobe.render.document import Finding
from hyperprobe.render.table import RUN
from hyperprobe.statistics.stratified import is_gain

PROFILE, NOUNS, TYPICALITY = "consistency", "consistency-nouns", "consistency-typicality"


def shown(profile: pd.DataFrame, model: str) -> list[str]:
    """The probes in which a model is shown to do better than what needs no knowledge."""
    rows = profile[profile["model"] == model]
    # Vectors have no control: all that they have is what goes together with the noun.
    can = rows["noun_alone"].notna() | ~rows["probe"].isin(CONTROLLED)
    return [str(row["probe"]) for _, row in rows[can].iterrows() if is_gain(row)]


def headline(profile: pd.DataFrame, model: str, who: str) -> str:
    """The main finding about a model; without a full stop."""
    probes, n = shown(profile, model), int((profile["model"] == model).sum())
    if not probes:
        return (
            f"In none of {n} probes of consistency is {who} shown to do better than a guess or "
            "the noun alone"
        )
    return (
        f"In {len(probes)} of {n} probes of consistency {who} does better than a guess and the "
        f"noun alone: {', '.join(probes)}"
    )


def findings(
    profile: pd.DataFrame, summary: pd.DataFrame, typicality: pd.DataFrame, model: str
) -> Iterator[Finding]:
    """What the tables of the largest set say about one model."""
    rows = profile[profile["model"] == model]
    run = str(rows[RUN].iloc[0])
    passed = shown(profile, model)
    for _, row in rows.sort_values("adds", ascending=False, kind="stable").iterrows():
        if row["probe"] in passed:
            text = f"{_share(row, model)}: {_adds(row)}; beyond these categories too."
            yield Finding("Shown", text, run, PROFILE, model)
    missed = rows[~rows["probe"].isin(passed)].sort_values("adds", ascending=False, kind="stable")
    if len(missed):
        nearest = missed.iloc[0]
        text = (
            f"that {model} does better than a guess and the noun alone in "
            f"{', '.join(missed['probe'])}; the most is in {nearest['probe']} {_adds(nearest)}."
        )
        yield Finding("Not shown", text, run, PROFILE, model)
    for _, row in summary[summary["model"] == model].iterrows():
        yield Finding("Through and through", _known(row, model), run, NOUNS, model)
    rated = typicality[typicality["model"] == model].set_index("category")
    if "all" in rated.index:
        control = typicality[typicality["model"] == f"{CONTROL}{model}"].set_index("category")
        alone = control.loc["all"] if "all" in control.index else None
        # Words of a category are alike, so that one category alone can make the whole.
        in_each = bool((rated["given_frequency"].drop("all") > 0).all())
        text = _typical(rated.loc["all"], alone, in_each, model)
        yield Finding("Typicality", text, run, TYPICALITY, model)


def _share(row: pd.Series, model: str) -> str:
    return f"in {row['probe']}, {model} is right in {row['calibrated']:.1f} % of the questions"


def _adds(row: pd.Series) -> str:
    low, high = row["adds_low"], row["adds_high"]
    control = row["noun_alone"] if row["noun_alone"] > row["chance"] else row["chance"]
    what = "the noun alone" if row["noun_alone"] > row["chance"] else "chance"
    return f"({row['adds']:+.1f} points [{low:.1f}, {high:.1f}] over {what}, {control:.1f} %)"


def _known(row: pd.Series, model: str) -> str:
    n = int(row["n_items"])
    text = (
        f"{model} is right in every question of all {int(row['n_probes'])} probes about "
        f"{int(row['n_known'])} of {n} nouns ({row['n_expected']:.1f} if the probes had nothing to "
        f"do with each other), and about {int(row['n_lucky'])} it is right when asked plainly, "
        "but over all probes no more often than by chance"
    )
    return f"{text}."


def _typical(row: pd.Series, alone: pd.Series | None, in_each: bool, model: str) -> str:
    what = f"rank correlation {_given(row)} given the word's frequency"
    if not row["given_frequency_low"] > 0:
        return f"not shown that {model} is surer of typical words: {what}."
    if not in_each:
        return (
            f"not shown that {model} is surer of typical words: {what}, but not in each category."
        )
    told = f"{model} is the surer of a category, the more typical people find the word: {what}"
    if alone is not None and alone["given_frequency_low"] > 0:
        return f"{told}; but so it is from the word alone ({_given(alone)})."
    return f"{told}."


def _given(row: pd.Series) -> str:
    value, low, high = (row[f"given_frequency{end}"] for end in ("", "_low", "_high"))
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"
