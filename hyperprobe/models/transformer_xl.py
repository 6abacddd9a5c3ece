"""Transformer-XL (Dai et al. 2019) in the files of `transfo-xl-wt103`, asked as LAMA asks it.

A word attends to the `mem_len` words before it and itself, by content and by distance. LAMA puts a
memory of zeros before every text (`memory=zero`): rows without content that take attention by
their distance all the same. With `memory=none` there is nothing before a text.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import torch
from torch.nn import functional

from hyperprobe.documents import Document, read_json
from hyperprobe.errors import UserError, quoted
from hyperprobe.models.adaptive_softmax import adaptive_log_probs
from hyperprobe.models.pretrained import to_device
from hyperprobe.models.torch_files import Weights, check_weights, drawn, read_torch
from hyperprobe.models.word_level import WordCausalModel, Words
from hyperprobe.names import RANDOM
from hyperprobe.options import CausalScoring

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocab.bin", "pytorch_model.bin"
UNKNOWN = "<unk>"
WHOLE = (UNKNOWN, "<eos>", "<formula>")  # words that are not split at their brackets
EPSILON = 1e-12  # of the layer norm; later programs have 1e-5


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


class TransformerXLNetwork(torch.nn.Module):
    """Layers of attention by content and distance, and an adaptive soft-max."""

    def __init__(self, config: Config, weights: Weights, zero_memory: bool) -> None:
        super().__init__()
        self.config, self.zero_memory = config, zero_memory
        self.weights = torch.nn.ParameterDict()
        for key, table in weights.items():
            self.weights[key.replace(".", "/")] = torch.nn.Parameter(table, requires_grad=False)
        for i in range(config.n_layer):
            # R(distance) of every layer, [head, width, distance]: the same for every text.
            table = _distances(config) @ self._of(f"transformer.layers.{i}.dec_attn.r_net.weight").T
            by_head = table.view(-1, config.n_head, config.d_head).permute(1, 2, 0).contiguous()
            self.register_buffer(f"distances{i}", by_head, persistent=False)

    def _of(self, key: str) -> torch.Tensor:
        table: torch.Tensor = self.weights[key.replace(".", "/")]
        return table

    @property
    def device(self) -> torch.device:
        return self._of("crit.cluster_weight").device

    @property
    def dtype(self) -> torch.dtype:
        return self._of("crit.cluster_weight").dtype

    def hidden(self, ids: torch.Tensor, n: int) -> torch.Tensor:
        """States [n_texts, n, width] at the last n words of texts [n_texts, length]."""
        x = self._embedded(ids)
        last = self.config.n_layer - 1
        for i in range(self.config.n_layer):
            x = self._layer(i, x, n if i == last else x.shape[1])
        return x

    def _embedded(self, ids: torch.Tensor) -> torch.Tensor:
        flat = ids.flatten()
        x = torch.zeros(len(flat), self.config.d_model, dtype=self.dtype, device=self.device)
        start = 0
        for i, (size, _) in enumerate(self.config.bands()):
            chosen = ((flat >= start) & (flat < start + size)).nonzero().squeeze(1)
            key = f"transformer.word_emb.emb_{{}}.{i}"
            rows = self._of(key.format("layers") + ".weight")[flat[chosen] - start]
            x[chosen] = rows @ self._of(key.format("projs")).T
            start += size
        return x.mul_(self.config.d_model**0.5).view(*ids.shape, -1)

    def _layer(self, i: int, x: torch.Tensor, n: int) -> torch.Tensor:
        """What layer `i` makes of the last n words of x [n_texts, length, width]."""
        config, key = self.config, f"transformer.layers.{i}"
        width = config.n_head * config.d_head
        weight = self._of(f"{key}.dec_attn.qkv_net.weight")
        heads = (len(x), -1, config.n_head, config.d_head)
        after = x[:, -n:]
        q = functional.linear(after, weight[:width]).view(heads)
        k, v = functional.linear(x, weight[width:]).chunk(2, dim=-1)
        k, v = k.view(heads), v.view(heads)
        by_content = torch.einsum("bihd,bjhd->bhij", q + self._of(f"{key}.dec_attn.r_w_bias"), k)
        distances = getattr(self, f"distances{i}")
        at_distance = torch.einsum(
            "bihd,hdt->bhit", q + self._of(f"{key}.dec_attn.r_r_bias"), distances
        )
        attention = self._attention(by_content, at_distance)
        mixed = torch.einsum("bhij,bjhd->bihd", attention, v).flatten(2)
        mixed = functional.linear(mixed, self._of(f"{key}.dec_attn.o_net.weight"))
        x = self._norm(f"{key}.dec_attn", after + mixed)
        inner, outer = f"{key}.pos_ff.CoreNet.0", f"{key}.pos_ff.CoreNet.3"
        y = functional.linear(x, self._of(f"{inner}.weight"), self._of(f"{inner}.bias")).relu_()
        y = functional.linear(y, self._of(f"{outer}.weight"), self._of(f"{outer}.bias"))
        return self._norm(f"{key}.pos_ff", x + y)

    def _attention(self, by_content: torch.Tensor, at_distance: torch.Tensor) -> torch.Tensor:
        """Attention [text, head, i, j] of the last words i to the words j of a text, from scores
        by content [.., i, j] and of each distance [.., i, distance], zero to `mem_len` - 1.

        What a memory of zeros takes of it is summed without its rows: they have no content.
        """
        n, length = by_content.shape[-2:]
        reach, device = at_distance.shape[-1], self.device
        position = torch.arange(length - n, length, device=device)[:, None]
        back = position - torch.arange(length, device=device)
        seen = (back >= 0) & (back < reach)
        index = back.clamp(0, reach - 1).expand(at_distance.shape[:-2] + back.shape)
        scale = self.config.d_head**-0.5
        scores = (by_content + at_distance.gather(-1, index)) * scale
        scores = scores.masked_fill(~seen, -torch.inf)
        if not self.zero_memory:
            return torch.softmax(scores, dim=-1)
        in_memory = torch.arange(reach, device=device) > position
        outside = (at_distance * scale).masked_fill(~in_memory, -torch.inf)
        total = torch.logaddexp(
            scores.logsumexp(dim=-1, keepdim=True), outside.logsumexp(dim=-1, keepdim=True)
        )
        return torch.exp(scores - total)

    def _norm(self, key: str, x: torch.Tensor) -> torch.Tensor:
        weight, bias = (self._of(f"{key}.layer_norm.{part}") for part in ("weight", "bias"))
        return functional.layer_norm(x, weight.shape, weight, bias, EPSILON)

    def log_probs(self, states: torch.Tensor) -> torch.Tensor:
        """Log-probabilities [n, vocabulary] of states [n, width]."""
        logits = []
        for i in range(len(self.config.bands())):
            # (all but the first projection are those of the words that are read)
            key = f"transformer.word_emb.emb_projs.{i}" if i else "crit.out_projs.0"
            rows = states @ self._of(key)
            weight = self._of(f"transformer.word_emb.emb_layers.{i}.weight")
            bias = self._of(f"crit.out_layers.{i}.bias")
            if i == 0:
                weight = torch.cat([weight, self._of("crit.cluster_weight")])
                bias = torch.cat([bias, self._of("crit.cluster_bias")])
            logits.append(functional.linear(rows, weight, bias))
        return adaptive_log_probs(logits[0], logits[1:])


def _distances(config: Config) -> torch.Tensor:
    """P [mem_len, d_model]: sines, then cosines, of each distance."""
    distance = torch.arange(config.mem_len, dtype=torch.float32).clamp(max=config.clamp_len)
    steps = torch.arange(0, config.d_model, 2, dtype=torch.float32) / config.d_model
    angles = torch.outer(distance, 10_000.0**-steps)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class TransformerXLModel(WordCausalModel):
    """Transformer-XL as a `TextModel`."""

    kind = "transformer-xl"
    opening = "<eos>"
    between_sentences = " <eos> "
    model: TransformerXLNetwork

    @classmethod
    def files(cls, path: Path) -> list[Path]:
        """Configuration, vocabulary and weights. Raises `UserError` where one is missing."""
        files = [path / name for name in (CONFIG, VOCABULARY, WEIGHTS)]
        for file in files:
            if not file.is_file():
                raise UserError(
                    f"no file {file}: name the folder with {CONFIG}, {VOCABULARY} and {WEIGHTS} "
                    "of transfo-xl-wt103"
                )
        return files

    @classmethod
    def load(
        cls,
        name: str,
        path: Path,
        source: dict[str, Any],
        device: str = "auto",
        causal_scoring: CausalScoring = "full",
        memory: str = "zero",
        tokens: str = "0.6.1",
    ) -> Self:
        """The model in a folder, asked with a `memory` of zeros or with none, its texts split as
        pytorch-pretrained-bert of version `tokens` splits them; with random weights if its name
        asks for them. Raises `UserError` for damaged files.
        """
        configuration, vocabulary, file = cls.files(path)
        config = read_config(configuration)
        words = read_vocabulary(vocabulary, config.n_token)
        weights = read_weights(file, config)
        network = TransformerXLNetwork(
            config, drawn(weights) if name.startswith(RANDOM) else weights, memory == "zero"
        )
        split = TOKENS[tokens]
        tokenizer = Words(name, words, UNKNOWN, [cls.opening], split)
        source = {**source, "memory": memory, "tokens": tokens}
        return cls(name, to_device(network, device), tokenizer, source, causal_scoring)


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
        if type(value) is int and key != "attn_type" and not 1 <= value <= 10_000_000:
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
