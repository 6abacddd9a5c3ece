"""Kills at random moments over a study of four models and two sets: is anything lost or redone?

    python -m benchmarks.kills [--kills 50] [--sets 2] [--ray]

The models are a masked one, a causal one, a seq2seq one with random weights, and the
embedded one; the study runs in forks of this process, which are killed with SIGKILL. With
`--ray` they are drivers of a cluster of two nodes, of which one is lost halfway.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.models import save_bert, save_gpt2, save_t5
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.studies.study import study

MODELS = ("embedded", "bert", "gpt2", "t5")
SMALL_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def start(path: Path, results: Path, address: str = "") -> int:
    """The study in a fork (on a cluster: in a process of its own): its process id."""
    if address:
        words = ["study", str(path), "--results", str(results), "--ray", address]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "hyperprobe", *words], **quiet).pid
    child = os.fork()
    if child:
        return child
    try:
        study(path, results)
        os._exit(0)
    finally:
        os._exit(1)


class TwoNodes:
    """A Ray cluster of two nodes on this machine, each with one processor core."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Nodes

        self._nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1})
        self._second: Any = self._nodes.add_node(num_cpus=1)
        self.address: str = self._nodes.address

    def lose_one(self) -> None:
        """End the second node, as a machine that is switched off."""
        if self._second:
            self._nodes.remove_node(self._second, allow_graceful=False)
        self._second = None


def metrics_of(results: Path) -> Path:
    (path,) = results.glob("study-kills-*/metrics.csv")
    return path


def same(results: Path, expected: bytes) -> None:
    if metrics_of(results).read_bytes() != expected:
        raise AssertionError(f"{metrics_of(results)} is not that of the study that was let alone")


def cells_of(results: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of each finished cell: another pair is another computation."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in results.glob("*/cells/*.parquet")
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--items", type=int, default=20, help="of each set")
    arguments = parser.parse_args(words)
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame = load_diagnostic("lm-diagnostic-extended")
        texts = list(frame["singular"])
        save_bert(folder / "bert", texts, **SMALL_BERT)
        save_gpt2(folder / "gpt2", texts, n_embd=32, n_layer=2, n_head=2)
        save_t5(folder / "t5", texts, d_model=32, d_ff=64, num_layers=2, num_heads=2)
        models = [name if name == "embedded" else str(folder / name) for name in MODELS]
        sets = []
        for i in range(arguments.sets):
            sets.append(str(folder / f"set{i}.tsv"))
            chosen = frame.sample(arguments.items, random_state=i)
            chosen.to_csv(sets[-1], sep="\t", index=False)
        path = folder / "kills.toml"
        path.write_text(f"models = {models}\ndiagnostics = {sets}\n")

        began = time.monotonic()
        os.waitpid(start(path, folder / "whole"), 0)
        took = time.monotonic() - began
        expected = metrics_of(folder / "whole").read_bytes()
        n_cells = len(cells_of(folder / "whole"))

        nodes = TwoNodes() if arguments.ray else None
        address = nodes.address if nodes else ""
        if nodes:  # a driver takes as long to begin as some cells take
            began = time.monotonic()
            os.waitpid(start(path, folder / "on-cluster", address), 0)
            took = time.monotonic() - began
            same(folder / "on-cluster", expected)
        seen: dict[str, tuple[int, int]] = {}
        lost = redone = kills = rounds = finished = 0
        results = folder / "round0"
        while kills < arguments.kills:
            child = start(path, results, address)
            time.sleep(moments.uniform(0, took / 4))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            now = cells_of(results)
            lost += sum(cell not in now for cell in seen)
            redone += sum(now.get(cell, made) != made for cell, made in seen.items())
            seen = now
            kills += os.WIFSIGNALED(status)
            if nodes and kills == arguments.kills // 2:
                nodes.lose_one()
            if not os.WIFSIGNALED(status) or (len(seen) == n_cells and moments.random() < 0.3):
                os.waitpid(start(path, results, address), 0)
                final = cells_of(results)
                lost += len(set(seen) - set(final))
                redone += sum(final[cell] != made for cell, made in seen.items() if cell in final)
                same(results, expected)
                finished += 1
                rounds += 1
                results, seen = folder / f"round{rounds}", {}
        os.waitpid(start(path, results, address), 0)
        final = cells_of(results)
        lost += len(set(seen) - set(final))
        redone += sum(final[cell] != made for cell, made in seen.items() if cell in final)
        same(results, expected)
        left = len(list(folder.rglob("*.partial")))
        print(
            f"{kills} kills over {finished + 1} studies of {n_cells} cells ({took:.1f} s whole): "
            f"{lost} cells lost, {redone} computed again, {left} half-written files left; "
            "all final metrics equal those of the study that was let alone"
        )


if __name__ == "__main__":
    main()
