"""The extractor: which relation a sentence states between two of its mentions.

After Sorokin and Gurevych (2017), *Context-Aware Representations for Knowledge Base Relation
Extraction*, their ContextAtt: an LSTM reads the vectors of the words, each with the embedding
of a marker (in the first mention, in the second, in neither), and its last state stands for the
pair. The other pairs of the sentence are read in the same way and summed, with the softmax of a
bilinear form of both states as weights. A softmax over the relations and "none" sees both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from hyperprobe.parallel import check_cancelled
from hyperprobe.probes.lama.extraction.sentences import Span

NONE = 0  # the label of a pair in no relation
# A net of minutes: the paper's has 256 units. The size of the markers, the learning rate and the
# bias below were chosen on made-up sentences, before any look at facts.
N_MARKER, N_HIDDEN, DROPOUT = 16, 64, 0.5
LEARNING_RATE = 3e-3
EPOCHS = 8
N_OTHERS = 3  # pairs without a relation that are read beside those with one, of each sentence
BATCH = 256  # pairs, and fewer where that would make less than so many steps an epoch:
STEPS_PER_EPOCH, SMALLEST_BATCH = 100, 16

Pair = tuple[Span, Span]


@dataclass(frozen=True)
class Example:
    """A sentence: the numbers of its words, pairs of its mentions, and the label of each pair."""

    words: NDArray[np.int64]
    pairs: tuple[Pair, ...]
    labels: tuple[int, ...] = ()


class Batch(NamedTuple):
    """Pairs of some sentences."""

    words: torch.Tensor  # [n_pairs, n_words], padded
    markers: torch.Tensor  # the same shape: 1 in the first mention, 2 in the second, 0 elsewhere
    last: torch.Tensor  # [n_pairs], the place of the last word
    sentence: torch.Tensor  # [n_pairs], the number of the pair's sentence


class Extractor(torch.nn.Module):
    """Logits of relations; all weights are drawn from `generator`, as PyTorch draws them."""

    def __init__(
        self, vectors: NDArray[np.float32], n_labels: int, generator: torch.Generator
    ) -> None:
        """`vectors` [n_words, width] of the known words; number 0 is any other word."""
        super().__init__()
        self.generator = generator
        width = vectors.shape[1]
        table = torch.cat([torch.zeros(1, width), torch.from_numpy(vectors)])
        self.register_buffer("vectors", table)
        self.unknown = torch.nn.Parameter(torch.empty(width))
        self.markers = torch.nn.Parameter(torch.empty(3, N_MARKER))
        self.lstm = torch.nn.LSTM(width + N_MARKER, N_HIDDEN, batch_first=True)
        self.attention = torch.nn.Parameter(torch.empty(N_HIDDEN, N_HIDDEN))
        self.out = torch.nn.Linear(2 * N_HIDDEN, n_labels)
        with torch.no_grad():
            for weight in self.parameters():
                weight.uniform_(-1, 1, generator=generator).div_(math.sqrt(N_HIDDEN))
            self.markers.normal_(generator=generator)
            # (input, forget, cell, output: a cell that keeps what it has read learns sooner)
            gates: torch.Tensor = self.lstm.get_parameter("bias_ih_l0")
            gates[N_HIDDEN : 2 * N_HIDDEN] += 1
        # In single precision last digits, which depend on the processor, grow in training.
        self.double()

    def forward(self, batch: Batch) -> torch.Tensor:
        """[n_pairs, n_labels]"""
        vectors: torch.Tensor = self.get_buffer("vectors")[batch.words]
        vectors = torch.where((batch.words == 0)[..., None], self.unknown, vectors)
        read, _ = self.lstm(torch.cat([vectors, self.markers[batch.markers]], dim=-1))
        state = read[torch.arange(len(read)), batch.last]
        both = torch.cat([state, self._context(state, batch.sentence)], dim=-1)
        if self.training:
            kept = torch.rand(both.shape, generator=self.generator) >= DROPOUT
            both = both * kept / (1 - DROPOUT)
        logits: torch.Tensor = self.out(both)
        return logits

    def _context(self, state: torch.Tensor, sentence: torch.Tensor) -> torch.Tensor:
        """What the other pairs of the same sentence add; zeros for a pair that is alone."""
        other = (sentence[:, None] == sentence) & ~torch.eye(len(sentence), dtype=torch.bool)
        scores = (state @ self.attention @ state.T).masked_fill(~other, -math.inf)
        # (a row without any would be NaN, in the gradient too)
        scores = scores.masked_fill(~other.any(dim=1, keepdim=True), 0.0)
        weights = torch.softmax(scores, dim=1) * other
        context: torch.Tensor = weights @ state
        return context


def train(
    examples: Sequence[Example],
    vectors: NDArray[np.float32],
    n_labels: int,
    seed: int,
) -> Extractor:
    """A net trained on the labels of `examples`.

    Every epoch reads the pairs that have a relation and `N_OTHERS` others of each sentence.
    """
    generator = torch.Generator().manual_seed(seed)
    random = np.random.default_rng(seed)
    net = Extractor(vectors, n_labels, generator)
    optimizer = torch.optim.Adam(net.parameters(), lr=LEARNING_RATE)
    net.train()
    for _ in range(EPOCHS):
        drawn = [_drawn(one, random) for one in examples]
        n_pairs = sum(len(one.pairs) for one in drawn)
        size = min(BATCH, max(SMALLEST_BATCH, n_pairs // STEPS_PER_EPOCH))
        batches = list(_batches(drawn, size))
        for i in random.permutation(len(batches)):
            check_cancelled()
            some = [example for _, example in batches[int(i)]]
            labels = torch.tensor([label for one in some for label in one.labels])
            loss = cross_entropy(net(_batch(some)), labels)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    return net.eval()


def _drawn(example: Example, random: np.random.Generator) -> Example:
    """The example with all its pairs in a relation, and a few of the others."""
    labels = np.array(example.labels)
    stated, others = np.flatnonzero(labels != NONE), np.flatnonzero(labels == NONE)
    rows = np.sort(np.concatenate([stated, random.permutation(others)[:N_OTHERS]]))
    return Example(
        example.words,
        tuple(example.pairs[i] for i in rows),
        tuple(example.labels[i] for i in rows),
    )


class Found(NamedTuple):
    """Of each pair of a sentence: its most probable label, and the probability of that."""

    label: NDArray[np.int64]
    confidence: NDArray[np.float64]


@torch.no_grad()
def extract(net: Extractor, examples: Sequence[Example]) -> list[Found]:
    """What the net finds in each sentence."""
    found = [Found(np.zeros(0, dtype=np.int64), np.zeros(0)) for _ in examples]
    for numbered in _batches(examples, BATCH):
        check_cancelled()
        some = [example for _, example in numbered]
        best = torch.softmax(net(_batch(some)), dim=1).max(dim=1)
        ends = np.cumsum([len(one.pairs) for one in some])[:-1]
        parts = (np.split(part.numpy(), ends) for part in (best.indices, best.values))
        for (i, _), label, confidence in zip(numbered, *parts, strict=True):
            found[i] = Found(label, confidence)
    return found


def _batches(examples: Sequence[Example], size: int) -> Iterator[list[tuple[int, Example]]]:
    """The examples that have pairs, with their numbers: about `size` pairs, of like length."""
    numbered = [(i, one) for i, one in enumerate(examples) if one.pairs]
    numbered.sort(key=lambda pair: len(pair[1].words))
    batch: list[tuple[int, Example]] = []
    n = 0
    for i, example in numbered:
        batch.append((i, example))
        n += len(example.pairs)
        if n >= size:
            yield batch
            batch, n = [], 0
    if batch:
        yield batch


def _batch(examples: Sequence[Example]) -> Batch:
    n_pairs = sum(len(one.pairs) for one in examples)
    longest = max(len(one.words) for one in examples)
    words = np.zeros((n_pairs, longest), dtype=np.int64)
    markers = np.zeros((n_pairs, longest), dtype=np.int64)
    last, sentence = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    row = 0
    for i, one in enumerate(examples):
        for first, second in one.pairs:
            words[row, : len(one.words)] = one.words
            markers[row, slice(*first)], markers[row, slice(*second)] = 1, 2
            last[row], sentence[row] = len(one.words) - 1, i
            row += 1
    return Batch(*map(torch.from_numpy, (words, markers, last, sentence)))
