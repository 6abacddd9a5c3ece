"""What LAMA's program does with the paper's older models, restated: every position, no shortcuts.

For comparison of speed and numbers. Networks are functions of tables of weights in the layout of
the released files: weights are normalised at each call, a memory of zeros has rows, characters
are convolved in each pass, and log-probabilities are computed for every word at every position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch.nn import functional

from hyperprobe.models.elmo_files import Options
from hyperprobe.models.elmo_network import characters
from hyperprobe.models.fconv_files import NEW_NORM, NEW_TAILS, Shape
from hyperprobe.models.transformer_xl_files import Config

Weights = Mapping[str, torch.Tensor]
Cells = list[list[tuple[torch.Tensor, torch.Tensor]]]  # direction, layer -> (h, c)


def random_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, torch.Tensor]:
    """Random tables of these shapes, of a spread that keeps what passes through them in bounds."""
    random = torch.Generator().manual_seed(seed)
    made = {}
    for key, shape in shapes.items():
        table = torch.randn(shape, generator=random)
        if key.endswith("weight_g"):
            made[key] = 1 + 0.2 * table
        elif "layer_norm.weight" in key:
            made[key] = 1 + 0.1 * table
        elif len(shape) < 2 or "emb" in key or "r_bias" in key:
            made[key] = 0.25 * table
        else:
            made[key] = table * 1.5 / max(shape[-2:]) ** 0.5
    return made


def adaptive(head: torch.Tensor, tails: Sequence[torch.Tensor], first: int) -> torch.Tensor:
    """Log-probabilities from logits of head and tails; `first` is the first tail's column."""
    of_head = head.log_softmax(-1)
    n_words = head.shape[-1] - len(tails)
    parts = [of_head[..., :n_words]]
    for i, tail in enumerate(tails):
        parts.append(of_head[..., first + i, None] + tail.log_softmax(-1))
    return torch.cat(parts, -1)


# -- fconv ----------------------------------------------------------------------------------


