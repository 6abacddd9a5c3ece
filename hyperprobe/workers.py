"""Work shared out to processes that end when they should: with the work, Ctrl-C, TERM, a kill.

Each worker has its pipe and one piece of work at a time, in turn. So nothing is
locked, no thread runs, and the end of a pipe tells each side that the other is gone.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from hyperprobe.errors import UserError

In = TypeVar("In")
Out = TypeVar("Out")
TERMINATED = 143  # the exit code of a process that was asked to end by SIGTERM


def in_order(
    work: Callable[[In], Out],
    items: Iterable[In],
    processes: int,
    remedy: str = "the same command with --processes 1 continues",
) -> Generator[Out, None, None]:
    """`work` of each item, in the order of the items, from forked processes (one: from this).

    Reads as many items ahead as there are processes. To close the iterator ends the
    processes at once. Raises what `work` raises, and `UserError` with a `remedy` when a process is
    killed.
    """
    if processes == 1:
        yield from map(work, items)
        return
    with _workers(work, processes) as pipes:
        sent = received = 0
        try:
            for item in items:
                if sent - received == processes:
                    yield _result(pipes[received % processes])
                    received += 1
                pipes[sent % processes].send(item)
                sent += 1
            while received < sent:
                yield _result(pipes[received % processes])
                received += 1
        except (EOFError, ConnectionError) as error:
            raise UserError(
                f"a process of the search was killed (out of memory?): {remedy}"
            ) from error


def _result(pipe: Connection) -> Any:
    result = pipe.recv()
    if isinstance(result, Exception):
        raise result
    return result


@contextmanager
def _workers(work: Callable[[Any], Any], number: int) -> Iterator[list[Connection]]:
    """Pipes to processes that end when the block is left, even by SIGTERM."""
    context = multiprocessing.get_context("fork")
    pipes: list[Connection] = []
    processes = []
    with _ended_by_sigterm():
        try:
            for _ in range(number):
                ours, theirs = context.Pipe()
                pipes.append(ours)
                process = context.Process(target=_serve, args=(work, theirs, pipes), daemon=True)
                # Ctrl-C is for the parent alone: what is blocked now stays so in the child.
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                try:
                    process.start()
                    processes.append(process)
                finally:
                    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
                # Only the child holds this end: so the pipe ends with the child.
                theirs.close()
            yield pipes
        finally:
            for process in processes:
                process.kill()
            for process in processes:
                process.join()
            for pipe in pipes:
                pipe.close()


def _serve(work: Callable[[Any], Any], pipe: Connection, of_parent: list[Connection]) -> None:
    """Answer what comes through `pipe` until its other end is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for copy in of_parent:  # held here, they would outlive the parent
        copy.close()
    with suppress(EOFError, OSError):
        while True:
            item = pipe.recv()
            try:
                result = work(item)
            except Exception as error:
                result = error
            pipe.send(result)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM leaves the block as `sys.exit` would, so that what it holds is put away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
