"""From scores, block after block, to ranks and the best candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial

import numpy as np
import torch

from hyperprobe.models.base import Ranking, gold_arrays
from hyperprobe.statistics.ranks import Stand, stand_of

Blocks = Iterator[tuple[list[int], torch.Tensor]]


def ranking_of(blocks: Blocks, gold: Sequence[int | None], k: int) -> Ranking:
    """The `Ranking` over blocks of scores that are dropped as soon as they are read."""
    n = len(gold)
    result = Ranking(
        np.full(n, np.nan, dtype=np.float32),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, k), dtype=np.float32),
    )
    for indices, scores in blocks:
        gold_of_block = [gold[i] for i in indices]
        index = torch.tensor([i or 0 for i in gold_of_block], device=scores.device)
        arange = partial(torch.arange, device=scores.device)
        stand = Stand(*(part.cpu().numpy() for part in stand_of(scores, index, arange)))
        top = top_of(scores, k)
        parts = (
            *gold_arrays(stand, gold_of_block),
            top.cpu().numpy(),
            scores.gather(1, top).cpu().numpy(),
        )
        for field, part in zip(fields(result), parts, strict=True):
            getattr(result, field.name)[indices] = part
    return result


def top_of(scores: torch.Tensor, k: int) -> torch.Tensor:
    """The columns [n, k] of the best scores of each row, equal scores in the order of columns.

    `torch.topk` leaves the order of equal scores open, and which of them it takes.
    """
    best, top = scores.topk(min(k + 1, scores.shape[1]), dim=1)
    crowded = (best[:, k - 1 : k] == best[:, k:]).any(dim=1)
    top = top[:, :k]
    if crowded.any():  # several could be the last one
        order = scores[crowded].sort(dim=1, descending=True, stable=True).indices
        top[crowded] = order[:, :k]
    top = top.sort(dim=1).values
    order = scores.gather(1, top).sort(dim=1, descending=True, stable=True).indices
    return top.gather(1, order)
