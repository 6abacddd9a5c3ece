"""The paper's probe: embed, interact, predict (Ravichander et al. 2020, section 2.2.1).

The net is a hidden layer of 300 with ReLU and dropout of 0.2 over the vectors of
both words, their difference and their product, and a softmax of two. The nets of
several seeds are trained as one, with stacked weights: one matrix product each.

All in double precision: in single precision a last digit, which depends on the processor, grows
in training until nets stop at other epochs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from hyperprobe.parallel import check_cancelled

N_HIDDEN = 300
DROPOUT = 0.2
# Not in the paper: chosen after one look at the embedded model, the same for every representation.
LEARNING_RATE = 1e-3
STEPS_PER_EPOCH = 25
SMALLEST_BATCH = 8
MAX_EPOCHS = 40
PATIENCE = 3  # epochs without a dev loss that is better by
SMALLEST_GAIN = 1e-3  # nats a label: a net with nothing to learn creeps towards log 2 for long


class Examples(NamedTuple):
    """Pairs as rows of a table of vectors, with their labels; each of shape [n]."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    label: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Examples:
        return Examples(self.first[rows], self.second[rows], self.label[rows])


Rows = torch.Tensor | NDArray[np.int64]  # of a table of vectors


def interact(
    vectors: torch.Tensor, first: Rows, second: Rows, partial: bool = False
) -> torch.Tensor:
    """[w1; w2; w2 - w1; w1 * w2] along the last axis; of a partial input, [w2] alone.

    w1 and w2 are the rows `first` and `second` of `vectors`, in double precision.
    """
    if partial:
        return vectors[second].double()
    w1, w2 = vectors[first].double(), vectors[second].double()
    return torch.cat([w1, w2, w2 - w1, w1 * w2], dim=-1)


class StackedNets:
    """One net for each seed; weights [n_nets, n_in, n_out], initialised as PyTorch's Linear."""

    def __init__(self, n_inputs: int, generators: Sequence[torch.Generator]) -> None:
        def uniform(n_in: int, *shape: int) -> torch.Tensor:
            draws = [torch.rand(shape, generator=generator) for generator in generators]
            weights = (2 * torch.stack(draws).double() - 1) / math.sqrt(n_in)
            return weights.requires_grad_()

        self.generators = generators
        self.hidden = uniform(n_inputs, n_inputs, N_HIDDEN)
        self.hidden_bias = uniform(n_inputs, 1, N_HIDDEN)
        self.out = uniform(N_HIDDEN, N_HIDDEN, 2)
        self.out_bias = uniform(N_HIDDEN, 1, 2)

    def weights(self) -> list[torch.Tensor]:
        return [self.hidden, self.hidden_bias, self.out, self.out_bias]

    def logits(self, features: torch.Tensor, train: bool = False) -> torch.Tensor:
        """[n_nets, n, 2] for features [n_nets, n, n_inputs], or [1, n, n_inputs] for all."""
        n_nets = len(self.hidden)
        activation = torch.baddbmm(self.hidden_bias, features.expand(n_nets, -1, -1), self.hidden)
        if train:
            shape = activation.shape[1:]
            kept = torch.stack([torch.rand(shape, generator=g) for g in self.generators]) >= DROPOUT
            activation = activation * kept / (1 - DROPOUT)
        return torch.baddbmm(self.out_bias, activation.relu(), self.out)


class Trained(NamedTuple):
    """Of each net: log-odds (nats) of label 1 [n_seeds, n_asked], its dev loss, its epochs."""

    log_odds: NDArray[np.float64]
    dev_loss: NDArray[np.float64]
    n_epochs: NDArray[np.int64]


def train(
    vectors: torch.Tensor,
    examples: Examples,
    dev: Examples,
    asked: Examples,
    seeds: Sequence[int],
    partial: bool = False,
) -> Trained:
    """Train a net for each seed on `examples` and answer `asked` as of its best dev epoch.

    `vectors` [n_vectors, width] is what the examples point into. A net stops after
    `PATIENCE` epochs that did not lower its dev loss. Runs on the calling thread's
    threads, and ends when nobody waits for it any more (`check_cancelled`).
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    width = vectors.shape[1]
    nets = StackedNets(width if partial else 4 * width, generators)
    optimizer = torch.optim.Adam(nets.weights(), lr=LEARNING_RATE, fused=True)
    first, second = (torch.from_numpy(side) for side in (examples.first, examples.second))
    label = torch.from_numpy(examples.label)
    n = len(label)
    batch = max(SMALLEST_BATCH, math.ceil(n / STEPS_PER_EPOCH))
    best = Trained(
        np.zeros((len(seeds), len(asked.label))),
        np.full(len(seeds), np.inf),
        np.zeros(len(seeds), dtype=np.int64),
    )
    for epoch in range(1, MAX_EPOCHS + 1):
        check_cancelled()
        order = torch.stack([torch.randperm(n, generator=g) for g in generators])
        for start in range(0, n, batch):
            rows = order[:, start : start + batch]
            features = interact(vectors, first[rows], second[rows], partial)
            logits = nets.logits(features, train=True)
            # A sum over nets: the gradient of each does not depend on how many there are.
            losses = cross_entropy(logits.transpose(1, 2), label[rows], reduction="none")
            optimizer.zero_grad()
            torch.autograd.backward(losses.mean(dim=1).sum())
            optimizer.step()
        dev_loss = code_length(_log_odds(nets, vectors, dev, partial), dev.label).mean(axis=1)
        better = dev_loss < best.dev_loss - SMALLEST_GAIN
        if better.any():
            best.log_odds[better] = _log_odds(nets, vectors, asked, partial)[better]
            best.dev_loss[better] = dev_loss[better]
            best.n_epochs[better] = epoch
        if (epoch - best.n_epochs >= PATIENCE).all():
            break
    return best


def code_length(log_odds: NDArray[np.float64], label: NDArray[np.int64]) -> NDArray[np.float64]:
    """-log P(label) in nats, from the log-odds of label 1."""
    lengths: NDArray[np.float64] = np.logaddexp(0, np.where(label == 1, -log_odds, log_odds))
    return lengths


@torch.no_grad()
def _log_odds(
    nets: StackedNets, vectors: torch.Tensor, examples: Examples, partial: bool
) -> NDArray[np.float64]:
    """Of label 1 against 0, [n_nets, n_examples]."""
    features = interact(vectors, examples.first, examples.second, partial)
    logits = nets.logits(features[None]).numpy()
    log_odds: NDArray[np.float64] = logits[:, :, 1] - logits[:, :, 0]
    return log_odds
