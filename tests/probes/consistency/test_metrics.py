"""The numbers, against computations by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, spearmanr

from hyperprobe.probes.consistency.metrics import noun_table, profile, typicality
from hyperprobe.probes.consistency.nouns import agreement, known_nouns, summary
from hyperprobe.probes.consistency.outcomes import PLAIN, outcomes
from hyperprobe.statistics.intervals import fisher_interval


def question(probe: str, item: str, scores: list[float], bias: list[float], **more) -> dict:
    """A row of predictions whose right answer is the first candidate."""
    names = [f"c{i}" for i in range(len(scores))]
    row = {"diagnostic": "set", "model": "m", "probe": probe, "question": "q", "item": item}
    row |= {"hypernym": "bird", "synset": item, "zipf": 3.0, "distance": np.nan, "rating": np.nan}
    row |= {"gold": "c0", "candidates": names, "scores": np.array(scores), "bias": np.array(bias)}
    return row | more


def test_outcomes_by_hand():
    table = outcomes(
        pd.DataFrame(
            [
                question("siblings", "right raw", [2.0, 1.0, 0.0], [2.0, 0.0, 0.0]),
                question("siblings", "right calibrated", [1.0, 2.0, 0.0], [0.0, 2.0, 0.0]),
                question("siblings", "a tie", [1.0, 1.0], [0.0, 0.0]),
                question("siblings", "unknown", [np.nan, np.nan], [0.0, 0.0]),
                question("siblings", "unknown gold", [-np.inf, 0.0], [np.nan, 0.0]),
                question("siblings", "unknown foil", [-9.0, -np.inf], [0.0, np.nan]),
            ]
        )
    ).set_index("item")
    assert table["raw"].tolist() == [1, 0, 0.5, 0, 0, 1]
    assert table["calibrated"].tolist() == [0, 1, 0.5, 0, 0, 1]
    assert table["chance"].tolist() == [1 / 3, 1 / 3, 0.5, 0.5, 0.5, 0.5]
    assert table["margin"].tolist()[:3] == [-1.0, 1.0, 0.0]
    assert table["margin"].isna().tolist() == [False, False, False, True, True, True]


def test_transitivity_by_hand():
    right, wrong = ([1.0, 0.0], [0.0, 0.0]), ([0.0, 1.0], [0.0, 0.0])
    rows = [
        # A bird is an animal, known; a bird is an organism, not known.
        question("steps", "bird", *right, question="animal"),
        question("steps", "bird", *wrong, question="organism"),
    ]
    for item, is_bird, is_animal in (
        ("robin", right, right),
        ("wren", right, wrong),
        ("auk", wrong, wrong),
    ):
        rows.append(question("wordings", item, *is_bird, question=PLAIN))
        rows.append(question("levels", item, *is_animal, question="animal"))
        rows.append(question("levels", item, *right, question="organism"))
    table = outcomes(pd.DataFrame(rows))
    chains = table[table["probe"] == "transitivity"].set_index("item")
    assert chains["calibrated"].to_dict() == {"robin": 1.0, "wren": 0.0}
    assert chains["chance"].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_profile_by_hand():
    rows = []
    for i in range(40):
        rows.append(question("siblings", f"n{i}", [float(i < 30), 0.5], [0.0, 0.0]))
        control = {"model": "control:m"}
        rows.append(question("siblings", f"n{i}", [float(i < 26), 0.5], [0.0, 0.0], **control))
    table = profile(noun_table(outcomes(pd.DataFrame(rows)))).set_index("model")
    row = table.loc["m"]
    assert (row["calibrated"], row["chance"], row["noun_alone"]) == (75, 50, 65)
    assert row["adds"] == pytest.approx(10) and row["adds_low"] > 0
    assert np.isnan(row["adds_categories_low"])  # one category says nothing of others
    assert table.loc["control:m", "adds"] == pytest.approx(15)  # over chance


def test_known_nouns_by_hand():
    rows = []
    outcomes_of = {"a": (1, 1), "b": (1, 0), "c": (0, 0), "d": (1, 1)}
    for item, (plain, other) in outcomes_of.items():
        rows.append(question("wordings", item, [float(plain), 0.5], [0, 0], question=PLAIN))
        rows.append(question("siblings", item, [float(other), 0.5], [0, 0]))
    asked = outcomes(pd.DataFrame(rows))
    nouns = noun_table(asked)
    known = known_nouns(nouns, asked).set_index("item")
    assert known["right_in"].to_dict() == {"a": 2, "b": 1, "c": 0, "d": 2}
    assert known["known"].to_dict() == {"a": True, "b": False, "c": False, "d": True}
    # b is right when asked plainly, and over both probes as often as a guess.
    assert known["lucky"].to_dict() == {"a": False, "b": True, "c": False, "d": False}
    row = summary(nouns, known.reset_index()).iloc[0]
    assert (row["n_known"], row["n_lucky"]) == (2, 1)
    assert row["n_expected"] == pytest.approx(4 * 3 / 4 * 2 / 4)
    pair = agreement(nouns).iloc[0]
    assert pair["correlation"] == pytest.approx(np.corrcoef([1, 1, 0, 1], [1, 0, 0, 1])[0, 1])


def test_typicality_holds_frequency_constant():
    random = np.random.default_rng(0)
    zipf, rating = random.normal(size=30), random.normal(size=30)
    margins = -rating + zipf + random.normal(size=30)
    rows = [
        question(
            "typicality", f"n{i}", [margins[i], 0.0], [0.0, 0.0], zipf=zipf[i], rating=rating[i]
        )
        for i in range(30)
    ]
    table = typicality(outcomes(pd.DataFrame(rows))).set_index("category")
    row = table.loc["bird"]
    assert row["spearman"] == pytest.approx(spearmanr(margins, -rating).statistic)
    ranks = [rankdata(values) for values in (margins, -rating, zipf)]
    line = np.stack([ranks[2], np.ones(30)], axis=1)
    left = [r - line @ np.linalg.lstsq(line, r, rcond=None)[0] for r in ranks[:2]]
    assert row["given_frequency"] == pytest.approx(np.corrcoef(left)[0, 1])
    assert table.loc["all", "spearman"] == pytest.approx(row["spearman"])


def test_fisher_interval():
    low, high = fisher_interval(0.5, 30)
    # By hand: arctanh(.5) = .5493; half = 1.96 sqrt((1 + .125) / 27) = .4001
    assert (low, high) == pytest.approx((np.tanh(0.1492), np.tanh(0.9494)), abs=1e-3)
    assert np.isnan(fisher_interval(0.5, 3)[0]) and np.isnan(fisher_interval(np.nan, 9)[0])
