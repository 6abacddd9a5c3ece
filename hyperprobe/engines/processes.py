"""Cells in forked processes of this machine; for work that does not use torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from hyperprobe.runs.jobs import Cell, Job, LastLoaded
from hyperprobe.runs.run import Computed, measured
from hyperprobe.workers import in_order


def compute_in_processes(
    job: Job[Any], processes: int, advance: Callable[[int], None] = lambda n: None
) -> None:
    """Compute and store the cells of `job` that are missing; `advance` hears of their cost.

    Raises what they raise, and `UserError` when a process is killed.
    """
    missing = job.missing()
    advance(int(sum(cell.cost for cell in job.cells) - sum(cell.cost for cell in missing)))
    with closing(in_order(_compute, missing, processes)) as results:
        for cell, computed in zip(missing, results, strict=True):
            job.run.store(job.key(cell), computed)
            advance(int(cell.cost))


def _compute(cell: Cell) -> Computed:
    return measured(lambda: cell.compute(LastLoaded()))
