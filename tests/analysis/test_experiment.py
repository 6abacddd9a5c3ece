"""Effects of content and form come back from outcomes that are made with them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from hyperprobe.analysis import experiment
from hyperprobe.analysis.base import Material
from hyperprobe.analysis.experiment import ANALYSIS, ARMS, experiment_effects, load_arms
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.render.table import Table

CONTENT, FORM = 0.2, 0.1


def shipped() -> pd.DataFrame:
    arms = load_arms()
    assert arms is not None
    return arms


def outcomes(random: np.random.Generator, effects: bool = True) -> np.ndarray:
    """Right or wrong for each noun of the arms, with easy and hard categories and known effects."""
    arms = shipped()
    hard = arms["category"].map({c: i for i, c in enumerate(sorted(set(arms["category"])))})
    chance = 0.2 + 0.04 * hard + 0.03 * np.log1p(arms["n_plural"]).clip(upper=3)
    if effects:
        chance = chance + CONTENT * (arms["arm"] != "withheld") + FORM * (arms["arm"] == "sentence")
    right: np.ndarray = random.random(len(arms)) < chance.to_numpy(float)
    return right


def predicted(right: np.ndarray, model: str = "embedded", probe: str = "singular") -> pd.DataFrame:
    """Predictions on the nouns of the arms: 1 for the answer, 0 for the other categories.

    The means of the categories differ by less than 1, so that calibration changes no answer.
    """
    arms = shipped()
    names = sorted(set(arms["category"]))
    gold = arms["category"].map(names.index).to_numpy(int)
    wrong = (gold + 1 + np.arange(len(gold)) % (len(names) - 1)) % len(names)
    answer = np.where(right, gold, wrong)
    scores = pd.DataFrame(np.eye(len(names))[answer], columns=[f"score_{name}" for name in names])
    words = arms.index.to_numpy()
    return scores.assign(
        diagnostic="lm-diagnostic-extended", model=model, probe=probe, item=words, hyponym=words,
        hypernym=arms["category"].to_numpy(), gold=arms["category"].to_numpy(), synset=words,
        zipf=np.arange(len(words)) % 7 / 2, gold_rank=np.where(right, 1, 2), gold_tied=0,
        best=np.array(names)[answer],
    )  # fmt: skip


def test_known_effects_come_back():
    random = np.random.default_rng(0)
    rows = pd.concat(experiment_effects(predicted(outcomes(random)), shipped()) for _ in range(12))
    assert rows["content"].mean() == pytest.approx(100 * CONTENT, abs=3)
    assert rows["form"].mean() == pytest.approx(100 * FORM, abs=3)
    covered = (rows["content_low"] < 20) & (rows["content_high"] > 20)
    assert covered.sum() >= 10
    assert "an effect of content" in ANALYSIS.sentence("embedded", rows[:1])


def test_without_effects_nothing_is_shown():
    random = np.random.default_rng(1)
    rows = [experiment_effects(predicted(outcomes(random, False)), shipped()) for _ in range(12)]
    said = [ANALYSIS.sentence("embedded", row) for row in rows]
    assert sum("no effect is shown" in sentence for sentence in said) >= 11


def test_accuracy_by_arm_and_what_is_left_out():
    arms = shipped()
    right = outcomes(np.random.default_rng(2))
    table = predicted(right)
    scores = [c for c in table if c.startswith("score_")]
    table.loc[:3, scores] = np.nan
    table.loc[:3, "gold_rank"] = 0
    (row,) = experiment_effects(table, arms).to_dict("records")
    counts = (arms["n_definitions"] > 0) & (np.arange(len(arms)) > 3)
    for arm in ARMS:
        own = right[counts & (arms["arm"] == arm)]
        assert row[f"n_{arm}"] == len(own) and row[arm] == pytest.approx(100 * own.mean())
    assert row["n_items"] == counts.sum()
    assert (row["n_undefined"], row["n_unscored"]) == ((arms["n_definitions"] == 0).sum(), 4)
    extra = table.iloc[9:10].assign(item="no-headword", hyponym="no-headword")
    (same,) = experiment_effects(pd.concat([table, extra]), arms).to_dict("records")
    assert same["n_items"] == row["n_items"]


def test_tests_of_a_set_are_adjusted_together():
    random = np.random.default_rng(3)
    parts = [
        predicted(outcomes(random), model, probe)
        for model in ("embedded", "control:embedded", "word2vec", "bert-base-uncased")
        for probe in ("singular", "plural")
    ]
    table = experiment_effects(pd.concat(parts), shipped())
    assert set(table["model"]) == {"embedded", "control:embedded", "word2vec"}
    assert table["probe"].tolist() == ["singular", "plural", "paired_singular_plural"] * 3
    p = table[["content_p", "form_p"]].to_numpy().ravel()
    adjusted = multipletests(p, method="holm")[1].reshape(-1, 2)
    assert table[["content_p_holm", "form_p_holm"]].to_numpy() == pytest.approx(adjusted)
    tables = [*ANALYSIS.tables["experiment"](table)]
    assert all(isinstance(one, Table) and len(one.rows) == 9 for one in tables)
    (picture,) = ANALYSIS.pictures({"experiment": table}, ["embedded"])
    assert picture.name == "experiment"


def test_of_few_nouns_no_effect_is_said():
    table = predicted(outcomes(np.random.default_rng(4)))[::30]
    row = experiment_effects(table, shipped())
    assert row["content"].isna().all() and "too few nouns" in ANALYSIS.sentence("embedded", row)


def test_why_there_is_no_experiment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    table = predicted(outcomes(np.random.default_rng(5)))
    other = Material(table.assign(model="bert-base-uncased"))
    assert ANALYSIS.compute(other)["experiment"].empty
    assert "did not ask embedded" in ANALYSIS.reason(other)
    unknown = Material(table.assign(item="x" + table["item"]))
    assert ANALYSIS.compute(unknown)["experiment"].empty
    assert "no noun in some of the arms" in ANALYSIS.reason(unknown)
    monkeypatch.setattr(experiment, "EMBEDDED_FOLDER", tmp_path)
    assert ANALYSIS.compute(Material(table))["experiment"].empty
    assert "table of arms" in ANALYSIS.reason(Material(table))


def test_the_doses_that_ship_are_equal_and_nothing_else_is_read():
    arms = shipped()
    items = pd.concat([load_diagnostic(name) for name in NAMES]).drop_duplicates("hyponym")
    assert arms["category"].to_dict() == dict(zip(items["hyponym"], items["hypernym"], strict=True))
    assert arms["arm"].value_counts().to_dict() == dict.fromkeys(ARMS, 197)
    by_category = pd.crosstab(arms["category"], arms["arm"])
    assert (by_category.max(axis=1) - by_category.min(axis=1) <= 1).all()
    assert (arms[["n_headword", "n_statement"]] == 0).all(axis=None)
    withheld = arms["arm"] == "withheld"
    assert (arms.loc[withheld, ["n_exposures", "n_tokens"]] == 0).all(axis=None)
    assert (arms.loc[~withheld, "n_exposures"] == 8).all()
    tokens = arms[~withheld].groupby("arm")["n_tokens"].mean()
    assert tokens["line"] == pytest.approx(tokens["sentence"], rel=0.01)
