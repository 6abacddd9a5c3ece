"""The last layer at the slots alone, against whole passes, of one sentence at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoTokenizer

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.models.load import load_model
from hyperprobe.models.masked import MaskedModel
from tests.models.test_masked import clozes, naive_score

SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
WIDE = {**SHAPE, "intermediate_size": 64}
# Architecture -> its shape, and whether its last layer can be computed at the slots alone.
OTHERS: dict[str, tuple[dict[str, Any], bool]] = {
    # (a window of 1: no word sees farther than its neighbours in the last layer)
    "ModernBert": (
        {**WIDE, "pad_token_id": 0, "local_attention": 2, "global_attn_every_n_layers": 2},
        True,
    ),
    "Electra": ({**WIDE, "embedding_size": 16}, True),
    "DistilBert": ({"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}, True),
    "DebertaV2": ({**WIDE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, False),
    "MPNet": (WIDE, False),
    "XLMRoberta": (WIDE, True),
    "Albert": ({**WIDE, "embedding_size": 16, "num_hidden_groups": 2, "inner_group_num": 2}, True),
}
WORDS = CandidateSet(("bird", "birdhouse", "zebras"))


def made(architecture: str, folder: Path, tokenizer: Any, **more: Any) -> Path:
    special = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    shape = {**OTHERS[architecture][0], **more}
    config = getattr(transformers, f"{architecture}Config")(
        vocab_size=len(tokenizer), initializer_range=0.1, **special, **shape
    )
    torch.manual_seed(1)
    getattr(transformers, f"{architecture}ForMaskedLM")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("architecture", OTHERS)
def test_every_architecture_gives_the_naive_scores(
    architecture: str, tiny_models: dict[str, Path], tmp_path: Path
):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    folder = made(architecture, tmp_path, tokenizer)
    naive = [[naive_score(folder, cloze, word) for word in WORDS.words] for cloze in clozes()]
    model = load_model(str(folder))
    assert isinstance(model, MaskedModel)
    assert np.abs(model.score(clozes(), WORDS) - naive).max() < 1e-5
    slots_alone = model.describe()["last_layer"] == "at the slots alone"
    assert slots_alone == OTHERS[architecture][1]


@pytest.fixture
def model(tiny_models: dict[str, Path]) -> MaskedModel:
    loaded = load_model(str(tiny_models["bert"]))
    assert isinstance(loaded, MaskedModel)
    return loaded


def feed_forward_rows(model: MaskedModel) -> list[int]:
    """How many vectors each call of the last feed-forward reads, filled as the model is asked."""
    rows: list[int] = []
    dense = model.model.base_model.encoder.layer[-1].intermediate.dense
    weight = dense.weight  # (not a hook, for which the whole layer would be computed)
    dense.forward = lambda x: (
        rows.append(x[..., 0].numel()),
        torch.nn.functional.linear(x, weight, dense.bias),
    )[1]
    return rows


def test_the_last_feed_forward_reads_the_slots_alone(model: MaskedModel):
    assert model._last_layer is not None
    rows = feed_forward_rows(model)
    model.score(clozes()[:3], CandidateSet(("bird",)))  # two distinct texts
    assert sum(rows) == 2


def test_a_watched_layer_is_computed_whole(model: MaskedModel):
    expected = model.score(clozes(), WORDS)
    seen: list[torch.Size] = []
    output = model.model.base_model.encoder.layer[-1].output
    handle = output.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    watched = model.score(clozes()[:1], WORDS)
    handle.remove()
    assert seen[0][1] > 3
    assert np.abs(watched - expected[:1]).max() < 1e-5


def test_an_architecture_that_mixes_positions_afterwards_is_computed_whole(
    model: MaskedModel, monkeypatch: pytest.MonkeyPatch
):
    """As remote code may: here the head also reads the mean of all hidden states."""
    base = model.model.base_model
    forward = base.forward

    def mixed(*args: Any, **kwargs: Any) -> Any:
        output = forward(*args, **kwargs)
        hidden = output.last_hidden_state
        output["last_hidden_state"] = hidden + hidden.mean(dim=1, keepdim=True)
        return output

    monkeypatch.setattr(base, "forward", mixed)
    assert model._last_layer is None
    assert model.describe()["last_layer"] == "at all positions"


def test_a_failed_pass_leaves_the_layer_as_it_was(model: MaskedModel):
    last = model._last_layer
    assert last is not None
    with pytest.raises(RuntimeError, match="torn"), last.at(torch.tensor([[1]])):
        raise RuntimeError("torn")
    assert last.is_plain


def test_several_slots_of_padded_texts_equal_the_whole_layer(
    model: MaskedModel, monkeypatch: pytest.MonkeyPatch
):
    texts = [parse_cloze("A robin " + "is a " * n + "[MASK].", str(n)) for n in range(1, 12)]
    narrow = model.score(texts, WORDS)
    monkeypatch.setattr(model, "_last_layer", None)
    assert np.abs(model.score(texts, WORDS) - narrow).max() < 1e-5
