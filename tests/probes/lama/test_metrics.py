"""Ranking metrics of facts by hand-made cases and by properties."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperprobe.probes.lama.mcnemar import RightFacts
from hyperprobe.probes.lama.metrics import (
    add_filtered_rank,
    correlations,
    hits,
    p_at_k,
    reciprocal_ranks,
    summarise_facts,
    summarise_mentions,
    summarise_negated,
)
from hyperprobe.probes.lama.paraphrases import article_fits, consistency


def frame(rows: list[tuple[str, str, int]], model: str = "m", relation: str = "P1", type: str = ""):
    """Predictions from (text, gold, rank)."""
    texts, gold, ranks = zip(*rows, strict=True)
    return pd.DataFrame(
        {
            "source": "s",
            "relation": relation,
            "type": type,
            "model": model,
            "prompt": "p",
            "item": range(len(rows)),
            "text": texts,
            "gold": gold,
            "gold_rank": ranks,
            "gold_tied": 0,
            "gold_tied_before": 0,
            "gold_score": [-float(rank) for rank in ranks],
            "n_subject_pieces": 1.0,
        }
    )


def compared(*frames: pd.DataFrame) -> pd.DataFrame:
    """McNemar's tests, from the answers of one model after the other."""
    right = RightFacts()
    for one in frames:
        right.add(add_filtered_rank(one))
    return right.compare()


def test_other_right_answers_leave_the_filtered_ranking():
    # A country with three right answers at ranks 1, 3 and 4; another with one at rank 2.
    facts = frame([("a", "x", 3), ("a", "y", 1), ("a", "z", 4), ("b", "x", 2)])
    assert add_filtered_rank(facts)["filtered_rank"].tolist() == [2, 1, 2, 2]


def test_ties_and_unscored_answers_in_the_filtered_ranking():
    # One candidate is above three that tie: x, y and one that is no answer, in this order.
    facts = frame([("a", "x", 2), ("a", "y", 3), ("a", "z", 5), ("a", "w", 0), ("a", "x", 2)])
    facts["gold_tied"], facts["gold_tied_before"] = [2, 2, 0, 0, 2], [0, 1, 0, 0, 0]
    facts = add_filtered_rank(facts)
    assert facts["filtered_rank"].tolist() == [2, 2, 3, 0, 2]
    assert facts["filtered_tied"].tolist() == [1, 1, 0, 0, 1]
    assert hits(facts, "raw", 2).tolist() == [1, 0, 0, 0, 1]
    assert hits(facts, "filtered", 2).tolist() == [0.5, 0.5, 0, 0, 0.5]
    assert hits(facts, "filtered", 3).tolist() == [1, 1, 1, 0, 1]
    tied = (1 / 2 + 1 / 3) / 2
    assert reciprocal_ranks(facts, "filtered") == pytest.approx([tied, tied, 1 / 3, 0, tied])
    assert reciprocal_ranks(facts, "raw") == pytest.approx([1 / 2, 1 / 3, 1 / 5, 0, 1 / 2])
    curve = p_at_k(facts)
    curve = curve[curve["ranking"] == "filtered"].set_index("k")["p_at_k"]
    for k, share in curve.items():
        assert share == pytest.approx(100 * hits(facts, "filtered", k).mean())
    assert list(curve.index) == [1, 2, 3]


def test_a_tie_is_not_right_in_mcnemars_test():
    one = frame([("a", "x", 1), ("b", "x", 1)], model="one")
    two = frame([("a", "x", 1), ("b", "x", 1)], model="two").assign(gold_tied=1)
    table = compared(one, two).set_index("ranking")
    assert table["only_model"].to_dict() == {"raw": 0, "filtered": 2}


