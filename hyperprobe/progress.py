"""What people read on standard error: lines, and bars where it is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hyperprobe.errors import printable

PATIENCE = 2.0  # seconds before a bar appears
_QUIET = False


def be_quiet(wanted: bool = True) -> None:
    """From now on no bars (and, on the command line, no notes) are shown, or again."""
    global _QUIET
    _QUIET = wanted


def say(text: str) -> None:
    """A note for people, unless they want none."""
    if not _QUIET:
        print_error(text)


def print_error(text: str) -> None:
    """A line on standard error, escaped where the terminal cannot encode it."""
    encoding = sys.stderr.encoding or "utf-8"
    text = printable(text)
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


@contextmanager
def progress(label: str, total: int, unit: str = "") -> Iterator[Callable[[int], None]]:
    """A function that reports n more of `total` done; draws only what takes long."""
    if _QUIET or not sys.stderr.isatty():
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn() if unit == "bytes" else MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(printable(label), total=total)
    started, shown = time.monotonic(), False

    def advance(n: int) -> None:
        nonlocal shown
        bar.advance(task, n)
        if not shown and time.monotonic() - started > PATIENCE:
            bar.start()
            shown = True

    try:
        yield advance
    finally:
        if shown:
            bar.stop()
