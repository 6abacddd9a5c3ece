"""Causal and seq2seq scorers against the naive way: each text by itself, full log-softmax."""

from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoTokenizer

from hyperprobe.cloze import CandidateSet, Cloze, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.autoregressive import AutoregressiveModel
from hyperprobe.models.load import load_model
from tests.tiny_models import CAUSAL, SEQ2SEQ, save_model

TEXTS = (
    "A robin is a [MASK].",
    "Robins are [MASK] in winter, when some snow is in the tree.",
    "A robin is a [MASK].",  # the same text again
    "[MASK] is a robin.",  # nothing before the slot
    "A robin (a [MASK]) perches.",
    "([MASK]) is a robin",
    "A robin is a [MASK]",  # nothing after it
    "A robin and [MASK], in winter",
)
CLOZES = [parse_cloze(text, str(i)) for i, text in enumerate(TEXTS)]
# One piece, several pieces, prefixes of each other, and two words.
CANDIDATES = CandidateSet(("bird", "fish", "birdhouse", "birds", "zebra", "zebras", "a bird"))
SCORINGS = ("full", "continuation")


@pytest.fixture(scope="module", params=[*CAUSAL, *SEQ2SEQ])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=["GPT2", "Llama", "Mamba", "T5", "Bart"])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each way to score."""
    return save_model(request.param, tmp_path_factory.mktemp(request.param))


def log_probs_of(logits: torch.Tensor, targets: list[int]) -> float:
    """The sum of log P(target) over the last `len(targets)` places of [n, vocabulary]."""
    log_probs = logits[-len(targets) :].log_softmax(-1)
    return sum(log_probs[i, target].item() for i, target in enumerate(targets))


class Naive:
    """One text at a time, its tokens found by their offsets or by counting."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        config = transformers.AutoConfig.from_pretrained(folder)
        self.model = getattr(transformers, config.architectures[0]).from_pretrained(folder).eval()
        self.config = config

    def ids(self, text: str, special: bool = False) -> list[int]:
        return self.tokenizer(text, add_special_tokens=special)["input_ids"]

    def score(self, cloze: Cloze, word: str, scoring: str) -> float:
        text = cloze.fill(word) if scoring == "full" else cloze.left + word
        n_left = len(self.ids(cloze.left.rstrip()))
        if not self.config.is_encoder_decoder:
            bos = self.tokenizer.bos_token_id
            opening = [bos] if self.ids("a", True)[0] == bos else []
            if not opening and n_left == 0:
                line = self.tokenizer.get_vocab().get("\n</w>")  # GPT-1 has no other mark
                marks = (bos, self.tokenizer.eos_token_id, line)
                opening = [next(mark for mark in marks if mark is not None)]
            return self.causal(opening + self.ids(text), len(opening) + n_left)
        if self.config.model_type == "t5":
            return self.t5(cloze, word, scoring)
        return self.bart(cloze, self.ids(text), n_left)

    def causal(self, ids: list[int], start: int) -> float:
        with torch.no_grad():
            logits = self.model(torch.tensor([ids])).logits[0, :-1]
        return log_probs_of(logits, ids[start:])

    def t5(self, cloze: Cloze, word: str, scoring: str) -> float:
        whole = self.tokenizer(cloze.fill(word), return_offsets_mapping=True)
        # (a space before the slot belongs to the word)
        first, end = len(cloze.left.rstrip()), len(cloze.left) + len(word)
        pieces = [
            i
            for i, (a, b) in zip(whole["input_ids"], whole["offset_mapping"], strict=True)
            if a < end and b > first
        ]
        opening, closing = self.tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
        written = pieces + ([closing] if scoring == "full" else [])
        with torch.no_grad():
            logits = self.model(
                input_ids=torch.tensor([self.ids(cloze.fill("<extra_id_0>"), True)]),
                decoder_input_ids=torch.tensor([[0, opening, *written[:-1]]]),
            ).logits[0]
        return log_probs_of(logits, written)

    def bart(self, cloze: Cloze, ids: list[int], n_left: int) -> float:
        opening = [self.tokenizer.eos_token_id, self.tokenizer.bos_token_id]
        with torch.no_grad():
            logits = self.model(
                input_ids=torch.tensor([self.ids(cloze.fill("<mask>"), True)]),
                decoder_input_ids=torch.tensor([[*opening, *ids[:-1]]]),
            ).logits[0]
        return log_probs_of(logits, ids[n_left:])


naive_of = cache(Naive)
load_once = cache(load_model)


def load(folder: Path, scoring: str = "full") -> AutoregressiveModel:
    """A copy that a test may change; its network is that of all, which none changes."""
    model = copy(load_once(str(folder), causal_scoring=scoring))  # type: ignore[arg-type]
    assert isinstance(model, AutoregressiveModel)
    return model


@pytest.mark.parametrize("scoring", SCORINGS)
def test_scores_equal_the_naive_ones(folder: Path, scoring: str):
    naive = naive_of(folder)
    expected = [[naive.score(c, word, scoring) for word in CANDIDATES.words] for c in CLOZES]
    model = load(folder, scoring)
    assert np.abs(model.score(CLOZES, CANDIDATES) - expected).max() < 1e-5
    # The candidates are not all alike, or the comparison would show nothing.
    assert np.ptp(expected, axis=1).min() > 0.5
    assert model.describe()["scoring"] == scoring


