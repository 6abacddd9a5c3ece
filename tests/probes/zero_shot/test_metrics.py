"""The zero-shot metrics on a small frame worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperprobe.probes.zero_shot.metrics import breakdown, compare_models, confusion, summarise
from hyperprobe.probes.zero_shot.outcomes import METRICS, outcome_table

ITEMS = {"robin": "bird", "wren": "bird", "trout": "fish", "oak": "tree"}
#                robin, wren, trout, oak
RANKS = {
    "open": (1, 4, 6, 0),
    "singular": (1, 1, 2, 1),
    "plural": (1, 2, 1, 1),
    "contextual": (1, np.nan, 1, 2),
}


def frame(ranks: dict[str, tuple], model: str = "x", **scores: dict) -> pd.DataFrame:
    rows = []
    for probe, values in ranks.items():
        for (item, hypernym), rank in zip(ITEMS.items(), values, strict=True):
            if np.isnan(rank):
                continue  # an item without this prompt has no row
            rows.append(
                {
                    "diagnostic": "set", "model": model, "probe": probe, "item": item,
                    "hyponym": item, "hypernym": hypernym, "gold": hypernym, "zipf": 2.2,
                    "gold_rank": rank, "gold_tied": 0, "margin": 0.5,
                    "best": hypernym if rank == 1 else "bird",
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_every_metric_by_hand():
    row = summarise(frame(RANKS)).iloc[0]
    assert row["n_items"] == 4 and row["n_contextual"] == 3
    expected = {
        "open_p_at_1": 25, "open_p_at_5": 50, "singular": 75, "plural": 75,
        "contextual": 100 * 2 / 3, "paired_singular_plural": 50,
        # over the three items with a context: robin alone has all three right
        "paired_aggregate": 100 / 3,
    }  # fmt: skip
    for metric, value in expected.items():
        assert row[metric] == pytest.approx(value), metric
        assert row[f"{metric}_low"] <= value <= row[f"{metric}_high"]
    assert row["paired_expected"] == pytest.approx(56.25)
    assert row["paired_difference"] == pytest.approx(-6.25)
    assert row["chance_corrected_singular"] == pytest.approx(100 * (0.75 - 1 / 3) / (2 / 3))
    assert row["margin_singular"] == pytest.approx(0.5)


def test_what_was_not_asked_is_missing_and_not_zero():
    row = summarise(frame({"singular": RANKS["singular"]})).iloc[0]
    assert row["singular"] == 75
    assert row[["open_p_at_1", "plural", "contextual", "paired_aggregate"]].isna().all()


def test_a_word_that_cannot_be_scored_is_wrong_and_counted():
    row = summarise(frame({"singular": (1, 0, 0, 1), "plural": (1, 1, 1, 1)})).iloc[0]
    assert row["singular"] == 50 and row["n_unscored_singular"] == 2


ranks = st.lists(st.integers(0, 9), min_size=4, max_size=4).map(tuple)


@given(ranks, ranks)
@settings(max_examples=40, deadline=None)
def test_paired_is_never_above_either(singular: tuple, plural: tuple):
    table = frame({"singular": singular, "plural": plural})
    row = summarise(table).iloc[0]
    assert row["paired_singular_plural"] <= min(row["singular"], row["plural"]) + 1e-9
    shuffled = summarise(table.sample(frac=1, random_state=1)).iloc[0]
    for metric in ("singular", "plural", "paired_singular_plural", "paired_difference_low"):
        assert shuffled[metric] == pytest.approx(row[metric])


def test_prior_correction_takes_the_control_scores_off():
    probe = frame({"singular": (2, 2, 1, 1)})
    control = frame({"singular": (2, 2, 1, 1)}, model="control:x")
    scores = {"bird": (-3.0, -3, -4, -4), "fish": (-2.0, -2, -1, -2), "tree": (-9.0, -9, -9, -1)}
    prior = {"bird": (-9.0, -9, -9, -9), "fish": (-2.0, -2, -2, -2), "tree": (-9.0, -9, -9, -9)}
    for word in scores:
        probe[f"score_{word}"] = scores[word]
        control[f"score_{word}"] = prior[word]
    # Lifts: robin and wren bird 6 of 0 0, trout bird 5 over fish 1 (wrong), oak tree 8 over 5.
    table = summarise(pd.concat([probe, control]))
    assert table.set_index("model").loc["x", "prior_corrected_singular"] == 75
    assert np.isnan(table.set_index("model").loc["control:x", "prior_corrected_singular"])


def test_breakdown_and_confusion_count_every_item():
    table = breakdown(frame(RANKS))
    by_category = table[table["by"] == "category"].set_index("value")
    assert by_category["n_items"].to_dict() == {"bird": 2, "fish": 1, "tree": 1}
    assert by_category.loc["bird", "plural"] == 50
    assert table[table["by"] == "zipf"]["n_items"].sum() == 4
    counts = confusion(frame(RANKS))
    totals = counts.groupby("probe")["n_items"].sum().to_dict()
    assert totals == {"singular": 4, "plural": 4, "contextual": 3}


def test_models_are_compared_on_every_metric_that_both_have():
    other = frame({"singular": (0, 0, 0, 0)}, model="y")
    table = compare_models(pd.concat([frame(RANKS), other]))
    row = table.set_index("metric").loc["singular"]
    assert (row["only_model"], row["only_other"], row["p_value"]) == (3, 0, 0.25)
    assert list(table["metric"]) == ["singular"]


def test_the_outcome_table_has_one_row_per_item():
    assert outcome_table(frame(RANKS)).shape == (4, len(METRICS))
