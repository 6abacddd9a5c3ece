"""Cells in forked processes of this machine; for work that does not use torch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from hyperprobe.runs.jobs import Job, LastLoaded
from hyperprobe.runs.run import Computed, measured
from hyperprobe.workers import in_order


def compute_in_processes(
    job: Job[Any], processes: int, advance: Callable[[int], None] = lambda n: None
) -> None:
    """Compute and store the cells of `job` that are missing; `advance` hears of their cost.

    Raises what they raise, and `UserError` when a process is killed.
    """
    missing = job.missing()
    advance(int(job.cost - sum(job.cells[i].cost for i in missing)))

    def compute(i: int) -> Computed:
        return measured(lambda: job.cells[i].compute_alone(LastLoaded()))

    with closing(in_order(compute, missing, processes)) as results:
        for i, computed in zip(missing, results, strict=True):
            job.run.store(job.key(job.cells[i]), computed)
            advance(int(job.cells[i].cost))
