"""Detection, direction and graded entailment against hand computation and other libraries."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, precision_recall_curve

from hyperprobe.probes.pairs.metrics import Pairs, summarise
from hyperprobe.probes.pairs.thresholds import best_threshold, threshold_accuracy


def predictions(**columns) -> pd.DataFrame:
    """Pairs of one set and model; what is not given is missing or known."""
    n = len(columns["score"])
    defaults = {
        "diagnostic": "set",
        "model": "m",
        "measure": "cosine",
        "hyponym": [f"x{i}" for i in range(n)],
        "hypernym": [f"y{i}" for i in range(n)],
        "label": np.nan,
        "graded": np.nan,
        "fold": "",
        "reverse": np.nan,
        "known": True,
    }
    return pd.DataFrame({**defaults, **columns})


def row_of(frame: pd.DataFrame, fold: str = "all", model: str = "m") -> pd.Series:
    metrics = summarise(frame)
    rows = metrics[(metrics["model"] == model) & (metrics["fold"] == fold)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_average_precision_by_hand():
    """Hypernyms are 1st and 3rd: (1/1 + 2/3) / 2."""
    row = row_of(predictions(score=[4.0, 3, 2, 1], label=[1, 0, 1, 0]))
    assert row["ap"] == pytest.approx(100 * (1 + 2 / 3) / 2)
    assert row["positives"] == 50


def test_unknown_pairs_are_the_lowest_of_val():
    """The unknown hypernym ties with the lowest known val pair (2.0), above what test has."""
    frame = predictions(
        score=[5.0, 2, 9, 1, np.nan],
        label=[1, 0, 1, 0, 1],
        fold=["val", "val", "test", "test", "test"],
        known=[True, True, True, True, False],
    )
    row = row_of(frame, "test")
    assert row["ap"] == pytest.approx(100 * average_precision_score([1, 0, 1], [9, 1, 2]))
    assert row["ap_known"] == 100 and row["n_known"] == 2 and row["n_pairs"] == 3
    whole = row_of(frame)
    assert whole["ap"] == pytest.approx(
        100 * average_precision_score([1, 0, 1, 0, 1], [5, 2, 9, 1, 2])
    )


def test_unknown_pairs_are_the_median_of_train():
    frame = predictions(
        score=[1.0, 3, 5, 0, 10, np.nan, 4],
        graded=[1.0, 2, 3, 0, 6, 2.5, 4],
        fold=["train", "train", "train", "test", "test", "test", "test"],
        known=[True] * 5 + [False, True],
    )
    row = row_of(frame, "test")
    assert row["rho"] == pytest.approx(spearmanr([0, 6, 2.5, 4], [0, 10, 3, 4])[0])
    assert row["rho_known"] == pytest.approx(1)
    assert np.isnan(row["ap"]) and row["n_directed"] == 0


def test_direction_and_its_ties():
    """Of five hypernyms: two right, one wrong, one equal, one not known; a pair that is none."""
    frame = predictions(
        score=[3.0, 3, 1, 2, np.nan, 9],
        reverse=[1.0, 2, 2, 2, np.nan, np.nan],
        label=[1, 1, 1, 1, 1, 0],
        known=[True] * 4 + [False, True],
    )
    row = row_of(frame)
    assert row["n_directed"] == 5
    assert row["direction"] == pytest.approx(100 * 3 / 5)
    assert row["direction_strict"] == pytest.approx(100 * 2 / 5)
    assert row["direction_strict_known"] == pytest.approx(100 * 2 / 4)
    assert row["direction_tied"] == pytest.approx(100 * 2 / 5)


def test_reversed_pairs_are_right_when_their_reverse_scores_higher():
    frame = predictions(score=[3.0, 1, 5], reverse=[1.0, 3, 4], label=[1, -1, 0])
    row = row_of(frame)
    assert row["direction"] == 100 and row["n_directed"] == 2
    assert row["ap"] == pytest.approx(100 * average_precision_score([1, 0, 0], [3, 1, 5]))


def test_the_threshold_is_the_first_best_one():
    random = np.random.default_rng(1)
    for _ in range(50):
        n = random.integers(1, 12)
        score, positive = random.integers(0, 5, n).astype(float), random.random(n) < 0.5
        thresholds = np.unique(score)
        right = [((score >= t) == positive).mean() for t in thresholds]
        assert best_threshold(score, positive) == thresholds[int(np.argmax(right))]


def naive_accuracy(score, label, reverse=None, directed=False):
    """The procedure as the paper's program has it, with scikit-learn's thresholds."""
    random = np.random.RandomState(42)
    best = score if reverse is None else np.maximum(score, reverse)
    means = []
    for _ in range(1000):
        val = random.rand(len(label)) < 0.02
        positive = label != 0
        *_, thresholds = precision_recall_curve(positive[val], best[val])
        right = [np.mean((best[val] >= t) == positive[val]) for t in thresholds]
        said = best >= thresholds[int(np.argmax(right))]
        answer = said * (np.where(score >= reverse, 1, -1) if directed else 1)
        means.append(np.mean(answer[~val] == label[~val]))
    return np.mean(means)


@pytest.mark.filterwarnings("ignore:No positive class")
def test_accuracy_is_the_originals():
    n, random = 300, np.random.default_rng(2)
    label = random.integers(0, 2, n).astype(float)
    score = np.round(label + random.normal(0, 1, n), 1)
    mean, of_pair = threshold_accuracy(score, label)
    assert mean == pytest.approx(naive_accuracy(score, label))
    assert of_pair.mean() == pytest.approx(mean, abs=0.01)
    label = random.integers(-1, 2, n).astype(float)
    score, reverse = label + random.normal(0, 1, n), -label + random.normal(0, 1, n)
    mean, _ = threshold_accuracy(score, label, reverse)
    assert mean == pytest.approx(naive_accuracy(score, label, reverse, directed=True))


def test_too_few_pairs_for_a_threshold():
    mean, of_pair = threshold_accuracy(np.array([1.0]), np.array([1.0]))
    assert np.isnan(mean) and np.isnan(of_pair).all()


def random_set(n: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(3)
    label = (random.random(n) < 0.3).astype(float)
    return predictions(
        score=random.normal(0, 1, n),
        reverse=np.where(label == 1, random.normal(0, 1, n), np.nan),
        label=label,
        graded=random.normal(0, 1, n),
        hyponym=[f"x{i // 3}" for i in range(n)],
    )


def test_a_model_that_knows_nothing_is_at_chance():
    metrics = summarise(random_set())
    chance, model = (metrics[metrics["model"] == name].iloc[0] for name in ("chance", "m"))
    assert chance["ap"] == pytest.approx(chance["positives"], abs=1.5)
    for name in ("ap", "direction", "rho"):
        low, high = chance[f"{name}_low"], chance[f"{name}_high"]
        assert low < chance[name] < high
        # (one in twenty is outside by chance, but none is far outside)
        assert low - (high - low) / 2 < model[name] < high + (high - low) / 2
        assert model[f"{name}_high"] - model[f"{name}_low"] == pytest.approx(high - low, rel=0.35)
    assert chance["accuracy"] == pytest.approx(100 - chance["positives"])
    assert model["accuracy"] < chance["accuracy"]  # no threshold is better than none


def test_repeating_every_pair_of_a_hyponym_tells_nothing_new():
    """Intervals are over hyponyms: ten copies of a set are as uncertain as the set."""
    frame = random_set(150)
    once, ten = row_of(frame), row_of(pd.concat([frame] * 10))
    assert ten["ap"] == pytest.approx(once["ap"])
    assert (ten["ap_low"], ten["ap_high"]) == pytest.approx((once["ap_low"], once["ap_high"]))
    assert ten["rho_high"] == pytest.approx(once["rho_high"])


def test_a_list_of_hypernyms_has_a_direction_alone():
    row = row_of(predictions(score=[2.0, 1], reverse=[1.0, 2], label=[1, 1]))
    assert np.isnan(row["ap"]) and np.isnan(row["rho"]) and row["direction"] == 50
    assert "accuracy" not in row or np.isnan(row["accuracy"])


def test_a_scorer_that_knows_no_pair():
    frame = predictions(score=[np.nan] * 4, label=[1, 0, 1, 0], known=False)
    row = row_of(frame)
    assert row["ap"] == 50 and np.isnan(row["ap_known"]) and row["n_known"] == 0
    assert row["direction"] == 50 and row["direction_strict"] == 0


def test_folds():
    pairs = Pairs(predictions(score=[1.0, 2, 3], fold=["test", "train", ""], label=[1, 0, 1]))
    assert [fold for fold, _ in pairs.folds()] == ["train", "test", "all"]
