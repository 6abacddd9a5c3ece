"""fairseq's convolutional language model (Dauphin et al. 2017), asked as LAMA asks `fconv`.

The files are `wiki103.pt` and `dict.txt` of fairseq's release. Two layouts of the weights exist,
which their keys tell apart. The network is causal: a word sees the words before it that its
layers reach. Weight normalisation is undone once, when the file is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from torch.nn import functional

from hyperprobe.models.adaptive_softmax import adaptive_log_probs
from hyperprobe.models.devices import to_device
from hyperprobe.models.fconv_files import (
    NEW_NORM,
    NEW_TAILS,
    SPECIAL,
    Shape,
    files_of,
    read_dictionary,
    read_weights,
)
from hyperprobe.models.torch_files import Weights, drawn
from hyperprobe.models.word_level import WordCausalModel, Words, lama_tokens
from hyperprobe.names import RANDOM
from hyperprobe.options import CausalScoring

SCALE = 0.5**0.5


class FconvNetwork(torch.nn.Module):
    """Gated convolutions over the words so far, and an adaptive soft-max."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        super().__init__()
        old_norm, self.old_tails = NEW_NORM not in weights, NEW_TAILS not in weights
        self.layers = shape.layers

        def whole(key: str, dims: tuple[int, ...]) -> torch.nn.Parameter:
            g, v = weights[f"{key}.weight_g"], weights[f"{key}.weight_v"]
            return _fixed(g * v / v.norm(dim=dims, keepdim=True))

        self.embedding = _fixed(weights["decoder.embed_tokens.weight"])
        self.first = whole("decoder.fc1", (1,))
        self.first_bias = _fixed(weights["decoder.fc1.bias"])
        self.kernels, self.biases = torch.nn.ParameterList(), torch.nn.ParameterList()
        self.projections = torch.nn.ParameterDict()
        for i in range(len(shape.layers)):
            key = f"decoder.convolutions.{i}"
            self.kernels.append(whole(key, (1, 2) if old_norm else (0, 1)))
            self.biases.append(_fixed(weights[f"{key}.bias"]))
            key = f"decoder.projections.{i}"
            if f"{key}.bias" in weights:
                self.projections[f"{i}"] = whole(key, (1,))
                self.projections[f"{i} bias"] = _fixed(weights[f"{key}.bias"])
        key = "decoder.adaptive_softmax"
        self.head = _fixed(weights[f"{key}.head.weight"])
        self.tails = torch.nn.ParameterList(
            _fixed(weights[f"{key}.tail.{i}.{part}.weight"])
            for i in range(len(shape.cutoffs) - 1)
            for part in (0, 2)
        )

    @property
    def device(self) -> torch.device:
        return self.embedding.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.dtype

    def hidden(self, ids: torch.Tensor, n: int) -> torch.Tensor:
        """States [n_texts, n, width] at the last n words of texts [n_texts, length].

        Each layer is computed only at the words that later ones need of it.
        """
        needed = self._needed(n, ids.shape[1])
        x = functional.embedding(ids[:, -needed[0] :], self.embedding)
        outputs = [functional.linear(x, self.first, self.first_bias)]
        for i, layer in enumerate(self.layers):
            m = needed[i + 1]
            y = _causal_convolution(outputs[-1], self.kernels[i], self.biases[i], m)
            y = functional.glu(y, dim=-1)
            if layer.residual:
                before = outputs[-layer.residual][:, -m:]
                if f"{i}" in self.projections:
                    weight, bias = self.projections[f"{i}"], self.projections[f"{i} bias"]
                    before = functional.linear(before, weight, bias)
                y = (y + before) * SCALE
            outputs.append(y)
        return outputs[-1]

    def _needed(self, n: int, length: int) -> list[int]:
        """How many of the last words have to go into the first layer, and to come out of each."""
        needed = [0] * len(self.layers) + [n]
        for i in range(len(self.layers) - 1, -1, -1):
            layer, m = self.layers[i], needed[i + 1]
            needed[i] = max(needed[i], min(length, m + layer.kernel - 1))
            if layer.residual:
                at = i + 1 - layer.residual
                needed[at] = max(needed[at], m)
        return needed

    def log_probs(self, states: torch.Tensor) -> torch.Tensor:
        """Log-probabilities [n, vocabulary] of states [n, width]."""
        head = states @ self.head.T
        tails = [
            states @ inner.T @ outer.T
            for inner, outer in zip(self.tails[::2], self.tails[1::2], strict=True)
        ]
        n_words = head.shape[1] - len(tails)
        return adaptive_log_probs(head, tails, n_words - 1 if self.old_tails else n_words)


def _fixed(weight: torch.Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(weight, requires_grad=False)


def _causal_convolution(
    x: torch.Tensor, kernel: torch.Tensor, bias: torch.Tensor, n: int
) -> torch.Tensor:
    """The last n outputs [n_texts, n, out] of a convolution over x [n_texts, length, in], with
    zeros before it, by a kernel [k, in, out].

    One product for each place of the kernel: none is computed for the zeros.
    """
    k, length = len(kernel), x.shape[1]
    y = (x[:, -n:] @ kernel[k - 1]).add_(bias)
    for back in range(1, min(k, length)):
        m = min(n, length - back)
        y[:, -m:] += x[:, length - back - m : length - back] @ kernel[k - 1 - back]
    return y


class FconvModel(WordCausalModel):
    """fairseq's convolutional language model as a `TextModel`."""

    kind = "fconv"
    opening = "</s>"
    between_sentences = " </s> "
    model: FconvNetwork

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
    ) -> Self:
        """The model in fairseq's files; with random weights if its name asks for them.

        Raises `UserError` for damaged files.
        """
        file, dictionary = files_of(path)
        words = read_dictionary(dictionary)
        shape, weights = read_weights(file, len(words))
        network = FconvNetwork(shape, drawn(weights) if name.startswith(RANDOM) else weights)
        tokenizer = Words(name, words, "<unk>", SPECIAL, lama_tokens)
        return cls(name, to_device(network, device), tokenizer, source, causal_scoring)