def test_mcnemars_test_is_over_the_facts_that_both_answer():
    one = [frame([("a", "x", 1), ("b", "x", 1)], "one", relation) for relation in ("P1", "P2")]
    two = frame([("a", "x", 2), ("b", "x", 1)], "two", "P2")
    table = compared(pd.concat(one), two)
    assert table["only_model"].tolist() == [1, 1] and table["only_other"].tolist() == [0, 0]
    table = compared(two, pd.concat(one))
    assert table["only_model"].tolist() == [0, 0] and table["only_other"].tolist() == [1, 1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.sampled_from("vwxyz"), st.integers(min_value=0, max_value=50)
        ),
        min_size=1,
        max_size=30,
        # No two objects of a question have one rank, unless neither can be scored (0).
        unique_by=(lambda row: row[:2], lambda row: (row[0], row[2] or row[1])),
    )
)
@settings(max_examples=50, deadline=None)
def test_filtered_is_never_worse_than_raw(rows: list[tuple[str, str, int]]):
    facts = add_filtered_rank(frame(rows))
    raw, filtered = facts["gold_rank"], facts["filtered_rank"]
    assert (filtered <= raw).all()
    assert ((filtered >= 1) == (raw >= 1)).all()


def test_metrics_by_hand():
    first = frame([("a", "x", 1), ("b", "x", 2), ("c", "x", 20_000), ("d", "x", 0)], type="1-1")
    second = frame([("a", "x", 1), ("b", "x", 11)], relation="P2", type="N-1")
    metrics = summarise_facts(add_filtered_rank(pd.concat([first, second])))
    raw = metrics[metrics["ranking"] == "raw"].set_index("relation")
    assert raw["p_at_1"]["P1"] == 25 and raw["p_at_10"]["P1"] == 50
    # Beyond 10,000 the reference code gives nothing; the paper's ranking has no such limit.
    assert raw["mrr"]["P1"] == pytest.approx(1.5 / 4)
    filtered = metrics[metrics["ranking"] == "filtered"].set_index("relation")
    assert filtered["mrr"]["P1"] == pytest.approx((1.5 + 1 / 20_000) / 4)
    assert raw["p_at_1"]["macro"] == pytest.approx((25 + 50) / 2)
    assert raw["p_at_1"]["micro"] == pytest.approx(100 * 2 / 6)
    assert raw["p_at_1"]["N-1"] == 50 and raw["n_facts"]["macro"] == 6
    for mean in ("macro", "micro"):
        assert raw["p_at_1_low"][mean] <= raw["p_at_1"][mean] <= raw["p_at_1_high"][mean]


def test_p_at_k_rises_to_the_share_of_ranked_facts():
    facts = add_filtered_rank(frame([("a", "x", 1), ("b", "x", 5), ("c", "x", 0)]))
    curve = p_at_k(facts)
    raw = curve[curve["ranking"] == "raw"].set_index("k")["p_at_k"]
    assert raw.to_dict() == pytest.approx({1: 100 / 3, 5: 200 / 3})


def test_models_are_compared_on_the_same_facts():
    one = frame([("a", "x", 1), ("b", "x", 1), ("c", "x", 2)], model="one")
    two = frame([("a", "x", 2), ("b", "x", 1), ("c", "x", 3)], model="two")
    table = compared(one, two)
    pd.testing.assert_frame_equal(table, compared(pd.concat([one, two])))
    raw = table[table["ranking"] == "raw"].iloc[0]
    assert (raw["only_model"], raw["only_other"], raw["p_value"]) == (1, 0, 1.0)


def test_consistency_of_paraphrases_by_hand():
    parts = []
    for prompt, answers, ranks in (("p", "xy", (1, 2)), ("q", "xz", (1, 3)), ("r", "wz", (2, 3))):
        part = frame([("a", "x", ranks[0]), ("b", "x", ranks[1])])
        parts.append(part.assign(prompt=prompt, best=list(answers)))
    row = consistency(pd.concat(parts)).iloc[0]
    # First fact: x x w, one of three pairs agrees; second: y z z, one of three.
    assert row["consistency"] == pytest.approx(100 / 3)
    assert row["p_at_1"] == pytest.approx(100 * 2 / 6) and row["consistent_p_at_1"] == 0


