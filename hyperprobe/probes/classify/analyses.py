"""What an accuracy alone does not say: capacity, effort, and a simpler classifier beside the net.

All work on the examples of one fold and return one value or row of values per seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hyperprobe.probes.classify.net import Examples, code_length, interact, train

# The share of training hyponyms up to which each block of the online code goes
# (Voita & Titov 2020, section 3.2, from where there are hyponyms enough).
BLOCK_ENDS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)
MOST_SQUARED = 4096  # features: their square is a matrix in memory


def logistic_log_odds(
    vectors: torch.Tensor, examples: Examples, asked: Examples
) -> NDArray[np.float64]:
    """Log-odds [n_asked] by scikit-learn's logistic regression on the net's own features.

    At the minimum of its loss: where a solver stops near it depends on the processor.
    """
    from sklearn.linear_model import LogisticRegression

    known, new = (interact(vectors, of.first, of.second).numpy() for of in (examples, asked))
    solver = "newton-cholesky" if known.shape[1] <= MOST_SQUARED else "newton-cg"
    fitted = LogisticRegression(solver=solver, tol=1e-8).fit(known, examples.label)
    log_odds: NDArray[np.float64] = fitted.decision_function(new)
    return log_odds


class ControlTask(NamedTuple):
    """Training pairs with random labels: `examples`, `dev` and what is `asked`."""

    examples: Examples
    dev: Examples
    asked: Examples


def control_task(examples: Examples, pair: NDArray[np.int64], seed: int) -> ControlTask:
    """The control task of Hewitt & Liang (2019): each pair has a random label that it keeps.

    `pair` [n] numbers the pair of each example. A net can only learn the labels by
    heart. Half of the pairs have label 1. The pairs are trained in all but one of
    the hyponym's sentences and asked, once each, in the one left; where a pair has
    but one vector (static ones) that is the one it was trained with.
    """
    n_pairs = int(pair.max()) + 1
    labels = [i % 2 for i in range(n_pairs)]
    random.Random(f"{seed} control").shuffle(labels)
    labelled = examples._replace(label=np.array(labels, dtype=np.int64)[pair])
    last = np.zeros(n_pairs, dtype=np.int64)
    last[pair] = examples.first  # of a pair's examples the last one wins
    held_out = examples.first == last[pair]
    asked, dev = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    rows = np.flatnonzero(held_out)
    asked[pair[rows]] = rows
    dev[pair[rows[::-1]]] = rows[::-1]  # the first one, which differs if there are two
    kept = ~held_out if (~held_out).any() else held_out
    return ControlTask(
        labelled.take(np.flatnonzero(kept)), labelled.take(dev), labelled.take(asked)
    )


class OnlineCode(NamedTuple):
    """How many labels were sent, and in how many bits by each seed's nets [n_seeds]."""

    n_labels: int
    bits: NDArray[np.float64]


def online_code(
    vectors: torch.Tensor,
    examples: Examples,
    hyponym: NDArray[np.int64],
    dev: Examples,
    seeds: Sequence[int],
) -> OnlineCode:
    """The labels' minimum description length by online coding (Voita & Titov 2020, section 2.2).

    The labels are sent block by block, each coded by nets trained on the blocks
    before it, the first at one bit a label. `hyponym` [n] numbers the hyponym of
    each example: all of a hyponym's labels are in one block, so that a short code
    shows what carries over to new words, not what was learnt by heart.
    """
    order = list(range(int(hyponym.max()) + 1))
    random.Random("online code").shuffle(order)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ends = sorted({max(1, round(share * len(order))) for share in BLOCK_ENDS})
    block = np.searchsorted(ends, rank[hyponym], side="right")
    bits = np.full(len(seeds), float((block == 0).sum()))
    for i in range(1, len(ends)):
        known, sent = (examples.take(np.flatnonzero(b)) for b in (block < i, block == i))
        trained = train(vectors, known, dev, sent, seeds)
        bits += code_length(trained.log_odds, sent.label).sum(axis=1) / np.log(2)
    return OnlineCode(len(block), bits)
