import numpy as np
import pandas as pd
import pytest

from hyperprobe.probes.classify.metrics import (
    accuracy_by_run,
    calibrated_pairs,
    summarise,
    summarise_layers,
)

ABOUT = {"setting": "seen", "model": "m", "input": "full", "classifier": "net", "layer": "",
         "question": "pair", "known": True}  # fmt: skip


def answers(rows: list[tuple[int, int, int, float]], **about: object) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["fold", "seed", "label", "log_odds"])
    frame["hyponym"] = [f"word{i}" for i in range(len(frame))]
    return frame.assign(hypernym="bird", **{**ABOUT, **about})


# Accuracies 100, 50 | 50, 0; three errors say "hypernym", one does not.
NETS = answers(
    [
        (1, 0, 1, 2.0), (1, 0, 0, -1.0), (1, 1, 1, 2.0), (1, 1, 0, 1.0),
        (2, 0, 1, 2.0), (2, 0, 0, 0.5), (2, 1, 1, -2.0), (2, 1, 0, 0.1),
    ]
)  # fmt: skip


def test_means_deviations_and_errors():
    (row,) = summarise(NETS).to_dict("records")
    assert (row["setting"], row["model"], row["input"]) == ("seen", "m", "full")
    assert row["accuracy_mean"] == 50
    assert row["accuracy_std"] == pytest.approx(np.std([100, 50, 50, 0], ddof=1))
    assert row["std_between_folds"] == pytest.approx(np.std([75, 25], ddof=1))
    assert row["std_between_seeds"] == pytest.approx(np.std([100, 50], ddof=1))
    assert (row["n_folds"], row["n_seeds"], row["n_test"], row["n_unknown"]) == (2, 2, 4, 0)
    assert row["false_positive_share"] == 75
    assert np.isnan(row["reversed_rejected"]) and np.isnan(row["selectivity"])


def test_what_stands_beside():
    extra = [
        answers([(1, 0, 0, 1.0), (1, 0, 0, -1.0), (1, 0, 0, -2.0)], question="reversed"),
        answers([(1, 0, 1, 1.0), (1, 0, 0, -1.0)], classifier="logistic"),
        answers([(1, 0, 1, 1.0), (1, 0, 1, 1.0), (1, 0, 0, 1.0), (1, 0, 0, -1.0)],
                question="control"),
        answers([(1, 0, 1, -1.0)], layer="2"),
        answers([(1, 0, 1, 1.0)], model="other"),
    ]  # fmt: skip
    codes = pd.DataFrame({"setting": "seen", "model": "m", "input": "full", "fold": 1,
                          "seed": [0, 1], "n_labels": 100, "bits": [50.0, 25.0]})  # fmt: skip
    own, other = summarise(pd.concat([NETS, *extra]), codes).to_dict("records")
    assert own["accuracy_mean"] == 50 and own["false_positive_share"] == 75
    assert own["reversed_rejected"] == pytest.approx(200 / 3)
    assert (own["logistic_mean"], own["logistic_std"]) == (100, 0)
    assert (own["control_mean"], own["selectivity"]) == (75, -25)
    assert (own["compression_mean"], own["n_seeds"]) == (3, 2)
    assert other["model"] == "other" and np.isnan(other["compression_mean"])


def test_order_of_rows_does_not_matter():
    shuffled = NETS.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(summarise(shuffled), summarise(NETS))


def test_layers():
    both = pd.concat([NETS, NETS.assign(layer="0"), NETS.assign(layer="11", log_odds=0.0)])
    table = summarise_layers(both)
    assert table["layer"].tolist() == [0, 11]
    assert table["accuracy_mean"].tolist() == [50, 50]
    assert summarise_layers(NETS).empty


def test_unknown_pairs_are_counted_once():
    frame = pd.concat([NETS.iloc[:2], NETS.iloc[:2].assign(seed=1)])
    frame["known"] = [False, True] * 2
    assert summarise(frame)["n_unknown"].tolist() == [1]
    assert len(accuracy_by_run(frame)) == 2


def test_log_odds_of_zero_are_half_right():
    flat = answers([(1, 0, 1, 0.0), (1, 0, 0, 0.0), (1, 0, 1, 0.0), (1, 0, 0, 0.0)])
    backwards = answers([(1, 0, 0, 0.0), (1, 0, 0, 0.0)], question="reversed")
    (row,) = summarise(pd.concat([flat, backwards])).to_dict("records")
    assert row["accuracy_mean"] == row["reversed_rejected"] == row["false_positive_share"] == 50


def test_calibrated_pairs_by_hand():
    # Within each fold and seed the other pair's log-odds are subtracted: 3, -3 | 1, -1 | 1.5, -1.5
    # are right, -2.1 and 2.1 wrong, one of them a false positive.
    (row,) = summarise(NETS).to_dict("records")
    assert row["accuracy_calibrated"] == 75 and row["false_positive_share_calibrated"] == 50
    # Always "a bird": Robin 3 - 5.5/3, trout 2 - 6.5/3, wren 2.5 - 6/3, carp 1 - 7.5/3.
    liked = answers([(1, 0, 1, 3.0), (1, 0, 0, 2.0), (1, 0, 1, 2.5), (1, 0, 0, 1.0)])
    # Of "fish" there is one pair only: nothing to subtract, and so half right.
    alone = answers([(1, 0, 0, 4.0)]).assign(hypernym="fish")
    pairs = calibrated_pairs(pd.concat([liked, alone]))
    assert pairs["log_odds"].tolist() == pytest.approx([3.5 / 3, -0.5 / 3, 0.5, -1.5, 0], abs=1e-6)
    (row,) = summarise(liked).to_dict("records")
    assert (row["accuracy_mean"], row["false_positive_share"]) == (50, 100)
    assert row["accuracy_calibrated"] == 100 and np.isnan(row["false_positive_share_calibrated"])


def test_calibration_gives_nothing_to_a_net_that_knows_the_hypernym_alone():
    rows = [(1, 0, 1, 2.0), (1, 0, 0, 2.0), (1, 0, 1, 2.0), (1, 0, 0, 2.0)]
    (row,) = summarise(answers(rows)).to_dict("records")
    assert row["accuracy_calibrated"] == row["false_positive_share_calibrated"] == 50
