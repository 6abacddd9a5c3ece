"""Do the same numbers come out on another processor? Each command twice, and what differs.

    python -m benchmarks.processors --command "zero-shot --paired" --command classify

Once with this processor's instructions on one thread, once with those of one without AVX-512 on two
(as far as PyTorch, oneDNN, MKL, OpenBLAS and NumPy let themselves be told). Prints, of each table
that differs, in how many numbers, by how much at most, and the column of that.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from hyperprobe.render.terminal import print_table

COMMANDS = ("zero-shot --paired", "consistency", "lama", "classify", "prompts")
OLDER = {
    "OMP_NUM_THREADS": "2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL",
}
SAME = 1e-9  # of numbers that are counted as equal


def tables(words: Sequence[str], settings: dict[str, str]) -> dict[str, pd.DataFrame]:
    """The CSV files of a run by their names."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hyperprobe", "--quiet", *words, "--results", folder]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **settings}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{shlex.join(words)}: {done.stderr}")
        (run,) = (path.parent for path in Path(folder).glob("*/run.json"))
        return {path.name: pd.read_csv(path) for path in sorted(run.glob("*.csv"))}


def differences(one: pd.DataFrame, other: pd.DataFrame) -> tuple[int, float, str] | None:
    """Of two tables: numbers that differ, the largest difference, and its column; None without."""
    if one.shape != other.shape:
        return max(one.size, other.size), float("nan"), f"{len(one)} and {len(other)} rows"
    n, largest, where = 0, 0.0, ""
    for name in one:
        if one[name].dtype.kind in "fi" and other[name].dtype.kind in "fi":
            difference = (one[name] - other[name]).abs()
            changed = (difference > SAME) | (one[name].isna() != other[name].isna())
            if changed.any() and difference.max() >= largest:
                largest, where = float(difference.max()), str(name)
        else:
            changed = one[name].fillna("") != other[name].fillna("")
            where = where or (str(name) if changed.any() else "")
        n += int(changed.sum())
    return (n, largest, where) if n else None


def rows_of(command: str) -> Iterator[tuple[str, ...]]:
    """A line for each table of a command that differs, or one that says that none does."""
    words = shlex.split(command)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda settings: tables(words, settings), ({}, OLDER))
    found = {name: differences(table, other[name]) for name, table in one.items()}
    if not any(found.values()):
        yield command, f"all {len(one)}", "0", "0", ""
    for name, what in found.items():
        if what:
            yield command, name, str(what[0]), f"{what[1]:.1g}", what[2]


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", action="append", help="of hyperprobe; repeatable")
    given = parser.parse_args(words)
    rows = [row for command in given.command or COMMANDS for row in rows_of(command)]
    headers = ["command", "table", "numbers that differ", "at most", "in column"]
    print_table("Another processor", headers, rows)


if __name__ == "__main__":
    main()
