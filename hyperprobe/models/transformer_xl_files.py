"""The files of Transformer-XL as `transfo-xl-wt103` has them, and how its texts become words."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

from hyperprobe.documents import Document, read_json
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.torch_files import Weights, check_weights, read_torch

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocab.bin", "pytorch_model.bin"
UNKNOWN = "<unk>"
MOST = {"n_layer": 1000, "mem_len": 20_000}  # numbers that no table of weights confirms at once
WHOLE = (UNKNOWN, "<eos>", "<formula>")  # words that are not split at their brackets


class Config(Document):
    """What of a config.json the network is made from; the last seven have one value only."""

    n_token: int
    cutoffs: list[int]
    d_model: int
    d_embed: int
    d_head: int
    d_inner: int
    n_head: int
    n_layer: int
    div_val: int
    mem_len: int
    clamp_len: int
    adaptive: bool = True
    attn_type: int = 0
    pre_lnorm: bool = False
    same_length: bool = True
    tie_weight: bool = True
    untie_r: bool = True
    tie_projs: list[bool] | None = None

    def bands(self) -> list[tuple[int, int]]:
        """(words, width) of each band of the vocabulary."""
        ends = [0, *self.cutoffs, self.n_token]
        return [
            (high - low, self.d_embed // self.div_val**i)
            for i, (low, high) in enumerate(pairwise(ends))
        ]


# -- words ----------------------------------------------------------------------------------


def split_at_punctuation(text: str) -> list[str]:
    """The words of a text as pytorch-pretrained-bert 0.6.1 splits it: at white space and around
    each punctuation character."""
    words: list[str] = []
    for token in split_at_spaces("".join(_cleaned(text))):
        if token in WHOLE:
            words.append(token)
            continue
        spaced = (f" {c} " if _is_punctuation(c) else c for c in token)
        words += "".join(spaced).split()
    return words


def split_at_spaces(text: str) -> list[str]:
    """The words of a text as pytorch-pretrained-bert 0.6.2 splits it: at white space."""
    return text.split()


TOKENS = {"0.6.1": split_at_punctuation, "0.6.2": split_at_spaces}


def _cleaned(text: str) -> list[str]:
    """The characters, without control characters, any white space as a space."""
    kept = []
    for c in text:
        category = unicodedata.category(c)
        if c in "\t\n\r " or category == "Zs":
            kept.append(" ")
        elif c not in "\0\ufffd" and not category.startswith("C"):
            kept.append(c)
    return kept


def _is_punctuation(c: str) -> bool:
    """Every ASCII character that is neither letter, digit nor space counts, too."""
    if c.isascii():
        return c.isprintable() and not c.isalnum() and c != " "
    return unicodedata.category(c).startswith("P")


# -- files ----------------------------------------------------------------------------------


def files_of(path: Path) -> list[Path]:
    """Configuration, vocabulary and weights. Raises `UserError` where one is missing."""
    files = [path / name for name in (CONFIG, VOCABULARY, WEIGHTS)]
    for file in files:
        if not file.is_file():
            raise UserError(
                f"no file {file}: name the folder with {CONFIG}, {VOCABULARY} and {WEIGHTS} "
                "of transfo-xl-wt103"
            )
    return files


def read_config(path: Path) -> Config:
    """The configuration. Raises `UserError` for numbers that fit no such network."""
    config = read_json(path, Config, "config")
    fixed: dict[str, Any] = {
        "adaptive": True, "attn_type": 0, "pre_lnorm": False, "same_length": True,
        "tie_weight": True, "untie_r": True,
        "tie_projs": [False, *[True] * len(config.cutoffs)],
    }  # fmt: skip
    for key, value in fixed.items():
        if getattr(config, key) != value:
            raise UserError(
                f"{path}: {key} is {quoted(getattr(config, key))}, and only {quoted(value)} is "
                "read: name a model as transfo-xl-wt103 is"
            )
    for key, value in config:
        most = MOST.get(key, 10_000_000)
        if type(value) is int and key != "attn_type" and not 1 <= value <= most:
            raise UserError(f"{path}: {key} is {value}, no fit number: correct it")
    ends = [0, *config.cutoffs, config.n_token]
    if ends != sorted(set(ends)) or config.d_model % 2 or config.bands()[-1][1] < 1:
        raise UserError(f"{path}: cutoffs, n_token and widths do not fit each other: correct it")
    return config


def read_vocabulary(path: Path, n_words: int) -> list[str]:
    """The words by id. Raises `UserError` for another number of them than the configuration's."""
    content = read_torch(path, "vocabulary")
    words = content.get("idx2sym") if isinstance(content, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UserError(f"{path}: no list of words idx2sym: is it the right file?")
    if content.get("lower_case"):
        raise UserError(f"{path}: its words are lower-cased, which is not read: name another model")
    if len(words) != n_words:
        raise UserError(
            f"{path}: {len(words)} words, and {CONFIG} says {n_words}: fetch both again"
        )
    return words


def read_weights(path: Path, config: Config) -> Weights:
    """The weights, checked against the configuration; of those that are tied the first ones."""
    weights = check_weights(path, read_torch(path, "weights"), weight_shapes(config))
    n_bands = len(config.bands())
    tied = {f"crit.out_layers.{i}.weight" for i in range(n_bands)}
    tied |= {f"crit.out_projs.{i}" for i in range(1, n_bands)} | {"transformer.pos_emb.inv_freq"}
    return {key: table for key, table in weights.items() if key not in tied}


def weight_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The shape of each table of weights in the file."""
    bands, d = config.bands(), config.d_model
    width = config.n_head * config.d_head
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.pos_emb.inv_freq": ((d + 1) // 2,),
        "crit.cluster_weight": (len(bands) - 1, bands[0][1]),
        "crit.cluster_bias": (len(bands) - 1,),
    }
    for i, (size, narrow) in enumerate(bands):
        shapes[f"transformer.word_emb.emb_layers.{i}.weight"] = (size, narrow)
        shapes[f"transformer.word_emb.emb_projs.{i}"] = (d, narrow)
        shapes[f"crit.out_layers.{i}.weight"] = (size, narrow)
        shapes[f"crit.out_layers.{i}.bias"] = (size,)
        shapes[f"crit.out_projs.{i}"] = (d, narrow)
    for i in range(config.n_layer):
        attention = f"transformer.layers.{i}.dec_attn"
        shapes |= {
            f"{attention}.r_r_bias": (config.n_head, config.d_head),
            f"{attention}.r_w_bias": (config.n_head, config.d_head),
            f"{attention}.qkv_net.weight": (3 * width, d),
            f"{attention}.o_net.weight": (d, width),
            f"{attention}.r_net.weight": (width, d),
        }
        inner = f"transformer.layers.{i}.pos_ff"
        shapes |= {
            f"{inner}.CoreNet.0.weight": (config.d_inner, d),
            f"{inner}.CoreNet.0.bias": (config.d_inner,),
            f"{inner}.CoreNet.3.weight": (d, config.d_inner),
            f"{inner}.CoreNet.3.bias": (d,),
        }
        for part in (attention, inner):
            shapes |= {f"{part}.layer_norm.{key}": (d,) for key in ("weight", "bias")}
    return shapes
