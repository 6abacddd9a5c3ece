"""One word for each cloze: the same numbers as all words for every one."""

from pathlib import Path

import numpy as np
import pytest

from hyperprobe.cloze import CandidateSet, Cloze, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import PairScorer, score_pairs
from hyperprobe.models.load import load_model
from hyperprobe.options import ModelOptions
from tests.tiny_models import save_model

TEXTS = ("A robin is [MASK].", "Robins are [MASK] in winter.", "[MASK] is a robin.", "A ([MASK])")
WORDS = ("a bird", "fish", "birdhouse", "an insect", "zebras")
# Every text with some of the words, one of them with a word twice.
PAIRS = [(t, w) for i, t in enumerate(TEXTS) for j, w in enumerate(WORDS) if (i + j) % 3] + [
    (TEXTS[0], WORDS[1]),
    (TEXTS[0], WORDS[1]),
]
CLOZES = [parse_cloze(text, text, "robin") for text, _ in PAIRS]
ASKED = [word for _, word in PAIRS]


def one_by_one(model, clozes: list[Cloze], words: list[str]) -> list[float]:
    return [
        float(model.score([cloze], CandidateSet((word,)))[0, 0])
        for cloze, word in zip(clozes, words, strict=True)
    ]


@pytest.mark.parametrize("shape", ["bert", "roberta", "albert"])
@pytest.mark.parametrize("pll", ["within-word", "original", "all-masked"])
def test_masked(tiny_models: dict[str, Path], shape: str, pll: str):
    model = load_model(str(tiny_models[shape]), ModelOptions(pll=pll))
    assert isinstance(model, PairScorer)
    got = model.score_pairs(CLOZES, ASKED)
    assert np.allclose(got, one_by_one(model, CLOZES, ASKED), atol=1e-5)


@pytest.mark.parametrize("architecture", ["GPT2", "Mamba", "T5", "Bart"])
@pytest.mark.parametrize("scoring", ["full", "continuation"])
def test_autoregressive(tmp_path: Path, architecture: str, scoring: str):
    folder = str(save_model(architecture, tmp_path))
    model = load_model(folder, ModelOptions(causal_scoring=scoring))
    got = score_pairs(model, CLOZES, ASKED)
    assert np.allclose(got, one_by_one(model, CLOZES, ASKED), atol=1e-5)


def test_equal_texts_are_run_once(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch):
    model = load_model(str(tiny_models["bert"]))
    run = []
    inner = model._slot_log_probs
    monkeypatch.setattr(model, "_slot_log_probs", lambda rows: run.extend(rows) or inner(rows))
    cloze = parse_cloze("A robin is [MASK].", "one")
    model.score_pairs([cloze] * 4, ["a bird", "a fish", "a tree", "an insect"])
    # Both slots masked; behind "a"; behind "an".
    assert len(run) == len(set(run)) == 3


def test_vectors(tmp_path: Path):
    path = tmp_path / "vectors.txt"
    path.write_text("robin 3 4\nbird 4 3\nfish 0 2\n")
    model = load_model(str(path))
    clozes = [parse_cloze("[MASK]", "x", word) for word in ("robin", "Robin", "robin", "wug")]
    got = score_pairs(model, clozes, ["bird", "fish", "wug", "bird"])
    assert np.allclose(got, [0.96, 0.8, np.nan, np.nan], equal_nan=True)


def test_any_model_that_answers_clozes():
    """Once for each distinct text, with its own words alone."""

    class Toy:
        def __init__(self):
            self.asked = []

        def score(self, clozes, candidates):
            self.asked.append((clozes[0].text, candidates.words))
            return np.array([[len(word) for word in candidates.words]], dtype=np.float32)

    toy = Toy()
    a, b = (parse_cloze(text, "x") for text in ("A [MASK]", "B [MASK]"))
    assert score_pairs(toy, [a, b, a, a], ["x", "yy", "zzz", "x"]).tolist() == [1, 2, 3, 1]
    assert toy.asked == [("A [MASK]", ("x", "zzz")), ("B [MASK]", ("yy",))]


def test_a_word_of_unknown_letters_is_named(tiny_models: dict[str, Path]):
    model = load_model(str(tiny_models["bert"]))
    with pytest.raises(UserError, match="cannot spell '日'"):
        model.score_pairs([parse_cloze("A [MASK].", "x")], ["日"])
