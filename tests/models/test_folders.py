"""Model folders that are damaged or lie: one line about each, no hang, no network."""

import json
import shutil
import struct
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.embedding import LAST, encode, find_word
from hyperprobe.models.load import load_encoder, load_model
from hyperprobe.probes.classify.representations import _store, _stored

CLOZE = Cloze("x", "a robin is a ", ".", "robin")
BIRDS = CandidateSet(("bird", "fish"))


@pytest.fixture
def folder(tiny_models: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_models["bert"], tmp_path / "copy"))


def set_config(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def change_weights(folder: Path, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    path = folder / "model.safetensors"
    save_file({k: change(v) for k, v in load_file(path).items()}, path, {"format": "pt"})


def refusal(name: str) -> str:
    """The one line with which a model is refused, by what answers clozes and what encodes."""
    started = time.monotonic()
    for use in (ask, encode_one):
        with pytest.raises(UserError) as caught:
            use(name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    assert time.monotonic() - started < 20
    return str(caught.value)


def ask(name: str) -> Any:
    return load_model(name).score([CLOZE], BIRDS)


def encode_one(name: str) -> Any:
    model, tokenizer, *_ = load_encoder(name)
    return encode(model, tokenizer, [find_word("robin", "a robin is a bird .")], [LAST], name)


NUMBERS = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
NO_NUMBERS = (-1, 0, 10**12, 1.5, "12", True, [1], {"a": 1})


@pytest.mark.parametrize("key", NUMBERS)
def test_numbers_in_a_config_that_are_none(folder: Path, key: str):
    for value in NO_NUMBERS:
        set_config(folder, **{key: value})
        assert f"config.json: {key} is " in refusal(str(folder))


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 33},
        {"hidden_size": 64},
        {"num_hidden_layers": 3},
        {"vocab_size": 5},
        {"model_type": 7},
        {"model_type": "no-such-type"},
        {"model_type": None},
        {"hidden_act": "nonsense"},
        {"hidden_act": 5},
        {"layer_norm_eps": "x"},
        {"hidden_dropout_prob": 7},
        {"architectures": 5},
        {"architectures": [5]},
        {"dtype": "nonsense"},
        {"max_position_embeddings": -3},
        {"pad_token_id": 10**6},
        {"initializer_range": "x"},
    ],
)
def test_configs_that_lie_end_in_one_line_or_are_harmless(folder: Path, values: dict[str, Any]):
    set_config(folder, **values)
    for use in (ask, encode_one):
        try:
            assert np.isfinite(use(str(folder))).all()
        except UserError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("text", ["", "[]", "5", "{", '{"a": NaN}', "[" * 100_000, "\0", "{}"])
def test_configs_that_are_none(folder: Path, text: str):
    (folder / "config.json").write_text(text)
    refusal(str(folder))


def test_absurd_sizes_with_random_weights(folder: Path):
    set_config(folder, vocab_size=10_000_000, hidden_size=1_000_000)
    assert "embedding table of" in refusal(f"random:{folder}")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(folder: Path, value: float):
    change_weights(folder, lambda weights: torch.full_like(weights, value))
    assert "NaN" in refusal(str(folder))


def test_weights_of_zeros_encode_nothing(folder: Path):
    change_weights(folder, torch.zeros_like)
    with pytest.raises(UserError, match="nothing but zeros"):
        encode_one(str(folder))


def test_token_ids_outside_the_embedding_table(folder: Path):
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["robin"] = 5000
    path.write_text(json.dumps(tokenizer))
    assert "gives token 5000, and its embedding table has" in refusal(str(folder))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tokenizer.json", b""),
        ("tokenizer.json", b"{}"),
        ("tokenizer.json", b'{"model": {"vocab": 5}}'),
        ("tokenizer.json", None),
        ("tokenizer_config.json", b"[]"),
        ("tokenizer_config.json", b"\xff"),
        ("model.safetensors", b""),
        ("model.safetensors", struct.pack("<Q", 2**62) + b"{}"),
        ("model.safetensors", struct.pack("<Q", 2) + b"{}"),
        ("model.safetensors", b"PK\x03\x04"),
        ("model.safetensors", None),
        ("model.safetensors.index.json", b'{"weight_map": 5}'),
        ("model.safetensors.index.json", b'{"weight_map": {"a": 5}}'),
        ("model.safetensors.index.json", b'{"weight_map": {"a": "/etc/passwd"}}'),
        ("model.safetensors.index.json", b"[]"),
        ("model.safetensors.index.json", b"\xff"),
    ],
)
def test_files_that_are_damaged_or_missing(folder: Path, file: str, content: bytes | None):
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    if file.endswith("index.json"):
        (folder / "model.safetensors").unlink()
    refusal(str(folder))


def test_stored_encodings_that_are_damaged_are_not_used(tmp_path: Path):
    path = tmp_path / "x.safetensors"
    whole = np.ones((1, 2, 3), dtype=np.float32)
    _store(path, whole)
    assert (_stored(path, (1, 2, 3)) == whole).all()
    assert _stored(path, (1, 2, 4)) is None
    _store(path, whole * np.nan)
    assert _stored(path, (1, 2, 3)) is None
    path.write_bytes(b"x")
    assert _stored(path, (1, 2, 3)) is None


def test_loading_warns_of_nothing(tiny_models: dict[str, Path]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(str(tiny_models["bert"]))
        encode_one(str(tiny_models["bert"]))
        load_model("word2vec")


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_folders_with_a_file_changed(tiny_models: dict[str, Path], tmp_path: Path, data: Any):
    source = tiny_models["bert"]
    name = data.draw(st.sampled_from(sorted(path.name for path in source.iterdir())))
    changed = bytearray((source / name).read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, min(len(changed), 4000) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(changed))))
    folder = tmp_path / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    (folder / name).write_bytes(bytes(changed[:cut]))
    for use in (ask, encode_one):
        try:
            assert np.isfinite(use(str(folder))).all()
        except UserError as error:
            assert "\n" not in str(error)
