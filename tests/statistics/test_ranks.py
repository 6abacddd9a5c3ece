"""Ranks and ties by hand, and models whose scores are all equal: they are at chance."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from gensim.models import KeyedVectors
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from hyperprobe.analysis.agreement import agreement
from hyperprobe.analysis.article import article_leak
from hyperprobe.analysis.errors import open_errors
from hyperprobe.analysis.frequency import frequency_curve, frequency_test
from hyperprobe.analysis.negation import negation
from hyperprobe.analysis.outcomes import each_outcome
from hyperprobe.analysis.variants import ask_again, with_run_prompt
from hyperprobe.analysis.wording import template_accuracy, template_spread
from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.base import rank_scores
from hyperprobe.models.load import load_model
from hyperprobe.models.ranking import ranking_of, top_of
from hyperprobe.models.static import StaticModel
from hyperprobe.probes.lama.metrics import add_filtered_rank, summarise_facts, summarise_mentions
from hyperprobe.probes.lama.predictions import predict_facts, predict_mentions
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.probes.prompts.learning import QuestionSet
from hyperprobe.probes.prompts.splits import Split
from hyperprobe.probes.prompts.texts import best_of
from hyperprobe.probes.zero_shot.clozes import SINGULAR
from hyperprobe.probes.zero_shot.metrics import breakdown, compare_models, summarise
from hyperprobe.probes.zero_shot.predictions import closed_predictions, predict, predict_probe
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.ranks import more, rank_correlations, reciprocal, success

ASKED = load_set("lm-diagnostic")
SET = ASKED.frame
SCORES = np.array(
    [[-1.0, -3.0, -1.0, -1.0, -2.0], [-2.0, -1.0, -3.0, -3.0, -3.0]], dtype=np.float32
)
RELATION = Relation("mine", "P1", Path("P1.jsonl"), "the [X] is a [Y] .", "", "N-M")
CANDIDATES = CandidateSet(("bird", "fish", "tree", "tool", "house"))
FACTS = [
    Fact("1", "robin", "bird"),
    Fact("2", "robin", "fish"),
    Fact("3", "oak", "tree"),
    Fact("4", "hammer", "tool"),
]


# -- ranks ----------------------------------------------------------------------------------


def test_numpy_and_torch_rank_alike():
    gold = [2, 4]
    arrays = rank_scores(SCORES, gold, 4)
    tensors = ranking_of(iter([([0, 1], torch.tensor(SCORES))]), gold, 4)
    for ranking in (arrays, tensors):
        assert ranking.gold_rank.tolist() == [1, 3]
        assert ranking.gold_tied.tolist() == [2, 2]
        assert ranking.gold_tied_before.tolist() == [1, 2]
        assert ranking.gold_list_rank.tolist() == [2, 5]
        assert ranking.top.tolist() == [[0, 2, 3, 4], [1, 0, 2, 3]]


def test_without_a_gold_or_its_score_there_is_no_rank():
    scores = np.array([[-np.inf] * 3, [0.5, -np.inf, -np.inf], [np.nan] * 3, [1, 1, 1]])
    ranking = rank_scores(scores.astype(np.float32), [0, 1, 2, None], 1)
    assert ranking.gold_rank.tolist() == ranking.gold_tied.tolist() == [0, 0, 0, 0]
    assert ranking.gold_list_rank.tolist() == [0, 0, 0, 0] and np.isnan(ranking.gold_score).all()


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.integers(1, 40))
def test_equal_scores_stay_in_order_at_the_top(row: list[int], k: int):
    k = min(k, len(row))
    expected = sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]
    assert top_of(torch.tensor([row, row], dtype=torch.float), k).tolist() == [expected] * 2


@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 5))
def test_a_tie_is_worth_its_mean_over_all_orders(row: list[int], k: int):
    ranking = rank_scores(np.array([row], dtype=np.float32), [0], 1)
    places = [
        1 + sorted(order, key=lambda i: -row[i]).index(0) for order in permutations(range(len(row)))
    ]
    share = success(ranking.gold_rank, ranking.gold_tied, k)[0]
    assert share == pytest.approx(np.mean([place <= k for place in places]))
    mean = reciprocal(ranking.gold_rank, ranking.gold_tied)[0]
    assert mean == pytest.approx(np.mean([1 / place for place in places]))


def test_outcomes_of_what_is_not_ranked():
    assert success([0, np.nan, 3], [0, np.nan, 0], 3)[[0, 2]].tolist() == [0, 1]
    assert np.isnan(success([np.nan], [np.nan])[0])
    assert reciprocal([0, 3], [0, 0]).tolist() == [0, 1 / 3]
    assert more([2, 1, 1], [1, 1, 2]).tolist() == [1, 0.5, 0]


def test_rank_correlations_are_scipys():
    a, b = np.random.default_rng(0).integers(0, 4, (2, 5, 9))
    assert rank_correlations(a, b) == pytest.approx(
        [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    )
    assert np.isnan(rank_correlations(np.ones((1, 4)), b[:1, :4]))


def test_mcnemar_takes_a_tie_for_wrong():
    assert mcnemar_exact([1, 1, 0.5, 0], [0.5, 1, 1, 1 / 9])[:2] == (1, 1)


def test_categories_without_vectors_are_no_answers():
    words = ["fish", "insect"]
    scores = np.array([[-np.inf, -np.inf], [0.5, -np.inf], [0.5, 0.5]], dtype=np.float32)
    table = closed_predictions(SET.iloc[[2, 2, 2]], "hypernym", words, words, scores)  # ants
    assert table["gold_rank"].tolist() == [0, 0, 1] and table["gold_tied"].tolist() == [0, 0, 1]
    assert table["best"].isna().tolist() == [True, False, False]
    assert table["margin"].fillna(-1).tolist() == [-1, -1, 0]


# -- models whose scores are all equal --------------------------------------------------------


@pytest.fixture(scope="module")
def constant(tiny_models: dict[str, Path]) -> Any:
    """A BERT whose output layer is all zeros."""
    model = load_model(str(tiny_models["bert"]))
    decoder = model.model.get_output_embeddings()
    decoder.weight = torch.nn.Parameter(torch.zeros_like(decoder.weight))
    decoder.bias.data.zero_()
    return model


@pytest.fixture(scope="module")
def asked(constant: Any) -> pd.DataFrame:
    return predict(constant, ASKED, "gold", shuffled=True).assign(diagnostic="d")


def flat_vectors() -> StaticModel:
    words = sorted({*SET["hyponym"], *SET["hypernym"], *SET["hyponym_plural"],
                    *SET["hypernym_plural"]})  # fmt: skip
    made = KeyedVectors(4)
    made.add_vectors(words, np.tile(np.float32([2, 0, 0, 0]), (len(words), 1)))
    return StaticModel("flat", made, {})


def test_equal_scores_are_at_chance_in_every_metric(constant: Any, asked: pd.DataFrame):
    size = len(constant.tokenizer)
    row = summarise(asked).set_index("model").loc[constant.name]
    ninth = 100 / 9
    known = {"singular": ninth, "plural": ninth, "contextual": ninth,
             "paired_singular_plural": ninth / 9, "paired_aggregate": ninth / 81,
             "singular_calibrated": ninth, "plural_pmi": ninth, "contextual_calibrated": ninth,
             "singular_macro": ninth, "singular_calibrated_scored": ninth,
             "chance_corrected_singular": 0}  # fmt: skip
    for metric, value in known.items():
        assert row[metric] == pytest.approx(value), metric
    assert row["open_p_at_1"] == pytest.approx(100 / size)
    assert row["open_p_at_5"] == pytest.approx(500 / size)
    assert breakdown(asked)["singular"].dropna().unique() == pytest.approx([ninth])
    assert (compare_models(asked)[["only_model", "only_other"]] == 0).all(axis=None)


def test_equal_vectors_are_at_chance():
    vectors = flat_vectors()
    words = CandidateSet(tuple(vectors.words()))
    table = predict(vectors, ASKED, "gold", words).assign(diagnostic="d")
    row = summarise(table).iloc[0]
    assert row["singular"] == pytest.approx(100 / 9) == row["plural"]
    # (the noun itself is no answer)
    assert row["open_p_at_1"] == pytest.approx(100 / (len(words) - 1))


def test_analyses_of_equal_scores_agree(constant: Any, asked: pd.DataFrame):
    ninth = 1 / 9
    own = asked[asked["model"] == constant.name]
    shares = agreement(own).iloc[0][["both", "singular_only", "plural_only", "neither"]]
    expected = [ninth * ninth, ninth * (1 - ninth), ninth * (1 - ninth), (1 - ninth) ** 2]
    assert shares.tolist() == pytest.approx([100 * share for share in expected])
    outcomes = each_outcome(own, scored=True)
    assert frequency_test(outcomes).empty  # nothing is recognised
    assert frequency_curve(outcomes)["singular"].unique() == pytest.approx([100 * ninth])
    assert len(open_errors(own)) == len(SET)  # the first token of all is no category


def test_wording_of_equal_scores_agrees(constant: Any, asked: pd.DataFrame):
    frame = SET.assign(negated=[text.replace(" is ", " is not ") for text in SET["singular"]])
    again = ask_again(constant, replace(ASKED, frame=frame), "gold").assign(
        model=constant.name, diagnostic="d"
    )
    own = asked[asked["model"] == constant.name]
    both = with_run_prompt(own, again, "gold")
    (row,) = negation(both, "gold", {("d", "ant"): "fish"}).to_dict("records")
    assert row["affirmed"] == pytest.approx(100 / 9) == row["negated"]
    assert row["lowered"] == row["prefers_true"] == row["prefers_false"] == 50
    leak = article_leak(both).set_index("policy")
    assert (
        leak["singular"]["gold"] == pytest.approx(100 / 9) and leak["p_value"].dropna().eq(1).all()
    )
    assert template_accuracy(both, "gold")["difference"].abs().max() < 1e-9
    spread = template_spread(both, "gold").iloc[0]
    n = spread["n_templates"]
    assert spread["always"] == pytest.approx(100 / 9**n)
    assert spread["never"] == pytest.approx(100 * (8 / 9) ** n)


def test_facts_with_equal_scores_are_at_chance(constant: Any):
    table = add_filtered_rank(predict_facts(constant, RELATION, FACTS, CANDIDATES))
    # As LAMA's reference code, `raw` gives each candidate a place: here that of the list.
    assert table["gold_rank"].tolist() == [1, 2, 3, 4]
    assert set(table["best"]) == {"bird"}
    # Of the five candidates of the first question two are right: four are left for each.
    assert table["filtered_rank"].tolist() == [1, 1, 1, 1]
    assert table["filtered_tied"].tolist() == [3, 3, 4, 4]
    metrics = summarise_facts(table).set_index(["ranking", "relation"])["p_at_1"]
    assert metrics["raw", "macro"] == 25  # "bird" is the one answer to everything
    assert metrics["filtered", "macro"] == pytest.approx((25 + 25 + 20 + 20) / 4)


def test_prompts_with_equal_scores_are_at_chance(constant: Any):
    right = QuestionSet.of_subjects(constant, FACTS, "the [X] [V1] [Y] .", CANDIDATES)
    width = constant.model.get_input_embeddings().weight.shape[1]
    quality = right.quality(constant, torch.zeros(1, width))
    assert quality == pytest.approx((1 / 5, -np.log(5)))


def test_a_prompt_that_ties_is_not_chosen(constant: Any, monkeypatch: pytest.MonkeyPatch):
    """Two of four right by themselves are better than a fifth of every one."""
    split = Split(RELATION, FACTS, [], [], {})
    scores = {"tied [X] [Y]": np.zeros((4, 5)), "good [X] [Y]": np.zeros((4, 5))}
    for i, j in ((0, 0), (1, 1), (2, 0), (3, 0)):
        scores["good [X] [Y]"][i, j] = 1

    def rank(clozes: list[Cloze], candidates: CandidateSet, gold: list[int], k: int) -> Any:
        return rank_scores(scores[clozes[0].left.split()[0] + " [X] [Y]"], gold, k)

    monkeypatch.setattr(constant, "rank", rank)
    found = best_of(constant, split, CANDIDATES, list(scores), 1)
    assert found.templates == ("good [X] [Y]",)


def test_mentions_of_two_facts_with_one_id_stay_apart(constant: Any):
    chosen = [
        (Fact("1", "robin", "bird"), ["robin is a [MASK] ."]),
        (Fact("1", "oak", "tree"), ["oak is a [MASK] ."]),
    ]
    table = predict_mentions(constant, RELATION, chosen, CANDIDATES)
    assert table["item"].nunique() == 2 and table["gold_rank"].tolist() == [1, 3]
    assert summarise_mentions(table)["n_facts"].tolist() == [2]


def test_the_first_category_is_the_printed_answer(constant: Any):
    table = predict_probe(constant, ASKED, SINGULAR, "gold")
    assert table["gold_rank"].unique() == [1] and table["gold_tied"].unique() == [8]
    assert table["best"].unique() == [SET["hypernym"][0]]


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 12)),
        elements=st.sampled_from([-np.inf, -1.5, 0.0, 0.25, 1.0, 2.0, np.nan]),
    ),
    st.integers(1, 12),
)
def test_the_best_are_those_of_a_whole_sort(scores: np.ndarray, k: int):
    k = min(k, scores.shape[1])
    top = rank_scores(scores, [0] * len(scores), k).top
    assert (top == np.argsort(-scores, axis=1, kind="stable")[:, :k]).all()
