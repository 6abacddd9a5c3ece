"""The frequency tests are scipy's, and those within categories see through a mix of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kruskal, mannwhitneyu, shapiro
from statsmodels.stats.multitest import multipletests

from hyperprobe.analysis.corpus_counts import CorpusCounts
from hyperprobe.analysis.frequency import ANALYSIS, frequency_curve, frequency_test
from tests.analysis.simulated import answered, made, scored


def test_the_frequency_tests_are_scipys():
    table = made()
    (row,) = frequency_test(scored(table))[lambda t: t["probe"] == "singular"].to_dict("records")
    own = table[table["probe"] == "singular"]
    counts = 10 ** own["zipf"]
    yes, no = counts[own["gold_rank"] == 1], counts[own["gold_rank"] == 2]
    h, p = kruskal(yes, no)
    n = len(own)
    assert (row["kruskal_h"], row["kruskal_p"]) == pytest.approx((h, p))
    assert row["shapiro_p_recognised"] == pytest.approx(shapiro(yes).pvalue)
    assert row["shapiro_p_unrecognised"] == pytest.approx(shapiro(no).pvalue)
    assert row["epsilon_squared"] == pytest.approx(h / (n - 1))
    u = mannwhitneyu(yes, no).statistic
    assert row["superiority"] == pytest.approx(100 * u / len(yes) / len(no))
    assert row["mean_recognised"] == pytest.approx(yes.mean())
    assert row["n_recognised"] + row["n_unrecognised"] == n


def test_within_categories_by_hand():
    table = made(60)
    tests = frequency_test(scored(table))
    row = tests[tests["probe"] == "singular"].iloc[0]
    own = table[table["probe"] == "singular"]
    wins = pairs = 0.0
    for _, part in own.groupby("hypernym"):
        yes, no = (part.loc[part["gold_rank"] == k, "zipf"] for k in (1, 2))
        wins += mannwhitneyu(yes, no).statistic
        pairs += len(yes) * len(no)
    assert row["superiority_within"] == pytest.approx(100 * wins / pairs)
    ranks = own.groupby("hypernym")["zipf"].transform(lambda z: (z.rank() - 0.5) / len(z))
    expected = kruskal(*(ranks[own["gold_rank"] == k] for k in (1, 2))).pvalue
    assert row["p_value"] == pytest.approx(expected)
    assert tests["p_holm"].tolist() == pytest.approx(
        multipletests(tests["p_value"], method="holm")[1].tolist()
    )


def test_a_mix_of_categories_is_no_finding():
    """Birds are frequent and easy, fish rare and hard; within them frequency does nothing."""
    random = np.random.default_rng(5)
    is_bird = np.arange(400) % 2 == 1
    right = random.random(400) < np.where(is_bird, 0.8, 0.3)
    table = answered({"singular": right}, random.uniform(1, 2, 400) + 2 * is_bird)
    row = frequency_test(scored(table)).iloc[0]
    assert row["kruskal_p"] < 1e-6 and row["superiority"] > 65
    assert row["p_holm"] > 0.05 and 44 < row["superiority_within"] < 56
    sentence = ANALYSIS.sentence("m", pd.DataFrame([row]))
    assert "not shown to be more or less frequent" in sentence
    rising = answered({"singular": random.random(400) < (table["zipf"] % 2) / 2}, table["zipf"])
    assert "right are more frequent" in ANALYSIS.sentence("m", frequency_test(scored(rising)))


def test_the_noun_alone_stands_beside():
    both = pd.concat([made(), made(model="control:m")])
    table = frequency_test(scored(both)).set_index(["model", "probe"])
    expected = table.at[("control:m", "plural"), "superiority_within"]
    assert table.at[("m", "plural"), "control_superiority_within"] == expected
    assert np.isnan(table.at[("control:m", "plural"), "control_superiority_within"])


def test_a_test_that_cannot_be_made_is_empty():
    only_x0_wrong = np.arange(40) > 0
    table = answered({"singular": only_x0_wrong}, made()["zipf"][:40])
    row = frequency_test(scored(table)).iloc[0]
    assert row["n_unrecognised"] == 1 and np.isnan(row["shapiro_p_unrecognised"])
    assert frequency_test(scored(answered({"singular": np.ones(40)}))).empty
    same = frequency_test(scored(answered({"singular": only_x0_wrong}, 2.0))).iloc[0]
    assert (same["kruskal_p"], same["superiority"], same["p_value"]) == (1.0, 50.0, 1.0)


def test_what_cannot_be_scored_is_left_out():
    table = made()
    lost = table["item"] == "x3"
    scores = ["score_bird", "score_fish"]
    table.loc[lost, scores] = np.nan
    table.loc[lost, "gold_rank"] = 0
    row = frequency_test(scored(table)).iloc[0]
    assert row["n_recognised"] + row["n_unrecognised"] == 39
    assert frequency_curve(scored(table))["n_items"].sum() == 40  # (no outcome, but an item)


def test_the_curve_has_every_item_once():
    table = made()
    curve = frequency_curve(scored(table))
    assert curve["n_items"].sum() == table["item"].nunique()
    whole = (table[table["probe"] == "singular"]["gold_rank"] == 1).mean()
    for name in ("singular", "singular_calibrated"):
        weighted = (curve[name] * curve["n_items"]).sum() / curve["n_items"].sum()
        assert weighted == pytest.approx(100 * whole)
    words = pd.Series({f"x{i}": [0, 5, 5000][i % 3] for i in range(40)})
    counted = CorpusCounts("mine", words, pd.DataFrame())
    bands = frequency_curve(scored(table), [counted])[lambda t: t["source"] == "mine"]
    assert bands["from"].tolist() == [0, 1, 1000] and bands["n_items"].tolist() == [14, 13, 13]


def test_answers_that_follow_frequency_are_no_finding():
    """Frequent nouns are called birds and rare ones fish, whatever they are."""
    random = np.random.default_rng(6)
    zipf = np.where(np.arange(400) % 10 == 0, 0.5, 2) + random.uniform(0, 2, 400)
    says_bird = zipf + random.normal(0, 0.4, 400) > 2.2
    table = answered({"singular": says_bird == (np.arange(400) % 2 == 1)}, zipf)
    row = frequency_test(scored(table)).iloc[0]
    assert row["p_holm"] < 0.05 and abs(row["superiority_within"] - 50) > 2
    assert row["superiority_categories_low"] < 50 < row["superiority_categories_high"]
    assert "not shown to be more or less" in ANALYSIS.sentence("m", pd.DataFrame([row]))
