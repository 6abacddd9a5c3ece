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
    # Wilson's interval of 3 in 4, by hand: (3 + 1.92 -+ 1.96 sqrt(4 * .1875 + .96)) / (4 + 3.84)
    assert row["singular_low"] == pytest.approx(30.06, abs=0.01)
    assert row["singular_high"] == pytest.approx(95.44, abs=0.01)
    assert row["singular_macro"] == pytest.approx(100 * (1 + 0 + 1) / 3)
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
@settings(max_examples=20, deadline=None)
def test_paired_is_never_above_either(singular: tuple, plural: tuple):
    table = frame({"singular": singular, "plural": plural})
    row = summarise(table).iloc[0]
    assert row["paired_singular_plural"] <= min(row["singular"], row["plural"]) + 1e-9
    shuffled = summarise(table.sample(frac=1, random_state=1)).iloc[0]
    for metric in ("singular", "plural", "paired_singular_plural", "paired_singular_plural_low"):
        assert shuffled[metric] == pytest.approx(row[metric])


SCORES = {  # of robin, wren, trout and oak; fish is liked by the prompt
    "bird": (-3.0, -4.0, -6.0, -6.0), "fish": (-2.0, -2.0, -1.0, -2.0),
    "tree": (-9.0, -9.0, -9.0, -5.0),
}  # fmt: skip
PRIOR = {"bird": -6.0, "fish": -2.0, "tree": -9.0}


def scored(ranks: tuple, model: str = "x", probe: str = "singular") -> pd.DataFrame:
    columns = {f"score_{c}": values for c, values in SCORES.items()}
    return frame({probe: ranks}, model).assign(**columns)


def test_calibrated_and_pmi_by_hand():
    # Raw, fish wins everywhere. Means over the others: bird -5.33 for robin, -5 for wren,
    # -4.33 for trout and oak; fish -1.67, trout's -2; tree -7.67, and for oak -9.
    # Calibrated, robin and wren 2.33 and 1 for bird, trout 1 for fish, oak 4 for tree: all right.
    table = scored((2, 2, 1, 2)).assign(**{f"prior_{c}": v for c, v in PRIOR.items()})
    row = summarise(table).iloc[0]
    assert row["singular"] == 25 and row["singular_calibrated"] == 100
    assert row["singular_pmi"] == 100  # lifts: bird 3 and 2, fish 1, tree 4
    assert summarise(scored((2, 2, 1, 2)))["singular_pmi"].isna().all()
    assert row["singular_calibrated_low"] == pytest.approx(51.01, abs=0.01)  # 4 of 4


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
    assert list(table["metric"]) == ["singular"] and row["p_holm"] == 0.25


def test_the_outcome_table_has_one_row_per_item():
    assert outcome_table(frame(RANKS)).shape == (4, len(METRICS) + 2 * 5)
