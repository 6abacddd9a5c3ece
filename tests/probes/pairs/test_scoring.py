"""Scores of pairs against the same questions asked one by one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.models.load import load_model
from hyperprobe.probes.pairs.files import PairSet
from hyperprobe.probes.pairs.scoring import ask, cosines, frequencies, given, of_model

PAIRS = [("robin", "bird"), ("oak", "tree"), ("trout", "insect"), ("robin", "birdhouse")]


def pair_set(pairs, label=1.0, graded=np.nan) -> PairSet:
    hyponyms, hypernyms = zip(*pairs, strict=True)
    columns = {"hyponym": hyponyms, "hypernym": hypernyms, "label": label, "graded": graded}
    return PairSet("set", pd.DataFrame({**columns, "fold": ""}))


@pytest.mark.parametrize("shape", ["bert", "roberta"])
def test_pmi_is_the_score_minus_that_of_a_prompt_without_the_noun(tiny_models, shape: str):
    model = load_model(str(tiny_models[shape]))
    found = of_model(model)(PAIRS)

    def log_p(text: str, word: str) -> float:
        return float(model.score([parse_cloze(text, "x")], CandidateSet((word,)))[0, 0])

    singular = [
        log_p("A robin is [MASK].", "a bird") - log_p("It is [MASK].", "a bird"),
        log_p("An oak is [MASK].", "a tree") - log_p("It is [MASK].", "a tree"),
        log_p("A trout is [MASK].", "an insect") - log_p("It is [MASK].", "an insect"),
        log_p("A robin is [MASK].", "a birdhouse") - log_p("It is [MASK].", "a birdhouse"),
    ]
    plural = [
        log_p("Robins are [MASK].", "birds") - log_p("They are [MASK].", "birds"),
        log_p("Oaks are [MASK].", "trees") - log_p("They are [MASK].", "trees"),
        log_p("Trout are [MASK].", "insects") - log_p("They are [MASK].", "insects"),
        log_p("Robins are [MASK].", "birdhouses") - log_p("They are [MASK].", "birdhouses"),
    ]
    assert np.allclose(found["singular"].scores, singular, atol=1e-4)
    assert np.allclose(found["plural"].scores, plural, atol=1e-4)
    assert np.allclose(found["mean"].scores, np.mean([singular, plural], axis=0), atol=1e-4)
    assert found["mean"].known.all()


class Liking:
    """A language model that likes some words, whatever it is asked, and short articles."""

    name, kind, reads_text, max_tokens, n_tokens = "liking", "masked", True, 99, 9

    def score(self, clozes, candidates):
        row = [len(word) - 3.0 * word.startswith("an ") for word in candidates.words]
        return np.array([row] * len(clozes), dtype=np.float32)

    def can_spell(self, words):
        return ["?" not in word for word in words]

    def none(self, *_):  # the rest of a TextModel, which is not asked
        return None

    token_ids = single_tokens = rank_open = rank = fit = words = n_pieces = none

    def describe(self):
        return {}


def test_a_liking_for_words_and_articles_is_taken_away():
    found = of_model(Liking())(PAIRS)
    assert all((answers.scores == 0).all() for answers in found.values())


def test_what_a_model_cannot_spell_is_not_known():
    found = of_model(Liking())([("robin", "bi?d"), ("r?bin", "bird"), ("robin", "bird")])
    for answers in found.values():
        assert answers.known.tolist() == [False, False, True]
        assert np.isnan(answers.scores).tolist() == [True, True, False]
    nothing = of_model(Liking())([("r?bin", "bird")])
    assert not nothing["mean"].known.any()


def test_reversed_pairs_of_hypernyms_and_of_sets_about_direction():
    def positions(pairs):
        return given({pair: float(i) for i, pair in enumerate([("a", "b"), ("b", "a")])}, pairs)

    frame = ask(positions, pair_set([("a", "b"), ("b", "a")], label=[1.0, 0.0]))
    assert frame["score"].tolist() == [0, 1]
    assert frame["reverse"].tolist()[0] == 1 and np.isnan(frame["reverse"][1])
    frame = ask(positions, pair_set([("a", "b"), ("b", "a")], label=[1.0, -1.0]))
    assert frame["reverse"].tolist() == [1, 0]


def test_each_pair_is_asked_once():
    asked = []

    def scorer(pairs):
        asked.extend(pairs)
        return frequencies(pairs)

    ask(scorer, pair_set([("a", "b"), ("b", "a"), ("a", "b")]))
    assert asked == [("a", "b"), ("b", "a")]


def test_cosines(tmp_path: Path):
    path = tmp_path / "v.txt"
    path.write_text("robin 3 4\nbird 4 3\nred_oak 1 0\ntree 2 0\n")
    model = load_model(str(path))
    answers = cosines(model, [("robin", "bird"), ("red oak", "tree"), ("wug", "tree")])["cosine"]
    assert np.allclose(answers.scores[:2], [0.96, 1]) and answers.known.tolist() == [1, 1, 0]


def test_frequency_is_that_of_the_hypernym():
    animal, oriole = frequencies([("oriole", "animal"), ("animal", "oriole")])["frequency"].scores
    assert animal > oriole > 0


def test_given_scores_are_looked_up_as_they_stand_and_by_lemma():
    scores = {("robin", "bird"): 1.0, ("red_oak", "tree"): 2.0}
    pairs = [("Robin", "bird"), ("red oak", "tree"), ("robins", "birds"), ("bird", "robin")]
    answers = given(scores, pairs)["given"]
    assert answers.scores.tolist()[:3] == [1, 2, 1]
    assert answers.known.tolist() == [True, True, True, False]
