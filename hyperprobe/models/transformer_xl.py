"""Transformer-XL (Dai et al. 2019) in the files of `transfo-xl-wt103`, asked as LAMA asks it.

A word attends to the `mem_len` words before it and itself, by content and by distance. LAMA puts a
memory of zeros before every text (`memory=zero`): rows without content that take attention by
their distance all the same. With `memory=none` there is nothing before a text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from torch.nn import functional

from hyperprobe.models.adaptive_softmax import adaptive_log_probs
from hyperprobe.models.devices import to_device
from hyperprobe.models.torch_files import Weights, drawn
from hyperprobe.models.transformer_xl_files import (
    TOKENS,
    UNKNOWN,
    Config,
    files_of,
    read_config,
    read_vocabulary,
    read_weights,
)
from hyperprobe.models.word_level import WordCausalModel, Words
from hyperprobe.names import RANDOM
from hyperprobe.options import CausalScoring

EPSILON = 1e-12  # of the layer norm; later programs have 1e-5


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
        """The files that make the model. Raises `UserError` where one is missing."""
        return files_of(path)

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
        configuration, vocabulary, file = files_of(path)
        config = read_config(configuration)
        words = read_vocabulary(vocabulary, config.n_token)
        weights = read_weights(file, config)
        network = TransformerXLNetwork(
            config, drawn(weights) if name.startswith(RANDOM) else weights, memory == "zero"
        )
        tokenizer = Words(name, words, UNKNOWN, [cls.opening], TOKENS[tokens])
        source = {**source, "memory": memory, "tokens": tokens}
        return cls(name, to_device(network, device), tokenizer, source, causal_scoring)
