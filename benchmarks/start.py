"""From the start of a process to a table: seconds of a first run, of what follows, of an analysis.

    python -m benchmarks.start --rounds 5 --other ../before

Each command runs in a process of its own, round after round, with the checkout in `--other`, if
one is named, by turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

COMMANDS = {
    "zero-shot --paired": ["zero-shot", "--paired"],
    "the same again": ["zero-shot", "--paired"],
    "report": ["report", "{run}"],
    "analyze": ["analyze", "{run}"],
}
HERE = Path(__file__).resolve().parent.parent


def measured(checkout: Path, words: list[str], folder: Path) -> tuple[float, float]:
    """Processor seconds (user and system) and wall time of one command, run in `folder`."""
    run = next(folder.glob("results/zero-shot-*"), folder)
    words = [word.format(run=run) for word in words]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-m", "hyperprobe", *words]
    start = time.perf_counter()
    with (folder / "notes").open("wb") as notes:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=notes
        )
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} of {checkout}: {(folder / 'notes').read_text()}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - start


def spread(seconds: list[float]) -> str:
    """The median, and the least and the most."""
    return f"{statistics.median(seconds):5.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", type=Path)
    given = parser.parse_args(arguments)
    checkouts = [HERE, given.other.resolve()] if given.other else [HERE]
    seconds = defaultdict(list)
    for _ in range(given.rounds):
        for checkout in checkouts:
            with tempfile.TemporaryDirectory() as folder:
                for name, words in COMMANDS.items():
                    seconds[name, checkout].append(measured(checkout, words, Path(folder)))
    print(f"{'':20}{'processor seconds':24}seconds by the clock")
    for name in COMMANDS:
        for checkout in checkouts:
            used, clock = zip(*seconds[name, checkout], strict=True)
            print(f"{name:20}{spread(used):24}{spread(clock):24}{checkout}")


if __name__ == "__main__":
    main()
