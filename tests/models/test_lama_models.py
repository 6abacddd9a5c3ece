"""fconv, Transformer-XL and ELMo: the original programs' answers, and a restatement of them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import lama_reference as reference
from hyperprobe.cloze import SLOT, CandidateSet, Cloze, parse_cloze
from hyperprobe.models import elmo, elmo_files, fconv_files, transformer_xl_files, word_level
from hyperprobe.models.base import Ranking, TextModel, as_text_model
from hyperprobe.models.elmo import ElmoModel
from hyperprobe.models.load import load_model
from hyperprobe.models.word_level import WordCausalModel, WordModel, lama_tokens
from hyperprobe.probes.lama.protocol import Fact
from tests.lama_files import SAVERS, save_elmo, save_fconv, save_transformer_xl

Record = dict[str, Any]
LIMIT = 1e-4  # of the originals' log-probabilities


def load(name: str, scoring: str = "full") -> WordModel:
    model = load_model(name, device="cpu", causal_scoring=scoring)  # type: ignore[arg-type]
    assert isinstance(model, WordModel)
    return model


# -- the original programs' answers -----------------------------------------------------------


@pytest.fixture(scope="module")
def originals() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "lama_models"
    if not folder.is_dir():
        pytest.skip("no shared data beside this checkout")
    return folder


def expected_of(originals: Path, folder: str) -> Record:
    found: Record = json.loads((originals / folder / "expected.json").read_text("utf-8"))
    return found


def clozes_of(originals: Path, model: WordModel, records: Sequence[Record]) -> list[Cloze]:
    """The sentences of the records, each with its gold word as the subject."""
    lines = (originals / "sentences.jsonl").read_text("utf-8").splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    clozes = []
    for record in records:
        row = rows[record["id"]]
        object_ = row["obj_label"]
        fact = Fact(str(row["id"]), object_, object_, tuple(row["masked_sentences"]))
        clozes.append(fact.cloze(None))
    assert any(cloze.second for cloze in clozes) or len(records) < len(rows)
    return model.fit(clozes)


def check_open(model: TextModel, clozes: list[Cloze], answers: Sequence[Record]) -> None:
    """The 20 best words, and the rank of the gold one, over the whole vocabulary."""
    ranking, top = model.rank_open(clozes, [c.subject or "" for c in clozes], 20)
    for i, answer in enumerate(answers):
        assert top[i] == [word for word, _, _ in answer["top20"]]
        values = [value for _, _, value in answer["top20"]]
        assert np.abs(ranking.top_score[i] - values).max() < LIMIT
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_full"] if gold else 0)


def check_candidates(
    model: TextModel, clozes: list[Cloze], answers: Sequence[Record], words: Sequence[str]
) -> None:
    """The log-probabilities of candidates, and the rank of the gold one among `words`."""
    for cloze, answer in zip(clozes, answers, strict=True):
        values = answer["candidates"]
        (scores,) = model.score([cloze], CandidateSet(tuple(values)))
        for value, score in zip(values.values(), scores, strict=True):
            assert score == -np.inf if value is None else abs(score - value) < LIMIT
    known = CandidateSet(tuple(w for w, one in zip(words, model.single_tokens(words)) if one))  # noqa: B905
    ranking = model.rank(clozes, known, [known.index.get(c.subject or "") for c in clozes], 5)
    for i, answer in enumerate(answers):
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_in_subset"] if gold else 0)
        assert [known.words[j] for j in ranking.top[i]] == [w for w, _ in answer["subset_top5"]]


def common_words(originals: Path) -> list[str]:
    return (originals / "common_vocab_cased.txt").read_text("utf-8").split()


@pytest.mark.parametrize(("file", "key"), [("", ""), ("/wiki103_old_layout.pt", "_old_layout")])
def test_fconv_as_the_original(originals: Path, file: str, key: str):
    expected = expected_of(originals, "fconv")
    records = expected[f"sentences{key}"]
    model = load(f"fconv:{originals}/fconv{file}", "continuation")
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        (ids,) = model.token_ids([cloze.text])
        assert [2, *ids, 2] == record["input_ids"]
        tokens = [
            SLOT if token == "<unk>" else token for token in model.tokenizer.split(cloze.text)
        ]
        assert [*tokens, "</s>"] == record["tokens"]
        (before,) = model.token_ids([cloze.left])
        assert len(before) == record["mask_indices"][0]
    check_open(model, clozes, records)
    words = common_words(originals)
    check_candidates(model, clozes, records, words)
    unknown = [word for word, one in zip(words, model.single_tokens(words), strict=True) if not one]
    assert sorted(unknown) == expected["vocab_subset_words_not_in_model"]


@pytest.mark.parametrize("tokens", ["0.6.1", "0.6.2"])
@pytest.mark.parametrize("memory", ["zero", "none"])
def test_transformer_xl_as_the_original(originals: Path, memory: str, tokens: str):
    expected = expected_of(originals, "transformer-xl")
    records = expected["sentences"]
    if tokens == "0.6.2":
        newer = expected["pytorch_pretrained_bert_0.6.2"]
        records = [r for r in records if r["id"] in newer["same_input"]]
        records += newer["sentences_with_other_tokens"]
    folder = originals / "transformer-xl" / "transfo-xl-wt103"
    choices = "" if (memory, tokens) == ("zero", "0.6.1") else f"?memory={memory}&tokens={tokens}"
    model = load(f"transformer-xl:{folder}{choices}", "continuation")
    key = f"{'no' if memory == 'none' else memory}_memory"
    records = [record for record in records if key in record]
    assert len(records) >= 9
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        (ids,) = model.token_ids([cloze.text])
        assert [0, *ids] == record["full_ids"]
        assert ["<eos>", *model.tokenizer.split(cloze.text)] == record["tokens"]
        (before,) = model.token_ids([cloze.left])
        assert len(before) == record["mask_indices"][0]
    answers = [record[key] for record in records]
    check_open(model, clozes, answers)
    check_candidates(model, clozes, answers, common_words(originals))
    assert (model.describe()["memory"], model.describe()["tokens"]) == (memory, tokens)


def elmo_answers(originals: Path, model: ElmoModel, key: str) -> tuple[list[Cloze], list[Record]]:
    records = expected_of(originals, "elmo")["sentences"]
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        text = model.text(cloze)
        assert list(text.words) == record["tokens"] and text.slot == record["mask_indices"][0]
    return clozes, [record[key] for record in records]


def load_elmo(originals: Path, state: str) -> ElmoModel:
    model = load(f"elmo:{originals}/elmo/original?state={state}")
    assert isinstance(model, ElmoModel)
    return model


def ranked_scores(ranking: Ranking) -> np.ndarray:
    """The scores that a ranking with all candidates at the top is of, in their order."""
    scores = np.empty_like(ranking.top_score)
    np.put_along_axis(scores, ranking.top, ranking.top_score, axis=1)
    return scores


def check_subset(
    originals: Path, model: ElmoModel, clozes: list[Cloze], answers: list[Record]
) -> None:
    """The original's records over the vocabulary that was cut, `<S>` and `</S>` ranked as well."""
    cut = CandidateSet(tuple(expected_of(originals, "elmo")["vocab_after_optimize_top_layer"]))
    gold = [cut.index.get(c.subject or "") for c in clozes]
    ranking = model.rank(clozes, cut, gold, len(cut))
    scores = ranked_scores(ranking)
    for i, answer in enumerate(answers):
        best = ranking.top[i, :20]
        assert [cut.words[j] for j in best] == [word for word, _, _ in answer["top20"]]
        values = [value for _, _, value in answer["top20"]]
        assert np.abs(ranking.top_score[i, :20] - values).max() < LIMIT
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_full"] if gold else 0)
        for word, value in answer["candidates"].items():
            assert value is None or abs(scores[i, cut.index[word]] - value) < LIMIT
        assert np.exp(scores[i]).sum() == pytest.approx(answer["sum_of_probabilities"], abs=1e-3)


