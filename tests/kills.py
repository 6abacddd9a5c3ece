"""Killing a command amid its work, and what it had finished by then."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 100.0  # seconds until a command has to have begun


def finished_cells(folder: Path) -> dict[Path, int]:
    """The cells stored below `folder`/results, and when each was written (nanoseconds)."""
    cells = (folder / "results").glob("*/cells/*.parquet")
    return {path: path.stat().st_mtime_ns for path in cells}


def kill_after(folder: Path, command: list[str], n_cells: int) -> dict[Path, int]:
    """Run `hyperprobe COMMAND` in `folder`, kill it when it has stored `n_cells`; its cells."""
    killed = subprocess.Popen(
        [sys.executable, "-m", "hyperprobe", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    deadline = time.monotonic() + PATIENCE
    while len(finished_cells(folder)) < n_cells and time.monotonic() < deadline:
        assert killed.poll() is None
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    return finished_cells(folder)
