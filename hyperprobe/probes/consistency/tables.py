"""The tables of consistency runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from hyperprobe.names import CONTROL
from hyperprobe.probes.consistency.outcomes import TRANSITIVITY
from hyperprobe.render.table import (
    Table,
    count,
    make_table,
    mean,
    number,
    p_value,
    share,
    text,
)
from hyperprobe.render.terminal import MISSING
from hyperprobe.statistics.stratified import ALPHA

N_LISTED = 12  # nouns in a list
WORDS = (
    "Calibrated: each answer's score minus what it gets for other nouns. Guess: without any "
    "knowledge (transitivity: whether its premises hold or not). Noun: from the noun alone. Adds: "
    "calibrated over the higher of both, with 95 % intervals."
)


def side_by_side_tables(profile: pd.DataFrame) -> Iterator[Table]:
    """One table for each set with several models: every probe, a column for each model."""
    for diagnostic, rows in without_controls(profile).groupby("diagnostic", sort=False):
        models = list(dict.fromkeys(rows["model"]))
        if len(models) < 2:
            continue
        of = {(r["probe"], r["model"]): r for r in rows.to_dict("records")}
        yield Table(
            f"{diagnostic}: percent right in each probe, and what that adds",
            ("probe", *models),
            tuple(
                (probe, *(_with_gain(of.get((probe, model))) for model in models))
                for probe in dict.fromkeys(rows["probe"])
            ),
            "Calibrated; in brackets points over a guess or the noun alone, whichever is higher. "
            "* Holm-adjusted p < 0.05.",
            "metrics.csv",
        )


def _with_gain(row: Mapping[Hashable, Any] | None) -> str:
    if row is None or row["calibrated"] != row["calibrated"]:
        return MISSING
    star = "*" if row["p_holm"] < ALPHA else ""
    gain = f" ({row['adds']:+.1f}{star})" if row["adds"] == row["adds"] else ""
    return f"{row['calibrated']:.1f}{gain}"


def profile_tables(profile: pd.DataFrame) -> Iterator[Table]:
    """One table for each set and model: every probe, beside what needs no knowledge."""
    about = ["diagnostic", "model"]
    parts = list(without_controls(profile).groupby(about, sort=False))
    for left, ((diagnostic, model), rows) in zip(range(len(parts))[::-1], parts, strict=True):
        notes = [] if left else [WORDS]
        unasked = rows[(rows["probe"] != TRANSITIVITY) & (rows["n_unasked"] > 0)]
        notes += [
            f"No {row['probe']} to ask about {int(row['n_unasked'])} nouns."
            for _, row in unasked.iterrows()
        ]
        if unscored := int(rows["n_unscored"].max()):
            notes.append(f"{model} cannot score {unscored} nouns: counted as wrong.")
        yield make_table(
            f"{model} on {diagnostic} ({rows['n_items'].max()} nouns): consistency (percent right)",
            rows,
            {
                "probe": text("probe"),
                "raw": mean("raw"),
                "calibrated": mean("calibrated"),
                "guess": mean("chance"),
                "noun": mean("noun_alone"),
                "adds": share("adds"),
                "p (Holm)": p_value("p_holm"),
            },
            " ".join(notes),
            "metrics.csv",
            folded=len(parts) > 1,
        )


def noun_tables(summary: pd.DataFrame) -> Iterator[Table]:
    """One table for each set: what is known through and through, and what by luck."""
    for diagnostic, rows in without_controls(summary).groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: the same nouns in all probes",
            rows,
            {
                "model": text("model"),
                "probes": count("n_probes"),
                "nouns": count("n_items"),
                "known": count("n_known"),
                "expected": number("n_expected", 1),
                "lucky": count("n_lucky"),
                "reliability": number("generalisability"),
                "noun %": mean("share_noun"),
                "probe %": mean("share_probe"),
            },
            "Known: right in every question of every probe. Expected: so many if the probes had "
            "nothing to do with each other within a category. Lucky: right when asked plainly, "
            "over all probes no better than a guess. Reliability: how well the mean over the "
            "probes ranks nouns as other probes would; then parts of the variance.",
            "summary.csv",
        )


def listed_nouns(known: pd.DataFrame) -> Iterator[Table]:
    """For each set, the nouns that each model knows best and those that it is lucky with."""
    for diagnostic, rows in without_controls(known).groupby("diagnostic", sort=False):
        lists = []
        for model, part in rows.groupby("model", sort=False):
            best = part.sort_values(["right_in", "mean"], ascending=False, kind="stable")
            lucky = part[part["lucky"]].sort_values("mean", kind="stable")
            lists.append(
                {
                    "model": model,
                    "best": ", ".join(
                        f"{row.item} ({row.right_in})" for row in best.head(N_LISTED).itertuples()
                    ),
                    "luck": ", ".join(lucky["item"].head(N_LISTED)) or "none",
                }
            )
        yield make_table(
            f"{diagnostic}: nouns",
            pd.DataFrame(lists),
            {"model": text("model"), "known best": text("best"), "by luck": text("luck")},
            "In brackets the number of probes in which every question is right.",
            "nouns.csv",
        )


def level_tables(levels: pd.DataFrame) -> Iterator[Table]:
    """One table for each set: accuracy by distance from the noun."""
    for diagnostic, rows in without_controls(levels).groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: up the taxonomy (percent right, calibrated)",
            rows,
            {
                "model": text("model"),
                "steps up": count("distance"),
                "nouns": count("n_items"),
                "right": share("calibrated"),
                "chance": mean("chance"),
                "noun": mean("noun_alone"),
            },
            "The right kind against its siblings in the taxonomy, at each step above the noun.",
            "levels.csv",
        )


def typicality_tables(typicality: pd.DataFrame, each: bool = False) -> Iterator[Table]:
    """One table for each set with categories of Rosch (1975): all of them together, or `each`."""
    if typicality.empty:
        return
    shown = typicality[(typicality["category"] != "all") == each]
    for diagnostic, rows in shown.groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: surer of typical words{', category by category' if each else ''}? "
            "(rank correlations)",
            rows,
            {
                "model": text("model"),
                **({"category": text("category")} if each else {}),
                "words": count("n_items"),
                "margin": number("spearman"),
                "given frequency": number("given_frequency"),
                "frequency": number("frequency"),
            },
            "Ratings by Rosch (1975); positive where typical words have wider margins. Frequent "
            "words are typical, so that the column given frequency is what counts.",
            "typicality.csv",
        )


def agreement_tables(agreement: pd.DataFrame) -> Iterator[Table]:
    """One table for each set: how often one probe's success goes with another's."""
    for diagnostic, rows in without_controls(agreement).groupby("diagnostic", sort=False):
        yield make_table(
            f"{diagnostic}: does success in one probe go with success in another?",
            rows,
            {
                "model": text("model"),
                "probe": text("probe"),
                "and": text("other"),
                "nouns": count("n_items"),
                "correlation": number("correlation"),
            },
            "Over nouns, within categories.",
            "agreement.csv",
        )


def without_controls(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of models; controls are columns of theirs."""
    return table[~table["model"].str.startswith(CONTROL)]
