"""Which texts are run together."""

import random

from hyperprobe.models.batching import run_in_batches


def batches(lengths: list[int], budget: int, rows: int) -> list[list[int]]:
    """The lengths of each batch."""
    run: list[list[int]] = []
    run_in_batches(lengths, lambda batch: run.append([lengths[i] for i in batch]), budget, rows)
    return run


def test_a_batch_ends_before_padding_is_a_sixteenth_of_the_budget():
    # Of 32 tokens two may be padding.
    assert batches([7, 8, 5, 8, 7, 5], 32, 9) == [[8, 8, 7, 7], [5, 5]]
    assert batches([8, 7, 6, 6], 32, 9) == [[8, 7], [6, 6]]
    assert batches([8, 7, 7, 7], 32, 2) == [[8, 7], [7, 7]]
    assert batches([40, 0, 0], 32, 9) == [[40], [0, 0]]


def test_every_text_is_run_once_within_the_bounds():
    lengths = [random.Random(i).randrange(1, 60) for i in range(400)]
    found = batches(lengths, 512, 64)
    assert [n for batch in found for n in batch] == sorted(lengths, reverse=True)
    for batch in found:
        assert len(batch) * batch[0] <= 512 and len(batch) <= 64
        assert len(batch) * batch[0] - sum(batch) <= 32
