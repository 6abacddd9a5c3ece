"""Errors on sixty answers labelled by reading, agreement by hand, and what every analysis owes."""

from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.analysis.agreement import agreement, category_scores
from hyperprobe.analysis.base import Material
from hyperprobe.analysis.errors import error_class, error_shares, open_errors
from hyperprobe.registry import ANALYSES, load
from hyperprobe.statistics.intervals import wilson_interval
from tests.analysis.simulated import made

ERRORS = Path(__file__).parent / "open_errors.tsv"


def test_sixty_errors_labelled_by_reading():
    table = pd.read_csv(ERRORS, sep="\t")
    answers = [error_class(a, b) for a, b in zip(table["hyponym"], table["answer"], strict=True)]
    assert len(table) == 60
    assert (table["label"] == answers).mean() >= 0.95


@pytest.mark.parametrize(
    ("hyponym", "answer", "expected"),
    [
        ("yacht", "yacht", "itself"),
        ("yacht", "Yachts", "itself"),
        ("imaret", "noun", "generic"),
        ("bumblebee", "animal", "hypernym"),
        ("steamboat", "boat", "hypernym"),  # valid before a piece of the word
        ("penknife", "pen", "fragment"),
        ("penknife", "p", "other"),
        ("penknife", "horse", "other"),
        ("trout", "bird", "other"),  # another of the nine
        ("no-such-word", "animal", "other"),
    ],
)
def test_error_classes_of_the_papers_examples(hyponym: str, answer: str, expected: str):
    assert error_class(hyponym, answer) == expected


def test_error_shares_add_up():
    rows = [("robin", "bird", 1), ("robin", "robin", 2), ("oak", "thing", 7), ("pine", "x", 9)]
    table = pd.DataFrame(
        [
            {"diagnostic": "d", "model": "m", "probe": "open", "item": a, "hyponym": a,
             "hypernym": "bird", "gold": "bird", "best": b, "gold_rank": rank, "gold_tied": 0,
             "best_score": -rank}
            for a, b, rank in rows
        ]
    )  # fmt: skip
    shares = error_shares(open_errors(table)).set_index("error")
    assert shares["n_errors"].to_dict() == {
        "itself": 1, "hypernym": 0, "generic": 1, "fragment": 0, "other": 1,
    }  # fmt: skip
    assert shares["percent"].sum() == pytest.approx(100)
    low, high = wilson_interval(1 / 3, 3)
    assert shares.at["itself", "percent_low"] == pytest.approx(100 * low)
    assert shares.at["itself", "percent_high"] == pytest.approx(100 * high)
    assert shares.at["other", "commonest"] == "x" and shares.at["itself", "examples"] == (
        "robin: robin"
    )


def test_agreement_and_scores():
    table = made()
    parts = agreement(table).set_index("category")
    shares = ["both", "singular_only", "plural_only", "neither"]
    assert parts[shares].sum(axis=1).round(6).tolist() == [100] * 3
    assert parts.at["all", "n_items"] == 40 == parts.at["bird", "n_items"] * 2
    right = table.pivot(index="item", columns="probe", values="gold_rank") == 1
    assert parts.at["all", "both"] == pytest.approx(100 * right.all(axis=1).mean())
    low, high = wilson_interval(right.all(axis=1).mean(), 40)
    assert parts.at["all", "both_low"] == pytest.approx(100 * low)
    assert parts.at["all", "both_high"] == pytest.approx(100 * high)
    scores = category_scores(table)
    assert len(scores) == 2 * 2 * 2
    row = scores.set_index(["probe", "hypernym", "category"])["score"]
    birds = table[(table["probe"] == "plural") & (table["hypernym"] == "bird")]
    assert row["plural", "bird", "fish"] == pytest.approx(birds["score_fish"].mean())


def test_agreement_sees_through_a_bias():
    """Whatever is added to the scores of birds, the calibrated shares are the unbiased ones."""
    fair = agreement(made()).set_index("category")
    biased = made()
    biased["score_bird"] += 9.0
    biased = biased.assign(gold_rank=(biased["hypernym"] == "bird").map({True: 1, False: 2}))
    found = agreement(biased).set_index("category")
    assert found.at["all", "both"] == 50 != fair.at["all", "both"]
    for name in ("both", "singular_only", "plural_only", "neither"):
        expected = fair[f"{name}_calibrated"].to_dict()
        assert found[f"{name}_calibrated"].to_dict() == pytest.approx(expected)
        assert expected == pytest.approx(fair[name].to_dict())


def test_every_analysis_is_one_file_that_makes_what_it_names(
    asked: tuple[pd.DataFrame, pd.DataFrame],
):
    own, table = asked
    material = Material(own, asked=table)
    seen: list[str] = []
    for name in ANALYSES:
        analysis = load(name)
        assert tuple(analysis.compute(material)) == analysis.files
        assert set(analysis.tables) | set(analysis.lists) <= set(analysis.files)
        seen += analysis.files
    assert len(seen) == len(set(seen)) == 12
    # Without what they need, they give no rows, and say why or nothing.
    without = Material(own[own["probe"] == "plural"].assign(gold_rank=1, gold_tied=0))
    for name in ("article", "negation", "wording"):
        analysis = load(f"hyperprobe.analysis.{name}:ANALYSIS")
        assert all(frame.empty for frame in analysis.compute(without).values())
        assert analysis.reason(without) == ""
