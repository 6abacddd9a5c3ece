"""Work on all cores with results that do not depend on how many there are.

How a matrix product is split over threads decides in which order its sums are
taken, and so its last bits. Here each piece of work runs on one thread from
beginning to end, and several pieces run side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


class CancelledError(Exception):
    """Raised inside a piece of work that nobody waits for any more."""


_thread = threading.local()


def check_cancelled() -> None:
    """What long work calls now and then: ends a piece of work of `run_parallel` after an
    interrupt, or after another piece of it has failed."""
    stop = getattr(_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


def run_parallel(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`work(item)` for each item, in order; as many at a time as torch has threads."""
    n_threads = torch.get_num_threads()
    stop = threading.Event()

    def one_thread() -> None:
        _thread.stop = stop
        torch.set_num_threads(1)

    pool = ThreadPoolExecutor(n_threads, initializer=one_thread)
    with threadpool_limits(1, user_api="blas"):  # numpy's products
        try:
            futures = [pool.submit(work, item) for item in items]
            return [future.result() for future in futures]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(n_threads)