def fconv(shape: Shape, weights: Weights, ids: torch.Tensor) -> torch.Tensor:
    """Log-probabilities [n_texts, length, vocabulary] after each word."""
    old_norm, old_tails = NEW_NORM not in weights, NEW_TAILS not in weights

    def normalised(key: str, dims: tuple[int, ...]) -> torch.Tensor:
        v = weights[f"{key}.weight_v"]
        return v * (weights[f"{key}.weight_g"] / v.pow(2).sum(dims, keepdim=True).sqrt())

    def linear(key: str, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(x, normalised(key, (1,)), weights[f"{key}.bias"])

    x = linear("decoder.fc1", functional.embedding(ids, weights["decoder.embed_tokens.weight"]))
    outputs = [x]
    for i, layer in enumerate(shape.layers):
        key = f"decoder.convolutions.{i}"
        kernel = normalised(key, (1, 2) if old_norm else (0, 1)).permute(2, 1, 0)
        padded = functional.pad(x.transpose(1, 2), (layer.kernel - 1, 0))
        y = functional.conv1d(padded, kernel, weights[f"{key}.bias"]).transpose(1, 2)
        a, b = y.chunk(2, -1)
        x = a * b.sigmoid()
        if layer.residual:
            before = outputs[-layer.residual]
            key = f"decoder.projections.{i}"
            if f"{key}.bias" in weights:
                before = linear(key, before)
            x = (x + before) * 0.5**0.5
        outputs.append(x)
    key = "decoder.adaptive_softmax"
    tails = [
        x @ weights[f"{key}.tail.{i}.0.weight"].T @ weights[f"{key}.tail.{i}.2.weight"].T
        for i in range(len(shape.cutoffs) - 1)
    ]
    first = shape.cutoffs[0] - 1 if old_tails else shape.cutoffs[0]
    return adaptive(x @ weights[f"{key}.head.weight"].T, tails, first)


# -- Transformer-XL -------------------------------------------------------------------------


def transformer_xl(
    config: Config, weights: Weights, ids: torch.Tensor, n_memory: int
) -> torch.Tensor:
    """Log-probabilities [n_texts, length, vocabulary] after each word, with `n_memory` rows of
    zeros before every layer's input."""
    d, heads, width = config.d_model, config.n_head, config.d_head
    bands = config.bands()
    starts = [0, *config.cutoffs, config.n_token]
    x = torch.zeros(*ids.shape, d)
    for i, (low, high) in enumerate(pairwise(starts)):
        key = "transformer.word_emb.emb_"
        inside = (ids >= low) & (ids < high)
        rows = weights[f"{key}layers.{i}.weight"][ids.clamp(low, high - 1) - low]
        x += inside[..., None] * (rows @ weights[f"{key}projs.{i}"].T)
    x *= d**0.5
    n_texts, n = ids.shape
    total = n_memory + n
    back = (torch.arange(n)[:, None] + n_memory) - torch.arange(total)
    seen = (back >= 0) & (back < config.mem_len)
    distance = torch.arange(total).clamp(max=config.clamp_len).float()
    angles = distance[:, None] / 10_000 ** (torch.arange(0, d, 2) / d)
    position = torch.cat([angles.sin(), angles.cos()], -1)
    for i in range(config.n_layer):
        key = f"transformer.layers.{i}.dec_attn"
        whole = torch.cat([torch.zeros(n_texts, n_memory, d), x], 1)
        q, k, v = (whole @ weights[f"{key}.qkv_net.weight"].T).chunk(3, -1)
        q, k, v = (part.reshape(n_texts, -1, heads, width) for part in (q[:, -n:], k, v))
        r = (position @ weights[f"{key}.r_net.weight"].T).view(total, heads, width)
        by_content = torch.einsum("bihd,bjhd->bhij", q + weights[f"{key}.r_w_bias"], k)
        by_distance = torch.einsum("bihd,jhd->bhij", q + weights[f"{key}.r_r_bias"], r)
        index = back.clamp(0, total - 1).expand(by_distance.shape)
        scores = (by_content + by_distance.gather(-1, index)) / width**0.5
        attention = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        mixed = torch.einsum("bhij,bjhd->bihd", attention, v).reshape(n_texts, n, -1)

        def norm(x: torch.Tensor, key: str) -> torch.Tensor:
            weight, bias = weights[f"{key}.layer_norm.weight"], weights[f"{key}.layer_norm.bias"]
            return functional.layer_norm(x, (d,), weight, bias, 1e-12)

        x = norm(x + mixed @ weights[f"{key}.o_net.weight"].T, key)
        key = f"transformer.layers.{i}.pos_ff"
        inner, outer = f"{key}.CoreNet.0", f"{key}.CoreNet.3"
        y = (x @ weights[f"{inner}.weight"].T + weights[f"{inner}.bias"]).relu()
        x = norm(x + y @ weights[f"{outer}.weight"].T + weights[f"{outer}.bias"], key)
    logits = []
    for i in range(len(bands)):
        key = "crit.out_projs.0" if i == 0 else f"transformer.word_emb.emb_projs.{i}"
        table = weights[f"transformer.word_emb.emb_layers.{i}.weight"]
        bias = weights[f"crit.out_layers.{i}.bias"]
        if i == 0:
            table = torch.cat([table, weights["crit.cluster_weight"]])
            bias = torch.cat([bias, weights["crit.cluster_bias"]])
        logits.append(x @ weights[key] @ table.T + bias)
    return adaptive(logits[0], logits[1:], config.cutoffs[0])


# -- ELMo -----------------------------------------------------------------------------------


def elmo_words(options: Options, weights: Weights, texts: Sequence[Sequence[str]]) -> torch.Tensor:
    """Vectors [n_texts, longest, projection] of all words, zeros as padding."""
    longest = max(map(len, texts))
    ids = torch.zeros(len(texts), longest, 50, dtype=torch.long)
    for i, text in enumerate(texts):
        ids[i, : len(text)] = torch.tensor([characters(word) for word in text])
    table = torch.cat([torch.zeros(1, options.char_cnn.embedding.dim), weights["char_embed"]])
    x = functional.embedding(ids.view(-1, 50), table).transpose(1, 2)
    parts = []
    for i in range(len(options.char_cnn.filters)):
        kernel = weights[f"CNN/W_cnn_{i}"][0].permute(2, 1, 0)
        y = functional.conv1d(x, kernel, weights[f"CNN/b_cnn_{i}"])
        parts.append(y.max(-1).values.relu())
    y = torch.cat(parts, -1)
    for i in range(options.char_cnn.n_highway):
        key = f"CNN_high_{i}"
        t = (y @ weights[f"{key}/W_carry"] + weights[f"{key}/b_carry"]).sigmoid()
        new = (y @ weights[f"{key}/W_transform"] + weights[f"{key}/b_transform"]).relu()
        y = t * new + (1 - t) * y
    return (y @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]).view(
        len(texts), longest, -1
    )


