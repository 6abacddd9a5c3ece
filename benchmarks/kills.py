"""Kills at random moments over a study of four models and two sets: is anything lost or redone?

    python -m benchmarks.kills [--kills 50]

The models are a masked one, a causal one, a seq2seq one with random weights, and the
embedded one; the study runs in forks of this process, which are killed with SIGKILL.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.models import save_bert, save_gpt2, save_t5
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.studies.study import study

MODELS = ("embedded", "bert", "gpt2", "t5")
SMALL_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def start(path: Path, results: Path) -> int:
    """The study in a fork: its process id."""
    child = os.fork()
    if child:
        return child
    try:
        study(path, results)
        os._exit(0)
    finally:
        os._exit(1)


def metrics_of(results: Path) -> pd.DataFrame:
    (path,) = results.glob("study-kills-*/metrics.csv")
    return pd.read_csv(path)


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
    parser.add_argument("--items", type=int, default=20, help="of each of the two sets")
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
        for i in range(2):
            sets.append(str(folder / f"set{i}.tsv"))
            chosen = frame.sample(arguments.items, random_state=i)
            chosen.to_csv(sets[-1], sep="\t", index=False)
        path = folder / "kills.toml"
        path.write_text(f"models = {models}\ndiagnostics = {sets}\n")

        began = time.monotonic()
        os.waitpid(start(path, folder / "whole"), 0)
        took = time.monotonic() - began
        expected = metrics_of(folder / "whole")
        n_cells = len(cells_of(folder / "whole"))

        seen: dict[str, tuple[int, int]] = {}
        lost = redone = kills = rounds = finished = 0
        results = folder / "round0"
        while kills < arguments.kills:
            child = start(path, results)
            time.sleep(moments.uniform(0, took / 4))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            now = cells_of(results)
            lost += sum(cell not in now for cell in seen)
            redone += sum(now.get(cell, made) != made for cell, made in seen.items())
            seen = now
            kills += os.WIFSIGNALED(status)
            if not os.WIFSIGNALED(status) or (len(seen) == n_cells and moments.random() < 0.3):
                os.waitpid(start(path, results), 0)
                final = cells_of(results)
                lost += len(set(seen) - set(final))
                redone += sum(final[cell] != made for cell, made in seen.items() if cell in final)
                pd.testing.assert_frame_equal(metrics_of(results), expected)
                finished += 1
                rounds += 1
                results, seen = folder / f"round{rounds}", {}
        os.waitpid(start(path, results), 0)
        final = cells_of(results)
        lost += len(set(seen) - set(final))
        redone += sum(final[cell] != made for cell, made in seen.items() if cell in final)
        pd.testing.assert_frame_equal(metrics_of(results), expected)
        left = len(list(folder.rglob("*.partial")))
        print(
            f"{kills} kills over {finished + 1} studies of {n_cells} cells ({took:.1f} s whole): "
            f"{lost} cells lost, {redone} computed again, {left} half-written files left; "
            "all final metrics equal those of the study that was let alone"
        )


if __name__ == "__main__":
    main()
