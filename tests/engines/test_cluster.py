"""A real cluster of two nodes on this machine, with cells that need no model."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hyperprobe.engines.cluster import Cluster, compute_on_cluster
from hyperprobe.errors import UserError
from hyperprobe.runs.jobs import Cell, Job, LastLoaded, run_job
from hyperprobe.runs.run import Run

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.enable_socket
N_CELLS = 12


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster whose head computes nothing but the cells of one processor core."""
    from ray.cluster_utils import Cluster as Nodes

    made = Nodes(initialize_head=True, head_node_args={"num_cpus": 1})
    yield made
    ray.shutdown()
    made.shutdown()


def job(results: Path, answer: Callable[[int], object], n: int = N_CELLS) -> Job[pd.DataFrame]:
    """Cells that record themselves: a line in a file for each time that one is computed."""

    def compute(i: int, models: LastLoaded) -> tuple[pd.DataFrame, Any]:
        with (results.parent / "computed.txt").open("a") as file:
            file.write(f"{i}\n")
        return pd.DataFrame({"cell": [i], "answer": [answer(i)]}), {"cell": i}

    cells = [Cell(f"cell {i}", f"model {i % 3}", [i], partial(compute, i)) for i in range(n)]

    def finish(run: Run, frames: list[pd.DataFrame]) -> pd.DataFrame:
        return pd.concat(frames, ignore_index=True)

    return Job(Run(results, "toy", {}), cells, finish)


def computed(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "computed.txt").read_text().split()]


def test_no_cluster_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Ray cluster at auto"):
        compute_on_cluster([job(tmp_path / "results", abs, 1)], Cluster("auto"))


def test_a_node_that_is_lost_costs_its_running_cell(nodes: Any, tmp_path: Path) -> None:
    second = nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    flag = tmp_path / "removed"

    def answer(i: int) -> int:
        while i == N_CELLS - 1 and not flag.exists():  # one cell is at work when its node goes
            time.sleep(0.05)
        return i * i

    planned = job(tmp_path / "results", answer)

    def remove() -> None:
        while not (tmp_path / "computed.txt").exists() or N_CELLS - 1 not in computed(tmp_path):
            time.sleep(0.05)
        nodes.remove_node(second)
        flag.touch()

    remover = threading.Thread(target=remove)
    remover.start()
    compute_on_cluster([planned], Cluster(nodes.address))
    remover.join()
    assert run_job(planned)["answer"].tolist() == [i * i for i in range(N_CELLS)]
    again = [i for i in range(N_CELLS) if computed(tmp_path).count(i) > 1]
    assert len(again) <= 1


def test_what_is_stored_is_not_computed_again(nodes: Any, tmp_path: Path) -> None:
    compute_on_cluster([job(tmp_path / "results", abs, 3)], Cluster(nodes.address))
    compute_on_cluster([job(tmp_path / "results", abs, 5)], Cluster(nodes.address))
    assert sorted(computed(tmp_path)) == [0, 1, 2, 3, 4]


def test_a_users_error_ends_the_run_with_its_line(nodes: Any, tmp_path: Path) -> None:
    def answer(i: int) -> int:
        if i == 2:
            raise UserError("the model is damaged: replace it")
        return i

    with pytest.raises(UserError, match="the model is damaged"):
        compute_on_cluster([job(tmp_path / "results", answer)], Cluster(nodes.address))


def test_a_cell_that_ends_its_worker_is_given_up(nodes: Any, tmp_path: Path) -> None:
    def answer(i: int) -> int:
        if i == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    with pytest.raises(UserError, match="cell 1: 3 workers were lost"):
        compute_on_cluster([job(tmp_path / "results", answer, 2)], Cluster(nodes.address))


def test_machines_with_other_files_are_refused(nodes: Any, tmp_path: Path) -> None:
    here = os.getpid()

    def identify(model: str) -> str:
        return "here" if os.getpid() == here else "there"

    with pytest.raises(UserError, match="model 0 has other files on the machine"):
        compute_on_cluster([job(tmp_path / "results", abs, 1)], Cluster(nodes.address), identify)
