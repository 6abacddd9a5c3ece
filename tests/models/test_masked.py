"""The fast scorer against the naive one: one sentence at a time, full log-softmax."""

from copy import copy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from hyperprobe.cloze import CandidateSet, Cloze, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.models.masked import MaskedModel
from hyperprobe.models.spelling import boundary
from hyperprobe.options import Pll

SHAPES = ("bert", "roberta", "albert")
TEXTS = (
    "A robin is a [MASK].",
    "Robins are [MASK] in winter, when some snow is in the tree.",
    "A robin is a [MASK].",  # the same text again
    "[MASK] is a robin.",  # at the start: no space before the slot
    "A robin (a [MASK]) perches.",
    "([MASK]) is a robin",
)
# One piece, several pieces, and prefixes of each other.
CANDIDATES = CandidateSet(("bird", "fish", "birdhouse", "birds", "zebra", "zebras"))


def clozes() -> list[Cloze]:
    return [parse_cloze(text, str(i)) for i, text in enumerate(TEXTS)]


@cache
def naive_model(folder: Path) -> tuple:
    model = AutoModelForMaskedLM.from_pretrained(folder).eval()
    return AutoTokenizer.from_pretrained(folder), model


@cache
def naive_score(folder: Path, cloze: Cloze, word: str, pll: str = "within-word") -> float:
    """Pseudo-log-likelihood, written out: the word's pieces as they stand in the sentence."""
    tokenizer, model = naive_model(folder)
    whole = tokenizer(cloze.fill(word), return_offsets_mapping=True)
    start, end = len(cloze.left.rstrip()), len(cloze.left) + len(word)
    pieces = [
        token
        for token, (a, b) in zip(whole["input_ids"], whole["offset_mapping"], strict=True)
        if a < end and b > start
    ]
    total = 0.0
    for i, piece in enumerate(pieces):
        text = cloze.fill(tokenizer.mask_token * len(pieces))
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        places = (ids[0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
        for j, other in enumerate(pieces):
            if (pll == "within-word" and j < i) or (pll == "original" and j != i):
                ids[0, places[j]] = other
        with torch.no_grad():
            log_probs = model(input_ids=ids).logits[0].log_softmax(-1)
        total += log_probs[places[i], piece].item()
    return total


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> Path:
    return tiny_models[request.param]


@pytest.fixture(scope="module")
def loaded(folder: Path) -> MaskedModel:
    one = load_model(str(folder))
    assert isinstance(one, MaskedModel)
    return one


@pytest.fixture
def model(loaded: MaskedModel) -> MaskedModel:
    """A copy that a test may change; its network is that of all, which none changes."""
    return copy(loaded)


@pytest.fixture(scope="module")
def expected(loaded: MaskedModel) -> np.ndarray:
    """The model's scores, as it asks by itself."""
    return loaded.score(clozes(), CANDIDATES)


def test_scores_equal_the_naive_ones(folder: Path, expected: np.ndarray):
    naive = [[naive_score(folder, cloze, word) for word in CANDIDATES.words] for cloze in clozes()]
    assert np.abs(expected - naive).max() < 1e-5
    # The candidates are not all alike, or the comparison would show nothing.
    assert np.ptp(naive, axis=1).min() > 0.5


@pytest.mark.parametrize("pll", ["original", "all-masked"])
def test_the_other_pseudo_log_likelihoods(folder: Path, expected: np.ndarray, pll: Pll):
    naive = [
        [naive_score(folder, cloze, word, pll) for word in CANDIDATES.words]
        for cloze in clozes()[1:5]
    ]
    model = load_model(str(folder), pll=pll)
    scores = model.score(clozes()[1:5], CANDIDATES)
    assert np.abs(scores - naive).max() < 1e-5
    assert model.describe()["pll"] == pll
    # They differ from the default in words of several pieces, and only there.
    several = np.array([len(model.pieces(word)) > 1 for word in CANDIDATES.words])
    off = np.abs(scores - expected[1:5])
    assert off[:, several].max() > 1e-3 and off[0, ~several].max() < 1e-5


PAIRS = (
    ("Robins sing.", "A robin is a [MASK]."),
    ("The [MASK] sings.", "It is a robin, and [MASK] too."),
    ("A robin is here.", "[MASK] sings."),
)


def pair(first: str, second: str) -> Cloze:
    left, _, right = f"{first} {second}".partition("[MASK]")
    return Cloze(first[:20], left, right, second=len(first) + 1)


def naive_pair_score(folder: Path, sentences: tuple[str, str], pieces: tuple[int, ...]) -> float:
    """`[CLS] a [SEP] b [SEP]` with segments, RoBERTa `<s> a </s> b </s>`; all pieces masked."""
    tokenizer, model = naive_model(folder)
    mask = tokenizer.mask_token
    slots = iter([mask * len(pieces), mask])
    rows = []
    for sentence in sentences:
        text, *behind = sentence.split("[MASK]")
        text += "".join(next(slots) + part for part in behind)
        rows.append(tokenizer(text)["input_ids"])
    ids = torch.tensor([rows[0] + rows[1][1:]])
    told = {"token_type_ids": torch.tensor([[0] * len(rows[0]) + [1] * (len(rows[1]) - 1)])}
    with torch.no_grad():
        kinds = told if model.config.type_vocab_size > 1 else {}
        log_probs = model(input_ids=ids, **kinds).logits[0].log_softmax(-1)
    places = (ids[0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    return sum(log_probs[at, piece].item() for at, piece in zip(places, pieces, strict=False))


def test_two_sentences_are_a_pair(folder: Path):
    words = CandidateSet(("bird", "birdhouse", "zebras"))
    model = load_model(str(folder), pll="all-masked")
    assert isinstance(model, MaskedModel)
    asked = [pair(*sentences) for sentences in PAIRS]
    naive = [
        [naive_pair_score(folder, both, model.pieces(w, boundary(cloze))) for w in words.words]
        for both, cloze in zip(PAIRS, asked, strict=True)
    ]
    assert np.abs(model.score(asked, words) - naive).max() < 1e-5
    repeated = [cloze for cloze in asked for _ in words.words]
    flat = model.score_pairs(repeated, list(words.words) * len(asked))
    assert np.abs(flat.reshape(len(asked), -1) - naive).max() < 1e-5
    # Beside one sentence of the same words, and of the same token ids.
    mixed = [asked[0], parse_cloze(asked[0].text, "joined"), *clozes()]
    scores = model.score(mixed, words)
    assert scores[2:] == pytest.approx(model.score(clozes(), words), abs=1e-5)
    assert scores[0] == pytest.approx(naive[0], abs=1e-5)
    assert np.abs(scores[0] - scores[1]).max() > 1e-3


def test_a_pair_too_long_keeps_the_slot_and_what_is_left_of_both(model: MaskedModel):
    cut = model.fit([pair("snow " * 300 + "sings.", "A robin is a [MASK] in " + "snow " * 20)])[0]
    first, second = cut.sentences("bird")
    assert first.endswith("snow sings.") and second.startswith("A robin is a bird in snow")
    (gone,) = model.fit([pair("Robins sing.", "snow " * 300 + "is a [MASK].")])
    assert gone.second is None and gone.text.endswith("snow is a [MASK].")
    assert np.isfinite(model.score([cut, gone], CandidateSet(("bird", "fish")))).all()


def test_a_text_with_all_pieces_masked_is_run_once(folder: Path, monkeypatch: pytest.MonkeyPatch):
    model = load_model(str(folder), pll="all-masked")
    passes: list[int] = []
    original = model._slot_log_probs
    monkeypatch.setattr(
        model, "_slot_log_probs", lambda rows: (passes.append(len(rows)), original(rows))[1]
    )
    model.score([clozes()[0]], CandidateSet(("zebras",)))
    assert len(model.pieces("zebras")) > 1 and passes == [1]


def test_an_unknown_pseudo_log_likelihood(folder: Path):
    with pytest.raises(UserError, match="unknown pll 'halfway': choose from within-word, original"):
        load_model(str(folder), pll="halfway")  # type: ignore[arg-type]


def test_several_piece_candidates_are_really_asked(model: MaskedModel):
    lengths = {len(model.pieces(word)) for word in CANDIDATES.words}
    assert 1 in lengths and max(lengths) > 1


@pytest.mark.parametrize("token_budget", [1, 20, 10_000])
def test_order_and_batch_size_change_nothing(
    model: MaskedModel, expected: np.ndarray, token_budget: int
):
    model.token_budget = token_budget
    backwards = model.score(clozes()[::-1], CANDIDATES)[::-1]
    assert np.abs(backwards - expected).max() < 1e-5
    turned = CandidateSet(CANDIDATES.words[::-1])
    assert np.abs(model.score(clozes(), turned)[:, ::-1] - expected).max() < 1e-5


def test_ranks_are_those_of_the_scores(
    model: MaskedModel, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hyperprobe.models.masked.BLOCK_NUMBERS", 2 * len(CANDIDATES))
    scores = expected
    model.max_rows = 2
    gold = [0, 1, None, 3, 4, 5]
    ranking = model.rank(clozes(), CANDIDATES, gold, 3)
    for i, place in enumerate(gold):
        if place is None:
            assert ranking.gold_rank[i] == 0 and np.isnan(ranking.gold_score[i])
        else:
            assert ranking.gold_rank[i] == 1 + (scores[i] > scores[i, place]).sum()
            assert ranking.gold_score[i] == pytest.approx(scores[i, place], abs=1e-5)
    assert (ranking.top == np.argsort(-scores, axis=1)[:, :3]).all()


def test_the_open_vocabulary_is_the_models_whole_vocabulary(folder: Path, model: MaskedModel):
    ranking, top = model.rank_open(clozes(), ["bird"] * len(TEXTS), 5)
    for i, cloze in enumerate(clozes()):
        piece = model.pieces("bird", boundary(cloze))
        if len(piece) > 1:
            assert ranking.gold_rank[i] == 0
            continue
        ids = model.tokenizer(cloze.fill(model.tokenizer.mask_token), return_tensors="pt")
        slot = (ids["input_ids"][0] == model.tokenizer.mask_token_id).nonzero()[0, 0]
        with torch.no_grad():
            logits = model.model(**ids).logits[0, slot]
        assert ranking.gold_rank[i] == 1 + (logits > logits[piece[0]]).sum()
        assert ranking.top[i].tolist() == logits.topk(5).indices.tolist()
    assert all(len(row) == 5 for row in top)
    assert "bird" in model.words() and "birds" in model.words()


def test_equal_texts_are_run_once(model: MaskedModel, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    original = model._slot_log_probs
    monkeypatch.setattr(
        model, "_slot_log_probs", lambda rows: (seen.append(len(rows)), original(rows))[1]
    )
    model.score([clozes()[0]] * 50, CandidateSet(("bird", "fish")))
    assert seen == [1]


def test_the_head_sees_the_slots_alone(model: MaskedModel):
    assert model._last_layer is not None  # (which is found by passes of its own)
    seen: list[int] = []
    handle = model.model.get_output_embeddings().register_forward_hook(
        lambda module, args, output: seen.append(output[..., 0].numel())
    )
    # Two distinct texts: one slot for each.
    model.score(clozes()[:3], CandidateSet(("bird",)))
    handle.remove()
    assert sum(seen) == 2 * len(model.pieces("bird"))


def test_running_out_of_memory_halves_the_batch(
    model: MaskedModel, expected: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    original = model._slot_log_probs

    def small_memory(rows: list) -> torch.Tensor:
        if len(rows) > 1:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return original(rows)

    monkeypatch.setattr(model, "_slot_log_probs", small_memory)
    assert np.abs(model.score(clozes(), CANDIDATES) - expected).max() < 1e-5

    def no_memory(rows: list) -> torch.Tensor:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(model, "_slot_log_probs", no_memory)
    with pytest.raises(UserError, match="out of memory on one text"):
        model.score(clozes(), CANDIDATES)


def test_other_errors_are_not_taken_for_memory(model: MaskedModel, monkeypatch: pytest.MonkeyPatch):
    def broken(rows: list) -> torch.Tensor:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(model, "_slot_log_probs", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        model.score(clozes(), CANDIDATES)


def test_bad_texts_and_words_are_named(model: MaskedModel, tiny_models: dict[str, Path]):
    mask = model.tokenizer.mask_token
    with pytest.raises(UserError, match="5: the text itself holds"):
        model.score([Cloze("5", f"A {mask} is a ", ".")], CANDIDATES)
    with pytest.raises(UserError, match="tokens are more than"):
        model.score([Cloze("long", "robin " * 300, ".")], CANDIDATES)
    bert = load_model(str(tiny_models["bert"]))
    with pytest.raises(UserError, match="cannot spell '鳥'"):
        bert.score(clozes(), CandidateSet(("鳥",)))


def test_bf16_is_close(folder: Path, expected: np.ndarray):
    half = load_model(str(folder), dtype="bf16")
    assert half.describe()["dtype"] == "bfloat16"
    off = np.abs(half.score(clozes(), CANDIDATES) - expected).max()
    assert off < 0.05 * np.abs(expected).max()
