"""A word's vector in its sentence is the mean over its pieces, whatever the architecture."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)

from hyperprobe.errors import UserError
from hyperprobe.models.embedding import Mention, encode, find_word, parse_layers
from hyperprobe.models.load import load_encoder

# (word, sentence, how the word is spelt before it is cut into pieces)
SENTENCES = [
    ("robin", "A robin perches in the snow.", " robin"),
    ("wren", "In winter a wren (the bird) is in the house, when snow is in the trees.", " wren"),
    ("trout", "Trout!", "Trout"),
    ("xylem", "the oak, the xylem, the tree", " xylem"),
    ("robin", "Some robins are birds", " robins"),
]


@pytest.fixture(scope="module")
def encoders(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    """Folders of every family: with an LM head, without one, causal, sequence to sequence."""
    from transformers import AutoTokenizer

    folders = dict(tiny_models)
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["roberta"])
    bert = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    gpt2 = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
    t5 = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    ends = {"bos_token_id": 0, "eos_token_id": 2, "vocab_size": len(tokenizer)}
    starts = {"pad_token_id": 1, "decoder_start_token_id": 1, "vocab_size": len(tokenizer)}
    torch.manual_seed(5)
    made = {
        "bare": BertModel(BertConfig(hidden_size=32, **bert), add_pooling_layer=False),
        "gpt2": GPT2LMHeadModel(GPT2Config(**gpt2, **ends)),
        "t5": T5ForConditionalGeneration(T5Config(**t5, **starts)),
    }
    for name, model in made.items():
        folders[name] = tmp_path_factory.mktemp(name)
        model.save_pretrained(folders[name])
        own = tiny_models["bert"] if name == "bare" else tiny_models["roberta"]
        AutoTokenizer.from_pretrained(own).save_pretrained(folders[name])
    return folders


def by_hand(model, tokenizer, sentence: str, spelt: str) -> np.ndarray:
    """One sentence at a time, the pieces found by their ids and not by offsets."""
    ids = tokenizer(sentence)["input_ids"]
    own = tokenizer(spelt, add_special_tokens=False)["input_ids"]
    # (a piece that is only the mark of the space before the word is none of the word's)
    own = [i for i in own if tokenizer.convert_ids_to_tokens(i) not in ("Ġ", "▁")]
    (start,) = [i for i in range(len(ids)) if ids[i : i + len(own)] == own]
    with torch.no_grad():
        vectors = model(input_ids=torch.tensor([ids])).last_hidden_state[0]
    return sum(vectors[start + i].numpy() for i in range(len(own))) / len(own)


@pytest.mark.parametrize("name", ["bert", "bare", "roberta", "albert", "gpt2", "t5"])
def test_vectors_are_the_mean_over_the_pieces(name: str, encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders[name]))
    mentions = [find_word(word, sentence) for word, sentence, _ in SENTENCES]
    ours = encode(model, tokenizer, mentions)[0]
    for (_, sentence, spelt), vector in zip(SENTENCES, ours, strict=True):
        np.testing.assert_allclose(vector, by_hand(model, tokenizer, sentence, spelt), atol=1e-6)


def test_layers_and_their_sums(encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders["bert"]))
    mentions = [find_word("robin", "A robin is a bird.")] * 2
    single = encode(model, tokenizer, mentions, [(0,), (1,), (2,), (-1,)])
    assert single.shape == (4, 2, 32) and (single[2] == single[3]).all()
    summed = encode(model, tokenizer, mentions, [parse_layers("0+1+2")])
    np.testing.assert_allclose(summed[0], single[:3].sum(axis=0), atol=1e-5)
    with pytest.raises(UserError, match="has no layer 3: it has 0"):
        encode(model, tokenizer, mentions, [(3,)])
    with pytest.raises(UserError, match="--layer first: write last"):
        parse_layers("first")


def test_the_same_numbers_on_one_and_two_threads(encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders["roberta"]))
    mentions = [find_word(word, sentence) for word, sentence, _ in SENTENCES * 9]
    before = torch.get_num_threads()
    results = []
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        results.append(encode(model, tokenizer, mentions))
        assert torch.get_num_threads() == n_threads
    torch.set_num_threads(before)
    assert (results[0] == results[1]).all()


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "gpt2", "t5"])
def test_the_same_numbers_in_any_batch(name: str, encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders[name]))
    before = {key: value.clone() for key, value in model.state_dict().items()}
    mentions = [find_word(word, sentence) for word, sentence, _ in SENTENCES * 9]
    results = [encode(model, tokenizer, mentions, max_rows=rows) for rows in (None, 1)]
    assert (results[0] == results[1]).all()
    with pytest.raises(UserError, match="has no layer"):
        encode(model, tokenizer, mentions, [(99,)])
    after = model.state_dict()
    for key, value in before.items():
        assert after[key].dtype == value.dtype and torch.equal(after[key], value)


def test_a_model_that_cannot_compute_in_double_precision(
    encoders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    model, tokenizer, *_ = load_encoder(str(encoders["bert"]))
    mentions = [find_word(word, sentence) for word, sentence, _ in SENTENCES]
    double = encode(model, tokenizer, mentions)
    forward, asked = type(model).forward, []

    def single(self, **inputs):
        asked.append(self.dtype)
        if self.dtype != torch.float32:
            raise RuntimeError("expected mat_a to be Float32, got Double")
        return forward(self, **inputs)

    monkeypatch.setattr(type(model), "forward", single)
    np.testing.assert_allclose(encode(model, tokenizer, mentions), double, atol=1e-6)
    assert asked[:2] == [torch.float64, torch.float32] and asked.count(torch.float64) == 1


@pytest.mark.parametrize(
    ("word", "sentence", "found"),
    [
        ("robin", "The robin, a robin.", "robin"),
        ("robin", "Robins and a Robin.", "Robin"),
        ("robin", "(robin)", "robin"),
        ("goose", "Geese fly.", "Geese"),
        ("trout", "“Trout—fresh!”", "Trout"),
        ("Fly", "a fly", "fly"),
    ],
)
def test_find_word(word: str, sentence: str, found: str):
    mention = find_word(word, sentence)
    assert mention.sentence[mention.start : mention.end] == found


@pytest.mark.parametrize("sentence", ["A bird.", "robinson", "robin-like", "", "İstanbul's birds"])
def test_a_sentence_without_its_word(sentence: str):
    with pytest.raises(UserError, match="'robin' does not stand in"):
        find_word("robin", sentence)


def test_a_long_sentence_is_cut_around_the_word(encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders["gpt2"]))  # reads 64 tokens
    before, after = "the snow " * 90, "in a tree " * 70
    ours = encode(model, tokenizer, [find_word("robin", f"{before}(robin), {after}")])[0, 0]
    best = None
    for n in range(60):  # as many words on both sides as fit
        left, right = before.split()[len(before.split()) - n :], after.split()[:n]
        text = " ".join([*left, "(robin),", *right])
        if len(tokenizer(text)["input_ids"]) <= 64:
            best = text
    assert best is not None
    np.testing.assert_allclose(ours, by_hand(model, tokenizer, best, "robin"), atol=1e-6)


def test_the_word_may_stand_at_the_end_of_a_long_sentence(encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders["bert"]))
    sentence = "the snow " * 300 + "robin"
    vector = encode(model, tokenizer, [find_word("robin", sentence)])[0, 0]
    short = encode(model, tokenizer, [find_word("robin", "the snow " * 10 + "robin")])[0, 0]
    assert np.isfinite(vector).all() and not np.allclose(vector, short)


def test_words_that_cannot_be_encoded(encoders: dict[str, Path]):
    model, tokenizer, *_ = load_encoder(str(encoders["gpt2"]))
    with pytest.raises(UserError, match="alone is longer than the 64 tokens"):
        encode(model, tokenizer, [find_word("x" * 500, "x" * 500)])
    with pytest.raises(UserError, match="leaves nothing of"):
        encode(model, tokenizer, [Mention("a robin", 2, 2)])
    with pytest.raises(UserError, match="no character offsets"):
        encode(model, object(), [find_word("a", "a")])