def test_two_sentences_are_read_as_one_text(one: Path):
    text = Cloze("joined", "It sings. A robin is a ", ".")
    pair = Cloze("pair", text.left, text.right, second=10)
    model = load(one)
    words = CandidateSet(("bird", "fish"))
    assert model.score([pair], words).tolist() == model.score([text], words).tolist()


def test_order_and_batch_size_change_nothing(one: Path):
    model = load(one)
    expected = model.score(CLOZES, CANDIDATES)
    for budget in (1, 20, 10_000):
        model.token_budget = budget
        backwards = model.score(CLOZES[::-1], CANDIDATES)[::-1]
        assert np.abs(backwards - expected).max() < 1e-5
    turned = CandidateSet(CANDIDATES.words[::-1])
    assert np.abs(model.score(CLOZES, turned)[:, ::-1] - expected).max() < 1e-5


def test_ranks_are_those_of_the_continuations(one: Path):
    scores = load(one, "continuation").score(CLOZES, CANDIDATES)
    gold = [0, 1, None, 3, 4, 5, 6, 0]
    for scoring in SCORINGS:
        ranking = load(one, scoring).rank(CLOZES, CANDIDATES, gold, 3)
        for i, place in enumerate(gold):
            if place is None:
                assert ranking.gold_rank[i] == 0 and np.isnan(ranking.gold_score[i])
            else:
                assert ranking.gold_rank[i] == 1 + (scores[i] > scores[i, place]).sum()
                assert ranking.gold_score[i] == pytest.approx(scores[i, place], abs=1e-5)
        assert (ranking.top == np.argsort(-scores, axis=1)[:, :3]).all()


def test_the_open_vocabulary_is_every_token_that_can_follow(one: Path):
    model = load(one)
    naive = naive_of(one)
    ranking, top = model.rank_open(CLOZES, ["bird"] * len(CLOZES), 5)
    scores = [naive.score(cloze, "bird", "continuation") for cloze in CLOZES]
    found = ranking.gold_rank > 0
    # "bird" after a space is one token of each of these vocabularies.
    assert found[[0, 1, 2, 4, 6, 7]].all()
    assert np.allclose(ranking.gold_score[found], np.array(scores)[found], atol=1e-5)
    assert (np.diff(ranking.top_score, axis=1) <= 0).all()
    assert all(
        (row[0] == "bird") == (rank == 1) for row, rank in zip(top, ranking.gold_rank, strict=True)
    )
    assert ranking.top.max() < len(model.tokenizer)
    assert "bird" in model.words()


def test_what_follows_the_slot_counts_in_full_alone(one: Path):
    pair = [parse_cloze(text, text) for text in ("A [MASK] is a tree.", "A [MASK], in snow.")]
    first, second = load(one, "full").score(pair, CANDIDATES)
    assert np.abs(first - second).max() > 0.1
    model = load(one, "continuation")
    first, second = model.score(pair, CANDIDATES)
    # An encoder reads what follows the slot; a causal model cannot.
    assert (np.abs(first - second).max() < 1e-5) == (model.kind == "causal")


def test_a_prefix_is_run_once(one: Path, monkeypatch: pytest.MonkeyPatch):
    model = load(one)
    seen: list[int] = []
    original = model._read
    monkeypatch.setattr(model, "_read", lambda units: (seen.append(len(units)), original(units))[1])
    model.score([CLOZES[0]] * 20, CANDIDATES)
    assert seen == [1]


def test_running_out_of_memory_halves_the_batch(one: Path, monkeypatch: pytest.MonkeyPatch):
    model = load(one)
    expected = model.score(CLOZES, CANDIDATES)
    original = model._continue

    def small_memory(units: list, state: object, chosen: list[int], rows: list) -> torch.Tensor:
        if len(units) > 1 or len(rows) > 2:
            raise RuntimeError("CUDA out of memory")
        return original(units, state, chosen, rows)

    model.token_budget = 300
    monkeypatch.setattr(model, "_continue", small_memory)
    alike = [parse_cloze(f"A {word} is a [MASK].", word) for word in ("bird", "fish", "tree")]
    small = model.score([*CLOZES, *alike], CANDIDATES)[: len(CLOZES)]
    assert np.abs(small - expected).max() < 1e-5
    assert model.token_budget < 300  # and it is remembered


def test_bad_texts_and_words_are_named(one: Path):
    model = load(one)
    if model.max_tokens < 1000:  # Bloom, Mamba and T5 have no limit
        with pytest.raises(UserError, match="tokens are more than"):
            model.score([Cloze("long", "robin " * 300, ".")], CANDIDATES)
    if model.kind == "seq2seq":
        with pytest.raises(UserError, match="5: the text itself holds"):
            model.score([Cloze("5", f"A {model.mark} is a ", ".")], CANDIDATES)  # type: ignore[attr-defined]


def test_an_empty_batch_of_what_cannot_be_spelled(tmp_path: Path):
    model = load(save_model("T5", tmp_path))
    with pytest.raises(UserError, match="cannot spell '鳥'"):
        model.score(CLOZES, CandidateSet(("鳥",)))
    fallback = load(save_model("Llama", tmp_path / "llama"))
    assert len(fallback.pieces("鳥")) == 4  # ▁ and three bytes
    assert np.isfinite(fallback.score(CLOZES, CandidateSet(("鳥", "bird")))).all()


def test_bf16_is_close(one: Path):
    exact = load(one).score(CLOZES, CANDIDATES)
    half = load_model(str(one), dtype="bf16")
    assert half.describe()["dtype"] == "bfloat16"
    assert np.abs(half.score(CLOZES, CANDIDATES) - exact).max() < 0.05 * np.abs(exact).max()
