"""Settings and vocabularies of fconv, Transformer-XL and ELMo that fit no network."""

import json

import pytest
import torch

from hyperprobe.errors import UserError
from hyperprobe.models.fconv_files import Layer, parse_layers
from tests.lama_files import OLD, VOCABULARY, refused


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize(("family", "name"), [("fconv", "dict.txt"), ("elmo", "vocab-tiny.txt")])
def test_a_vocabulary_of_another_length(family: str, name: str, more: bool, copy_of):
    path = copy_of(family)
    lines = (path / name).read_text().splitlines()
    end = "word 3" if family == "fconv" else "word"
    lines = [*lines, end] if more else [*lines[:5], *lines[6:]]
    (path / name).write_text("\n".join(lines) + "\n")
    assert "would fit the model's settings and vocabulary" in refused(family, path)


def test_a_transformer_xl_vocabulary_of_another_length(copy_of):
    path = copy_of("transformer-xl")
    content = torch.load(path / "vocab.bin", weights_only=True)
    content["idx2sym"].append("surplus")
    torch.save(content, path / "vocab.bin", **OLD)
    n = len(VOCABULARY) + 2
    assert f"{n + 1} words, and config.json says {n}" in refused("transformer-xl", path)


@pytest.mark.parametrize("word", ["<unk>", "<eos>"])
def test_a_vocabulary_without_its_marks(word: str, copy_of):
    path = copy_of("transformer-xl")
    content = torch.load(path / "vocab.bin", weights_only=True)
    content["idx2sym"][content["idx2sym"].index(word)] = "other"
    torch.save(content, path / "vocab.bin", **OLD)
    assert f"no {word} in the vocabulary" in refused("transformer-xl", path)


@pytest.mark.parametrize(
    ("family", "name", "change"),
    [
        ("transformer-xl", "config.json", {"same_length": False}),
        ("transformer-xl", "config.json", {"n_layer": 0}),
        ("transformer-xl", "config.json", {"n_layer": "two"}),
        ("transformer-xl", "config.json", {"n_layer": 10**6}),
        ("transformer-xl", "config.json", {"mem_len": 10**6}),
        ("transformer-xl", "config.json", {"d_model": 10**12}),
        ("transformer-xl", "config.json", {"cutoffs": [20, 9, 30]}),
        ("transformer-xl", "config.json", {"cutoffs": [9, 20, 3000]}),
        ("transformer-xl", "config.json", {"div_val": 1000}),
        ("transformer-xl", "config.json", {"tie_projs": [True, True, True, True]}),
        ("elmo", "tiny_options.json", {"lstm": {}}),
        ("elmo", "tiny_options.json", {"lstm": 3}),
    ],
)
def test_settings_that_no_network_has(family: str, name: str, change: dict, copy_of):
    path = copy_of(family)
    said = json.loads((path / name).read_text())
    (path / name).write_text(json.dumps(said | change))
    assert name in refused(family, path)


@pytest.mark.parametrize(
    "change",
    [
        {"activation": "tanh"},
        {"n_characters": 100},
        {"filters": []},
        {"filters": [[60, 4]]},
        {"filters": [[1, 4, 5]]},
        {"embedding": {"dim": -1}},
    ],
)
def test_elmo_options_of_another_word_network(change: dict, copy_of):
    path = copy_of("elmo")
    file = path / "tiny_options.json"
    said = json.loads(file.read_text())
    said["char_cnn"] |= change
    file.write_text(json.dumps(said))
    assert "tiny_options.json" in refused("elmo", path)


# -- decoder_layers of fconv ------------------------------------------------------------------


def test_layers_are_parsed():
    layer = Layer
    assert parse_layers("[(850, 6)] * 2 + [(10, 1, 2)]", "x") == (
        layer(850, 6, 1), layer(850, 6, 1), layer(10, 1, 2),
    )  # fmt: skip
    assert parse_layers("([(3, 1)] + [(4, 2, 0), (5, 3)]) * 2", "x")[-2:] == (
        layer(4, 2, 0), layer(5, 3, 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "None", "[]", "[(1, 2)] * 0", "[(1, 2)] * 10**9", "[(1, 2)] * 2000",
        "[(1, 2)] * -1", "[(1, 2)] - [(1, 2)]", "[(1,)]", "[(1, 2, 3, 4)]", "[1, 2]", "[(1, '2')]",
        "[(1, True)]", "[(10**9, 2)]", "[(1, 2, 3)]", "[(0, 1)]", "__import__('os').system('true')",
        "[(__import__('os').getpid(), 1)]", "[x for x in ()]", "(" * 3000,
        "[(1, 2)]" * 900, "[(1, 2)]" + " + [(1, 2)]" * 2000,
    ],
)  # fmt: skip
def test_layers_that_are_no_list_are_refused(text: str):
    with pytest.raises(UserError, match="x"):
        parse_layers(text, "x")
