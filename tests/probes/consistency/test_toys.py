"""Models with planted knowledge: who knows is right everywhere, who does not claims nothing."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from hyperprobe.probes.consistency import claims
from hyperprobe.probes.consistency.metrics import noun_table, profile, typicality
from hyperprobe.probes.consistency.nouns import known_nouns, summary
from hyperprobe.probes.consistency.outcomes import outcomes
from hyperprobe.probes.consistency.predictions import predict
from tests.probes.consistency.toys import (
    FRAME,
    SMALL,
    Reader,
    associating,
    frequent,
    knowing,
    rare,
)

PROBES = ["wordings", "levels", "transitivity", "direction", "siblings", "negation", "inheritance"]


def asked(make: Callable[[], Reader]) -> pd.DataFrame:
    return outcomes(predict(make(), SMALL).assign(diagnostic="small"))


@pytest.fixture(scope="module")
def outcome_tables() -> dict[str, pd.DataFrame]:
    return {make.__name__: asked(make) for make in (knowing, associating, frequent, rare)}


def profile_of(table: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = profile(noun_table(table))
    return rows[rows["model"] == f"{name}-toy"].set_index("probe")


def test_who_knows_is_right_in_every_question(outcome_tables: dict[str, pd.DataFrame]):
    rows = profile_of(outcome_tables["knowing"], "knowing")
    assert list(rows.index) == PROBES
    assert rows["calibrated"].tolist() == [100.0] * len(PROBES)
    assert rows["all"].tolist() == [100.0] * len(PROBES)
    assert claims.shown(rows.reset_index(), "knowing-toy") == [
        probe
        for probe in PROBES
        if probe != "transitivity"  # all conclusions hold anyway
    ]


def test_who_knows_knows_through_and_through(outcome_tables: dict[str, pd.DataFrame]):
    table = outcome_tables["knowing"]
    nouns = noun_table(table)
    known = known_nouns(nouns, table)
    mine = known[known["model"] == "knowing-toy"]
    assert mine["known"].all() and not mine["lucky"].any() and (mine["n_probes"] == 6).all()
    row = summary(nouns, known).set_index("model").loc["knowing-toy"]
    assert row["n_known"] == row["n_items"] == row["n_expected"]


def test_who_knows_is_as_sure_as_words_are_typical(outcome_tables: dict[str, pd.DataFrame]):
    rows = typicality(outcome_tables["knowing"])
    row = rows[(rows["model"] == "knowing-toy") & (rows["category"] == "all")].iloc[0]
    assert row["spearman"] > 0.98  # (some rated words, such as crane, are of two categories)
    assert row["n_items"] == 220


def test_association_passes_wordings_alone(outcome_tables: dict[str, pd.DataFrame]):
    rows = profile_of(outcome_tables["associating"], "associating")
    assert rows.loc["wordings", "calibrated"] == 100
    for probe in ("direction", "siblings", "negation", "inheritance"):
        row = rows.loc[probe]
        # (some words, such as crane, go together with two categories)
        assert row["calibrated"] == pytest.approx(row["chance"], abs=2), probe
    # The noun alone calls up as much.
    assert rows.loc["wordings", "noun_alone"] == 100
    assert claims.shown(rows.reset_index(), "associating-toy") == []


def test_frequency_is_at_chance_everywhere(outcome_tables: dict[str, pd.DataFrame]):
    rows = profile_of(outcome_tables["frequent"], "frequent")
    assert rows["calibrated"].to_numpy() == pytest.approx(rows["chance"].to_numpy())
    # Raw, the bias looks like an answer.
    assert rows.loc["levels", "raw"] > 1.5 * rows.loc["levels", "chance"]


@pytest.mark.parametrize("name", ["associating", "frequent", "rare"])
def test_nothing_is_said_for_who_knows_nothing(outcome_tables: dict[str, pd.DataFrame], name: str):
    table = outcome_tables[name]
    rows = profile(noun_table(table))
    assert claims.shown(rows, f"{name}-toy") == []
    words = claims.headline(rows, f"{name}-toy", "it")
    assert words.startswith("In none of 6 probes")


def test_every_noun_is_asked(outcome_tables: dict[str, pd.DataFrame]):
    nouns = noun_table(outcome_tables["knowing"])
    rows = nouns[nouns["model"] == "knowing-toy"]
    for probe in ("wordings", "direction", "siblings", "negation", "inheritance"):
        assert set(rows.loc[rows["probe"] == probe, "item"]) == set(FRAME["hyponym"])
