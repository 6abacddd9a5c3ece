"""Tiny random checkpoints of the LAMA paper's older models, in the layouts of their files."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import h5py
import numpy as np
import pytest
import torch

from benchmarks.lama_reference import random_weights
from hyperprobe.errors import UserError
from hyperprobe.models import elmo_files, fconv_files, transformer_xl_files
from hyperprobe.models.base import Ranking
from hyperprobe.models.load import load_model
from hyperprobe.models.word_level import WordModel
from tests.tiny_models import WORDS

# Punctuation stays with its word in two of the three vocabularies.
VOCABULARY = [
    *(word for word in WORDS if word != "vegetable"),
    "A",
    "Robins",
    "robin.",
    "tree.",
    "zebra",
    "1954",
    "trees.",
    "bird.",
    "well-fed",
]

OLD = {"_use_new_zipfile_serialization": False}


def save_fconv(
    folder: Path,
    seed: int = 1,
    layers: str = "[(12, 3)] * 2 + [(10, 1, 2)] + [(16, 4)]",
    old: bool = False,
    name: str = fconv_files.WEIGHTS,
) -> Path:
    """fairseq's files; `old` is the older layout of the weights. The folder."""
    words = [*VOCABULARY[seed:], *VOCABULARY[:seed]]
    shape = fconv_files.Shape(
        8 + seed, fconv_files.parse_layers(layers, "layers"), (9, 20, 30, len(words) + 4)
    )
    shapes = fconv_files.weight_shapes(shape, old_norm=old, old_tails=old)
    args = {
        "decoder_embed_dim": shape.width, "decoder_layers": layers,
        "adaptive_softmax_cutoff": "9,20,30", "criterion": "adaptive_loss",
    }  # fmt: skip
    meters = ModuleType("fairseq.meters")
    meter: Any = type("AverageMeter", (), {"__module__": "fairseq.meters"})
    meters.AverageMeter = meter  # type: ignore[attr-defined]
    one = meter()
    one.val, one.count = 3.5, 7
    content = {
        "args": argparse.Namespace(**args),
        "model": OrderedDict(random_weights(shapes, seed)),
        "extra_state": {"train_meters": OrderedDict(train_loss=one), "epoch": 35},
    }
    folder.mkdir(parents=True, exist_ok=True)
    with mock.patch.dict(sys.modules, {"fairseq": ModuleType("fairseq"), "fairseq.meters": meters}):
        torch.save(content, folder / name, **OLD)
    lines = [f"{word} {1000 - i}\n" for i, word in enumerate(words)]
    (folder / fconv_files.DICTIONARY).write_text("".join(lines), encoding="utf-8")
    return folder


def save_transformer_xl(folder: Path, seed: int = 1, **shape: int) -> Path:
    """Transformer-XL's files; `shape` are numbers of its configuration. The folder."""
    words = ["<eos>", *VOCABULARY[:10], "<unk>", *VOCABULARY[10:]]
    numbers = {
        "d_model": 32, "d_embed": 32, "d_head": 8, "d_inner": 24, "n_head": 3, "n_layer": 2,
        "div_val": 2, "mem_len": 7, "clamp_len": 5, **shape,
    }  # fmt: skip
    config = {
        **numbers, "n_token": len(words), "cutoffs": [9, 20, 30], "adaptive": True,
        "attn_type": 0, "same_length": True, "tie_weight": True, "untie_r": True,
        "pre_lnorm": False, "tie_projs": [False, True, True, True],
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / transformer_xl_files.CONFIG).write_text(json.dumps(config))
    read = transformer_xl_files.read_config(folder / transformer_xl_files.CONFIG)
    weights = random_weights(transformer_xl_files.weight_shapes(read), seed)
    for i in range(4):
        weights[f"crit.out_layers.{i}.weight"] = weights[
            f"transformer.word_emb.emb_layers.{i}.weight"
        ]
        if i:
            weights[f"crit.out_projs.{i}"] = weights[f"transformer.word_emb.emb_projs.{i}"]
    torch.save(OrderedDict(weights), folder / transformer_xl_files.WEIGHTS, **OLD)
    vocabulary = {
        "counter": Counter(words), "special": ["<eos>"], "lower_case": False, "eos_idx": 0,
        "idx2sym": words, "sym2idx": OrderedDict((word, i) for i, word in enumerate(words)),
    }  # fmt: skip
    torch.save(vocabulary, folder / transformer_xl_files.VOCABULARY, **OLD)
    return folder


def save_elmo(folder: Path, seed: int = 1, **lstm: Any) -> Path:
    """ELMo's files; `lstm` are numbers of its options. The folder."""
    words = ["<S>", "</S>", *VOCABULARY, "<UNK>"]
    said = {
        "lstm": {
            "use_skip_connections": True, "projection_dim": 10 + seed, "cell_clip": 1,
            "proj_clip": 0.8, "dim": 14, "n_layers": 2, **lstm,
        },
        "char_cnn": {
            "activation": "relu", "filters": [[1, 4], [3, 5], [5, 3]], "n_highway": 2,
            "embedding": {"dim": 6}, "n_characters": 262, "max_characters_per_token": 50,
        },
    }  # fmt: skip
    options = elmo_files.Options.model_validate(said)
    weights = random_weights(elmo_files.weight_shapes(options), seed)
    narrow = options.lstm.projection_dim
    softmax = random_weights({"softmax/W": (len(words), narrow), "softmax/b": (len(words),)}, seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny_options.json").write_text(json.dumps(said))
    save_hdf5(folder / "tiny_weights.hdf5", weights)
    save_hdf5(folder / "tiny_softmax_weights.hdf5", softmax)
    (folder / "vocab-tiny.txt").write_text("".join(f"{word}\n" for word in words))
    return folder


def save_hdf5(path: Path, tables: dict[str, torch.Tensor]) -> None:
    """The tables of an HDF5 file."""
    with h5py.File(path, "w") as file:
        for key, table in tables.items():
            file[key] = table.numpy()


SAVERS = {"fconv": save_fconv, "transformer-xl": save_transformer_xl, "elmo": save_elmo}


def refused(family: str, path: Path) -> str:
    """What is said of a model that is refused: one line."""
    with pytest.raises(UserError) as error:
        load_model(f"{family}:{path}", device="cpu")
    text = str(error.value)
    assert "\n" not in text and len(text) < 400
    return text


def load_word_model(name: str, scoring: str = "full") -> WordModel:
    model = load_model(name, device="cpu", causal_scoring=scoring)  # type: ignore[arg-type]
    assert isinstance(model, WordModel)
    return model


def ranked_scores(ranking: Ranking) -> np.ndarray:
    """The scores that a ranking with all candidates at the top is of, in their order."""
    scores = np.empty_like(ranking.top_score)
    np.put_along_axis(scores, ranking.top, ranking.top_score, axis=1)
    return scores
