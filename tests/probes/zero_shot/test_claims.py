"""Models that know nothing try to fool the report, and one that knows is seen through its bias."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.probes.zero_shot import ask, claims, probe
from hyperprobe.probes.zero_shot.claims import PAIRED
from hyperprobe.probes.zero_shot.contrasts import question_adds, systematicity
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot
from hyperprobe.statistics.stratified import ALPHA
from tests.toy_models import (
    ASKED,
    EXTENDED,
    Toy,
    constant,
    frequency,
    knowing,
    majority,
    uneven,
)

# What the page says of a model that knows something, and of no other.
AFFIRMED = (
    "more than from the noun alone",
    "also beyond these categories",
    "is right in the plural where it is in the singular",
)
DENIED = "not shown"
RANDOM_WEIGHTS = "random weights"
IGNORANT = {
    "majority": majority(1),
    "constant": constant(1),
    "frequency": frequency(1),
    RANDOM_WEIGHTS: None,  # a real network
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_models: dict[str, Path]):
    """A function: toy (or None: random weights) -> its run on the extended set, and its page."""

    def run(toy: Toy | None) -> tuple[ZeroShotResult, str]:
        name = str(tiny_models["bert"]) if toy is None else toy.name
        monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
        if toy is not None:
            monkeypatch.setattr(ask, "load_model", lambda name, options: toy)
            monkeypatch.setattr(probe, "identify", lambda name: toy.describe())
            monkeypatch.setattr(probe, "touching_settings", lambda names, trust: {"pll"})
        result = zero_shot(name, EXTENDED, controls="shuffled", results=tmp_path)
        report = hp.report([result.folder], results=tmp_path)
        return result, (report.folder / "report.md").read_text()

    return run


@pytest.mark.parametrize("name", IGNORANT)
def test_nothing_is_claimed_of_models_that_know_nothing(name: str, asked):
    result, page = asked(IGNORANT[name])
    assert set(result.adds["probe"]) == {"singular", "plural", PAIRED, "contextual"}
    assert [row["probe"] for _, row in result.adds.iterrows() if claims.adds(row)] == []
    assert not is_systematic(result.adds, result.systematic)
    assert [words for words in AFFIRMED if words in page] == []
    assert DENIED in page


def test_knowledge_is_seen_through_a_bias(asked):
    toy = knowing(1)
    result, page = asked(toy)
    row = result.adds.set_index("probe").loc["singular"]
    # 85 % of the nouns are known when asked, and half of them from the noun alone.
    assert row["raw"] < 45 and row["calibrated"] > 75 and row["adds"] > 20
    assert row["control_calibrated"] == pytest.approx(55, abs=6)
    assert all(
        claims.adds(row) for _, row in result.adds.iterrows() if row["probe"] != "contextual"
    )
    assert is_systematic(result.adds, result.systematic)
    assert [words for words in AFFIRMED if words not in page] == []


def is_systematic(adds: pd.DataFrame, systematic: pd.DataFrame) -> bool:
    (in_both,) = (row for _, row in adds.iterrows() if row["probe"] == PAIRED)
    related = systematic[systematic["model"] == in_both["model"]]
    return claims.is_systematic(in_both, None if related.empty else related.iloc[0])


N_SEEDS = 5


def rarer_when_asked(seed: int) -> Toy:
    """Frequency moves the answer to the question and not that to the noun alone."""
    return frequency(seed, ("question",))


@pytest.mark.parametrize(("make", "fooled"), [(uneven, 3), (rarer_when_asked, 2)])
def test_a_bias_that_the_control_does_not_share_is_no_knowledge(
    make: Callable[[int], Toy], fooled: int
):
    n_claimed = n_over_nouns = 0
    for seed in range(N_SEEDS):
        answers = predict(make(seed), ASKED, "gold").assign(diagnostic=EXTENDED)
        adds = question_adds(answers)
        claimed = any(claims.adds(row) for _, row in adds.iterrows())
        n_claimed += claimed or is_systematic(adds, systematicity(answers))
        n_over_nouns += ((adds["adds_low"] > 0) & (adds["p_holm"] < ALPHA)).any()
    assert n_claimed == 0
    assert n_over_nouns >= fooled  # the interval over nouns does not see it


def test_a_claim_that_rests_on_some_categories_says_so():
    row = pd.Series(
        {
            "probe": "plural", "model": "m", "n_items": 576, "calibrated": 79.3,
            "control_calibrated": 75.9, "adds": 3.5, "adds_low": 0.9, "adds_high": 6.3,
            "adds_categories_low": -0.5, "adds_categories_high": 7.5, "p_holm": 0.034,
        }
    )  # fmt: skip
    assert not claims.adds(row)
    said = claims.adds_sentence(row)
    assert "+3.5 points [0.9, 6.3], but over categories [-0.5, 7.5]" in said and DENIED in said
    # With one category there is no interval over categories, and no claim.
    alone = row.copy()
    alone[["adds_categories_low", "adds_categories_high"]] = float("nan")
    assert not claims.adds(alone) and "over categories" not in claims.adds_sentence(alone)


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({}, True),
        ({"adds_low": 0.0}, False),
        ({"adds_categories_low": -0.1}, False),
        ({"p_holm": 0.05}, False),
    ],
)
def test_all_three_have_to_agree(changed: dict[str, float], holds: bool):
    row = pd.Series({"adds_low": 1.0, "adds_categories_low": 0.1, "p_holm": 0.01} | changed)
    related = pd.Series({"odds_ratio_low": 2.0, "p_holm": 0.01})
    apart = pd.Series({"odds_ratio_low": 1.0, "p_holm": 0.01})
    assert claims.adds(row) is holds
    assert claims.is_systematic(row, related) is holds
    assert not claims.is_systematic(row, apart)
    assert not claims.is_systematic(row, None)
