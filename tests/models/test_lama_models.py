"""fconv, Transformer-XL and ELMo of many shapes, against a plain restatement of each."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import lama_reference as reference
from hyperprobe.cloze import SLOT, CandidateSet, Cloze, parse_cloze
from hyperprobe.models import elmo, elmo_files, fconv_files, transformer_xl_files, word_level
from hyperprobe.models.base import as_text_model
from hyperprobe.models.elmo import ElmoModel
from hyperprobe.models.word_level import WordCausalModel, lama_tokens
from tests.lama_files import SAVERS, ranked_scores, save_elmo, save_fconv, save_transformer_xl
from tests.lama_files import load_word_model as load

TEXTS = (
    "A robin is a [MASK].",
    "A robin is a [MASK] in winter, when some snow is in the tree.",
    "A robin is a [MASK].",  # the same text again
    "[MASK] is a robin.",  # nothing before the slot
    "the unheard-of (a [MASK]) perches -- in 1954",
    "robin robin robin robin robin robin robin robin robin robin is [MASK]",  # beyond the memory
    "A robin and [MASK] and [MASK], in winter",
)
CLOZES = [
    Cloze(str(i), left, right)
    for i, (left, _, right) in enumerate(text.partition(SLOT) for text in TEXTS)
]
KNOWN = ("bird", "fish", "trees", ",", "in the tree", "winter", "zebra")
CANDIDATES = CandidateSet((*KNOWN, "unheard-of", "the unheard-of tree"))

Naive = Callable[[Sequence[int]], torch.Tensor]  # ids -> log-probabilities [length, vocabulary]


def naive_fconv(folder: Path, **how: Any) -> tuple[str, Naive]:
    save_fconv(folder, **how)
    words = fconv_files.read_dictionary(folder / "dict.txt")
    shape, weights = fconv_files.read_weights(folder / "wiki103.pt", len(words))
    return f"fconv:{folder}", lambda ids: reference.fconv(shape, weights, torch.tensor([ids]))[0]


def naive_transformer_xl(folder: Path, memory: str, seed: int, **shape: int) -> tuple[str, Naive]:
    save_transformer_xl(folder, seed, **shape)
    config = transformer_xl_files.read_config(folder / "config.json")
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    n_memory = config.mem_len if memory == "zero" else 0

    def naive(ids: Sequence[int]) -> torch.Tensor:
        return reference.transformer_xl(config, weights, torch.tensor([ids]), n_memory)[0]

    return f"transformer-xl:{folder}?memory={memory}", naive


CAUSAL: dict[str, Callable[[Path], tuple[str, Naive]]] = {
    "fconv": lambda folder: naive_fconv(folder, seed=1),
    "fconv, residuals": lambda folder: naive_fconv(
        folder, seed=2, layers="[(7, 2)] + [(9, 3, 0)] + [(7, 5, 2), (20, 1)] + [(20, 6, 1)] * 2"
    ),
    "fconv, old layout": lambda folder: naive_fconv(folder, seed=3, old=True),
    "transformer-xl": lambda folder: naive_transformer_xl(folder, "zero", 1),
    "transformer-xl, no memory": lambda folder: naive_transformer_xl(folder, "none", 2),
    "transformer-xl, deep": lambda folder: naive_transformer_xl(
        folder, "zero", 3, n_layer=4, mem_len=30, clamp_len=9, n_head=2, d_head=5, div_val=1
    ),
}


@pytest.fixture(scope="module", params=list(CAUSAL))
def causal(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Naive]:
    return CAUSAL[request.param](tmp_path_factory.mktemp("model"))


def naive_score(model: WordCausalModel, naive: Naive, cloze: Cloze, word: str) -> float:
    """The sum of the log-probabilities of the candidate's words, and under `full` of those after
    it up to the next slot; one text at a time, every position."""
    start = (model.tokenizer.ids[model.opening], *model.tokenizer(cloze.left))
    said = model.tokenizer(word)
    if model.tokenizer.unk_token_id in said:
        return -np.inf
    if model.scoring == "full":
        said += model.tokenizer(cloze.right.split(SLOT)[0])
    ids = start + said
    log_probs = naive(ids[:-1])
    return sum(float(log_probs[len(start) - 1 + i, word]) for i, word in enumerate(said))


@pytest.mark.parametrize("scoring", ["full", "continuation"])
def test_causal_scores_equal_the_naive_ones(causal: tuple[str, Naive], scoring: str):
    name, naive = causal
    model = load(name, scoring)
    assert isinstance(model, WordCausalModel)
    words = CANDIDATES.words
    expected = np.array([[naive_score(model, naive, c, word) for word in words] for c in CLOZES])
    scores = model.score(CLOZES, CANDIDATES)
    known = len(KNOWN)
    assert np.isneginf(scores[:, known:]).all() and np.isneginf(expected[:, known:]).all()
    assert np.allclose(scores[:, :known], expected[:, :known], rtol=1e-6, atol=1e-5)
    assert np.ptp(expected[:, :known], axis=1).min() > 0.5
    for budget in (1, 9, 10_000):
        model.token_budget = budget
        again = model.score(CLOZES[::-1], CANDIDATES)[::-1]
        assert np.allclose(again[:, :known], expected[:, :known], rtol=1e-6, atol=1e-5)


def test_a_text_sees_nothing_that_comes_after(causal: tuple[str, Naive]):
    model = load(causal[0], "continuation")
    left = "A robin and "
    one, other = (Cloze("x", left, right) for right in (" in winter.", " is a fish, some tree"))
    assert np.array_equal(model.score([one], CANDIDATES), model.score([other], CANDIDATES))


ELMO = {
    "elmo": {"seed": 1},
    "elmo, no skips": {"seed": 2, "use_skip_connections": False, "n_layers": 3},
    "elmo, one layer": {"seed": 3, "n_layers": 1, "cell_clip": 0.3},
}


@pytest.mark.parametrize("shape", ELMO)
@pytest.mark.parametrize("state", ["zero-state-10", "zero-state-1"])
def test_elmo_scores_equal_the_naive_ones(shape: str, state: str, tmp_path: Path):
    save_elmo(tmp_path, **ELMO[shape])
    model = load(f"elmo:{tmp_path}?state={state}")
    assert isinstance(model, ElmoModel)
    options = elmo_files.read_options(tmp_path / "tiny_options.json")
    n_words = len(model.tokenizer)
    weights = elmo_files.read_weights(
        tmp_path / "tiny_weights.hdf5", tmp_path / "tiny_softmax_weights.hdf5", options, n_words
    )
    ids = model.tokenizer.ids
    known = [word for word in KNOWN if " " not in word]
    kept = sorted({ids["<S>"], ids["</S>"], *(ids[word] for word in known)})
    passes = 10 if state == "zero-state-10" else 1

    texts, slots = [], []
    for cloze in CLOZES:
        left, right = (
            [w.replace(SLOT, "<UNK>") for w in lama_tokens(side.replace(SLOT, f" {SLOT} "))]
            for side in (cloze.left, cloze.right)
        )
        texts.append(["<S>", *left, "<UNK>", *right, "</S>"])
        slots.append(len(left) + 1)
    cut, whole = (
        reference.elmo(options, weights, texts, passes, columns)[range(len(texts)), slots]
        for columns in (torch.tensor(kept), None)
    )
    candidates = CandidateSet((*known, "unheard-of"))
    scores = model.score(CLOZES, candidates)
    ranked = ranked_scores(model.rank(CLOZES, candidates, [None] * len(CLOZES), len(candidates)))
    assert np.isneginf(scores[:, -1]).all() and np.isneginf(ranked[:, -1]).all()
    ranking, _ = model.rank_open(CLOZES, ["bird"] * len(CLOZES), 5)
    for i in range(len(CLOZES)):
        expected = [float(cut[i, kept.index(ids[word])]) for word in known]
        assert np.abs(ranked[i, :-1] - expected).max() < 1e-5
        expected = [float(whole[i, ids[word]]) for word in known]
        assert np.abs(scores[i, :-1] - expected).max() < 1e-5
        assert ranking.top[i].tolist() == whole[i].topk(5).indices.tolist()
        assert abs(ranking.gold_score[i] - float(whole[i, ids["bird"]])) < 1e-5
    assert np.ptp(scores[:, :-1], axis=1).min() > 0.3
    for budget in (1, 30):
        model.token_budget = budget
        again = model.score(CLOZES[::-1], candidates)[::-1]
        assert np.abs(again[:, :-1] - scores[:, :-1]).max() < 1e-5


def test_a_candidate_of_several_words_is_the_sum_over_them_with_the_others_shown(tmp_path: Path):
    model = load(f"elmo:{save_elmo(tmp_path)}")
    pairs = CandidateSet(("a bird", "some fish"))
    (score,) = model.score([parse_cloze("A robin is [MASK] in winter", "x")], pairs)
    shown = ("A robin is [MASK] {} in winter", "A robin is {} [MASK] in winter")
    words = CandidateSet(("a", "bird", "some", "fish"))
    for pair, value in zip(pairs.words, score, strict=True):
        first, second = pair.split()
        one, other = (parse_cloze(t.format(w), "x") for t, w in zip(shown, (second, first)))  # noqa: B905
        expected = model.score([one], words)[0, words.index[first]]
        expected += model.score([other], words)[0, words.index[second]]
        assert value == pytest.approx(expected, abs=1e-5)


def test_the_soft_max_is_held_for_a_few_texts_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model = load(f"elmo:{save_elmo(tmp_path)}")
    known = CandidateSet(("bird", "fish"))
    many = [Cloze(str(i), f"A robin {'is ' * (i % 7)}", ".") for i in range(150)]
    expected = model.score(many, known)
    sizes, logits = [], model.model.logits

    def watched(states: torch.Tensor, words: torch.Tensor | None) -> torch.Tensor:
        result = logits(states, words)
        sizes.append(result.numel())
        return result

    monkeypatch.setattr(model.model, "logits", watched)
    monkeypatch.setattr(elmo, "BLOCK_NUMBERS", 70 * len(model.tokenizer))
    assert np.abs(model.score(many, known) - expected).max() < 1e-5
    assert max(sizes) == 70 * len(model.tokenizer)  # of the vocabulary, however few candidates


def test_the_reference_order_starts_from_zeros_at_each_question(tmp_path: Path):
    model = load(f"elmo:{save_elmo(tmp_path)}?state=reference-order")
    known = CandidateSet(("bird", "fish", "tree"))
    first = model.score(CLOZES, known)
    assert np.array_equal(model.score(CLOZES, known), first)
    alone = model.score(CLOZES[3:4], known)
    assert np.abs(alone - load(f"elmo:{tmp_path}").score(CLOZES[3:4], known)).max() < 1e-5


# -- as members of the registry -----------------------------------------------------------------


@pytest.mark.parametrize("family", SAVERS)
def test_what_a_word_level_model_says_of_words(family: str, tmp_path: Path):
    SAVERS[family](tmp_path)
    model = as_text_model(load(f"{family}:{tmp_path}"))
    words = set(model.words())
    assert {"robin", "A", "1954"} <= words
    assert not words & {"<unk>", "<UNK>", "<S>", "<eos>", "</s>", ".", "tree.", "unheard-of"}
    asked = ["robin", "unheard-of", "a robin", "[MASK]", "Robin"]
    assert model.single_tokens(asked) == [True, False, False, False, False]
    assert model.can_spell(asked) == [True, False, True, False, False]
    assert model.n_pieces(["a robin is", ""]) == [3.0, 0.0]
    cloze = parse_cloze("A robin is a [MASK]", "x")
    ranking, _ = model.rank_open([cloze], ["unheard-of"], 3)
    assert ranking.gold_rank[0] == 0 and np.isnan(ranking.gold_score[0])
    about = model.describe()
    assert about["kind"] == family and about["dtype"] == "float32"
    assert len(about["sha256"]) == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("family", SAVERS)
def test_random_weights_are_others_and_always_the_same(family: str, tmp_path: Path):
    SAVERS[family](tmp_path)
    known = CandidateSet(("bird", "fish", "tree"))
    own = load(f"{family}:{tmp_path}").score(CLOZES[:1], known)
    drawn = load(f"random:{family}:{tmp_path}").score(CLOZES[:1], known)
    assert np.isfinite(drawn).all() and np.abs(own - drawn).max() > 0.01
    assert np.array_equal(load(f"random:{family}:{tmp_path}").score(CLOZES[:1], known), drawn)


@pytest.mark.parametrize("family", SAVERS)
def test_a_text_that_is_too_long_is_cut(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(word_level, "MAX_TOKENS", 20)
    SAVERS[family](tmp_path)
    model = load(f"{family}:{tmp_path}")
    long = Cloze("long", "robin " * 40, " is a bird", None)
    (cut,) = model.fit([long])
    assert len(model.token_ids([cut.text])[0]) <= model.max_tokens
    assert cut.right == long.right