@pytest.mark.parametrize(
    ("pattern", "answer", "fits"),
    [
        ("[X] is a [Y].", "actor", False),
        ("[X] is a [Y].", "poet", True),
        ("[X] is an [Y].", "poet", False),
        ("[X] is an [Y].", "Actor", True),
        ("[X] is a [Y]-born person.", "Oslo", False),
        ("[X] is a great [Y].", "actor", True),
        ("[X] is a [Y].", "university", False),  # letters decide, not sounds
        ("[X] is an [Y].", "hour", False),
        ("[Y] is a place.", "Oslo", True),
        ("A [Y] is [X].", "actor", True),  # and nothing but a small letter is an article
        ("[X] is a ([Y]).", "actor", False),
        ("masked sentence", "actor", True),
    ],
)
def test_an_article_that_does_not_fit_is_told_as_in_pararels_code(
    pattern: str, answer: str, fits: bool
):
    assert article_fits(pattern, answer) == fits


def test_patterns_with_the_wrong_article_do_not_count():
    parts = []
    answers = {
        "[X] is a [Y].": ("actor", "poet"),
        "[X] is an [Y].": ("actor", "actor"),
        "[X], [Y].": ("poet", "poet"),
        "[X] was an [Y].": ("actor", "poet"),
    }
    for prompt, best in answers.items():
        part = frame([("a", "actor", 1), ("b", "poet", 1)]).assign(prompt=prompt, best=list(best))
        parts.append(part.assign(gold_rank=(part["best"] != part["gold"]) + 1))
    row = consistency(pd.concat(parts)).iloc[0]
    # Of the actor the patterns with `an` and none: actor, poet, actor; one of three pairs agrees.
    # Of the poet those with `a` and none: poet, poet; one of one.
    assert row["consistency"] == pytest.approx(100 * 2 / 4)
    assert row["p_at_1"] == pytest.approx(100 * 4 / 5)
    assert (row["consistent_p_at_1"], row["n_patterns"], row["n_facts"]) == (0, 4, 2)
    none = consistency(pd.concat(parts[::3]).query("gold == 'actor'").assign(gold="poet"))
    assert none["n_patterns"].item() == 2 and np.isnan(none["consistency"].item())


def test_objects_that_a_model_has_no_score_for_are_counted():
    first = frame([("a", "x", 1), ("b", "x", 0), ("c", "x", 0), ("d", "x", 4)], type="1-1")
    second = frame([("a", "x", 0)], relation="P2", type="N-1")
    metrics = summarise_facts(add_filtered_rank(pd.concat([first, second])))
    for ranking in ("raw", "filtered"):
        rows = metrics[metrics["ranking"] == ranking].set_index("relation")
        assert rows["n_scored"].to_dict() == {
            "P1": 2, "P2": 0, "1-1": 2, "N-1": 0, "macro": 2, "micro": 2,
        }  # fmt: skip
        assert rows["n_facts"]["micro"] == 5


def test_correlations_agree_with_numpy():
    random = np.random.default_rng(0)
    facts = frame([("t", "x", int(rank)) for rank in random.integers(1, 3, 50)])
    for column in ("subject_zipf", "object_zipf", "best_score", "cosine"):
        facts[column] = random.normal(size=50)
    facts["n_subject_words"] = 1  # constant: no correlation
    facts["n_subject_pieces"] = random.integers(1, 4, 50).astype(float)
    table = correlations(facts).set_index("metric")
    right = (facts["gold_rank"] == 1).astype(float)
    assert table["OM"]["P@1"] == pytest.approx(np.corrcoef(facts["object_zipf"], right)[0, 1])
    assert table["SM"]["OM"] == pytest.approx(
        np.corrcoef(facts["subject_zipf"], facts["object_zipf"])[0, 1]
    )
    assert np.isnan(table["ST"]["P@1"]) and np.isnan(table["SWP"]["OM"])


def test_negations_and_mentions_by_hand():
    answers = frame([("a", "x", 1), ("b", "x", 1)]).assign(overlap=[1.0, 0.0], spearman=[0.5, 0.3])
    table = summarise_negated(answers).set_index("relation")
    assert table["overlap"].to_dict() == {"P1": 50, "macro": 50}
    assert table["spearman"]["macro"] == pytest.approx(0.4)
    mentions = frame([("a", "x", 1), ("b", "x", 3), ("c", "x", 10), ("d", "x", 10)])
    row = summarise_mentions(mentions.assign(item=["1", "1", "2", "2"])).iloc[0]
    assert (row["n_facts"], row["mean_rank"]) == (2, 6)
    assert row["mean_deviation"] == pytest.approx(np.sqrt(2) / 2)
