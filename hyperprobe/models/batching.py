"""Length-bucketed batches under a token budget that shrinks when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import torch

from hyperprobe.errors import UserError

# Padding beyond this share of the budget costs more than one more batch does: all weights are read
# for each (BERT-base, one core: as long as 113 tokens take).
PADDING = 1 / 16


class NoMemoryError(UserError):
    """Not even one row fits."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a failed forward pass would fit if it were smaller."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError | NoMemoryError) or (
        isinstance(error, RuntimeError)
        and any(words in str(error).lower() for words in ("out of memory", "can't allocate"))
    )


def run_in_batches(
    lengths: Sequence[int],
    run: Callable[[list[int]], None],
    token_budget: int,
    max_rows: int,
    advance: Callable[[int], None] = lambda n: None,
) -> int:
    """Call `run` on lists of indices of `lengths` until each was run once.

    Longest first, so that a batch that does not fit fails at once and not near
    the end. A batch holds at most `token_budget` padded tokens and `max_rows`
    rows, and at least one row; at most a sixteenth of the budget is padding. On
    running out of memory the budget is halved and the batch retried. Comes back with
    the budget that was left.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    start = 0
    while start < len(order):
        longest = max(1, lengths[order[start]])
        batch = order[start : start + max(1, min(max_rows, token_budget // longest))]
        padding = accumulate(longest - lengths[i] for i in batch)
        batch = batch[: sum(total <= PADDING * token_budget for total in padding)]
        try:
            run(batch)
        except (RuntimeError, MemoryError, NoMemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(batch) == 1:
                raise NoMemoryError(
                    f"out of memory on one text of {lengths[batch[0]]} tokens: "
                    "use --dtype bf16, a smaller model or a bigger machine"
                ) from error
            # From what the batch really held: a budget above that would not shrink it.
            token_budget = max(1, min(token_budget, len(batch) * lengths[batch[0]]) // 2)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            continue
        advance(len(batch))
        start += len(batch)
    return token_budget