@pytest.mark.parametrize("state", ["zero-state-10", "zero-state-1"])
def test_elmo_as_the_original(originals: Path, state: str):
    model = load_elmo(originals, state)
    key = state.replace("-", "_")
    clozes, answers = elmo_answers(originals, model, f"full_{key}")
    check_open(model, clozes, answers)
    for cloze, answer in zip(clozes, answers, strict=True):
        values = answer["candidates"]
        (scores,) = model.score([cloze], CandidateSet(tuple(values)))
        for value, score in zip(values.values(), scores, strict=True):
            assert score == -np.inf if value is None else abs(score - value) < LIMIT
    _, answers = elmo_answers(originals, model, f"subset_{key}")
    check_subset(originals, model, clozes, answers)
    # The two marks take part in the soft-max where they do not compete, too.
    cut = expected_of(originals, "elmo")["vocab_after_optimize_top_layer"]
    words = CandidateSet(tuple(word for word in cut if word not in ("<S>", "</S>")))
    scores = ranked_scores(model.rank(clozes[:3], words, [None] * 3, len(words)))
    for row, answer in zip(scores, answers, strict=False):
        for word, value in answer["candidates"].items():
            assert value is None or abs(row[words.index[word]] - value) < LIMIT


def test_elmo_in_the_reference_order(originals: Path, monkeypatch: pytest.MonkeyPatch):
    model = load_elmo(originals, "reference-order")
    monkeypatch.setattr(elmo, "BATCH", 16)
    clozes, answers = elmo_answers(originals, model, "subset_lama_pass_1")
    check_subset(originals, model, clozes, answers)
    order = elmo.reference_order(clozes)
    batches = expected_of(originals, "elmo")["lama_passes"]["pass_1"]["batches"]
    assert order == sum(batches, [])  # noqa: RUF017
    # All again in batches of 32, straight on, as the original did once more.
    states = model.sides(clozes).states
    monkeypatch.setattr(elmo, "BATCH", 32)
    read = model.sides
    monkeypatch.setattr(
        model, "sides", lambda clozes, *around: read(clozes, *around, states=states)
    )
    _, answers = elmo_answers(originals, model, "subset_lama_pass_2")
    check_subset(originals, model, clozes, answers)


# -- other shapes, against the restatement ------------------------------------------------------

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
