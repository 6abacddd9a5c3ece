"""What Ray adds to a cell: many cells that compute nothing, on one node and on two.

python -m benchmarks.cluster [--cells 200]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.engines.cluster import Cluster, compute_on_cluster
from hyperprobe.runs.jobs import Cell, Job, LastLoaded
from hyperprobe.runs.run import Run


def compute(i: int, models: LastLoaded) -> tuple[pd.DataFrame, Any]:
    return pd.DataFrame({"cell": [i]}), None


def seconds_of(address: str, results: Path, n_cells: int) -> float:
    """How long the cells take on the cluster, with the start of its workers."""
    cells = [Cell(f"cell {i}", "", [i], partial(compute, i)) for i in range(n_cells)]
    job = Job(Run(results, "empty", {}), cells, lambda run, frames: None)
    began = time.monotonic()
    with redirect_stderr(StringIO()):
        compute_on_cluster([job], Cluster(address))
    return time.monotonic() - began


def main(words: Sequence[str] | None = None) -> None:
    from ray.cluster_utils import Cluster as Nodes

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200)
    n_cells = parser.parse_args(words).cells
    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1})
    with tempfile.TemporaryDirectory() as name:
        for n_nodes in (1, 2):
            if n_nodes == 2:
                nodes.add_node(num_cpus=1)
                nodes.wait_for_nodes()
            few = seconds_of(nodes.address, Path(name) / f"few{n_nodes}", 2)
            many = seconds_of(nodes.address, Path(name) / f"many{n_nodes}", 2 + n_cells)
            print(
                f"{n_nodes} nodes: {few:.1f} s for 2 cells, {many:.1f} s for {2 + n_cells}: "
                f"{(many - few) / n_cells * 1000:.1f} ms a cell"
            )
    nodes.shutdown()


if __name__ == "__main__":
    main()