def elmo_pass(
    options: Options, weights: Weights, texts: Sequence[Sequence[str]], cells: Cells
) -> tuple[list[torch.Tensor], Cells]:
    """What each direction's last layer gives [n_texts, longest, projection]; the cells after."""
    lstm = options.lstm
    lengths = [len(text) for text in texts]
    x = elmo_words(options, weights, texts)
    outputs, after = [], []
    for direction in (0, 1):
        given, states = x, []
        for layer in range(lstm.n_layers):
            key = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            of_input, of_state = weights[f"{key}/W_0"].split(lstm.projection_dim)
            h, c = (part.clone() for part in cells[direction][layer])
            result = torch.zeros(len(texts), x.shape[1], lstm.projection_dim)
            for step in range(x.shape[1]):
                rows = torch.tensor([i for i, n in enumerate(lengths) if step < n])
                at = torch.tensor([lengths[i] - 1 - step if direction else step for i in rows])
                gates = given[rows, at] @ of_input + h[rows] @ of_state + weights[f"{key}/B"]
                i, j, f, o = gates.chunk(4, -1)
                new = (f + 1).sigmoid() * c[rows] + i.sigmoid() * j.tanh()
                new = new.clamp(-lstm.cell_clip, lstm.cell_clip)
                out = (o.sigmoid() * new.tanh()) @ weights[f"{key}/W_P_0"]
                out = out.clamp(-lstm.proj_clip, lstm.proj_clip)
                h[rows], c[rows] = out, new
                result[rows, at] = out
            states.append((h, c))
            given = result + given if layer and lstm.use_skip_connections else result
        outputs.append(given)
        after.append(states)
    return outputs, after


def no_cells(options: Options, n_texts: int) -> Cells:
    """Cells of zeros."""
    lstm = options.lstm
    h, c = torch.zeros(n_texts, lstm.projection_dim), torch.zeros(n_texts, lstm.dim)
    return [[(h, c) for _ in range(lstm.n_layers)] for _ in range(2)]


def elmo(
    options: Options,
    weights: Weights,
    texts: Sequence[Sequence[str]],
    passes: int,
    columns: torch.Tensor | None = None,
) -> torch.Tensor:
    """Mean log-probabilities [n_texts, longest, words] of both sides at every position, after so
    many passes; over some words of the vocabulary, or all."""
    cells = no_cells(options, len(texts))
    for _ in range(passes):
        (forward, backward), cells = elmo_pass(options, weights, texts, cells)
    table, bias = weights["softmax/W"], weights["softmax/b"]
    if columns is not None:
        table, bias = table[columns], bias[columns]
    zeros = torch.zeros(len(texts), 1, forward.shape[2])
    before, behind = torch.cat([zeros, forward[:, :-1]], 1), torch.cat([backward[:, 1:], zeros], 1)
    both = ((side @ table.T + bias).log_softmax(-1) for side in (before, behind))
    return next(both).add_(next(both)).div_(2)
