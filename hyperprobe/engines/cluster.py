"""Cells on a Ray cluster: a worker holds one model, and what it computes is stored by the driver.

Results come back to the driver, so that the machines need not share a disk. A machine that is
lost, or a driver that is killed, costs the cells that were running.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import hyperprobe
from hyperprobe.aliases import targets, use_targets
from hyperprobe.errors import UserError
from hyperprobe.progress import say
from hyperprobe.runs.jobs import Cell, Job, LastLoaded
from hyperprobe.runs.run import Computed, measured

AUTO, LOCAL = "auto", "local"
MAX_LOST = 3  # workers that one cell may lose: then it is the cell that ends them
MAX_UNBORN = 10  # workers that may end before they are there
PATIENCE = 30.0  # seconds without a worker, after which the user hears of it

Place = tuple[int, int]  # index of the job, index of its cell
Result = TypeVar("Result")


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster: `auto` (the one this machine belongs to), `local` (a new one on this
    machine alone) or an address. A cell takes one processor core, and `gpus_per_cell` GPUs."""

    address: str
    gpus_per_cell: float = 0.0


class Worker:
    """A process of the cluster that computes cells, and holds the model it was last asked for."""

    def __init__(
        self,
        jobs: Sequence[Job[Any]],
        identify: Callable[[str], Any],
        given_names: dict[str, str],
    ) -> None:
        use_targets(given_names)
        self._jobs = jobs
        self._identify = identify
        self._models = LastLoaded()

    def about(self) -> tuple[str, str]:
        """The version of hyperprobe here, and the name of the machine."""
        import socket

        return hyperprobe.__version__, socket.gethostname()

    def compute(self, place: Place, identity: Any) -> Computed | UserError:
        """What a cell gives, or why the user has to change something; `identity` is what the
        driver knows its model by."""
        cell = self._jobs[place[0]].cells[place[1]]
        try:
            if self._identify(cell.model) != identity:
                raise UserError(
                    f"{cell.model} has other files on the machine {self.about()[1]} than here: "
                    "copy them there, or put them on a shared disk"
                )
            return measured(lambda: cell.compute_alone(self._models))
        except UserError as error:
            return error


@dataclass
class _Queue:
    """The missing cells by model, and which worker has which model."""

    waiting: dict[str, list[Place]] = field(default_factory=dict)
    of_worker: dict[Any, str] = field(default_factory=dict)
    lost: Counter[Place | None] = field(default_factory=Counter)

    def __len__(self) -> int:
        return sum(map(len, self.waiting.values()))

    def take(self, worker: Any) -> Place:
        """A cell of the model that the worker has, else of the one with most left to do."""
        model = self.of_worker.get(worker)
        if model is None or not self.waiting.get(model):
            at_work = Counter(self.of_worker.values())
            left = {name: len(some) / (1 + at_work[name]) for name, some in self.waiting.items()}
            model = max(left, key=lambda name: left[name])
        self.of_worker[worker] = model
        return self.waiting[model].pop(0)

    def put_back(self, worker: Any, place: Place | None, cell: Cell | None, why: str) -> None:
        """The worker is lost, with the cell that it computed, if any. Raises `UserError` where
        that has happened too often."""
        self.of_worker.pop(worker, None)
        self.lost[place] += 1
        if cell is None or place is None:
            if self.lost[None] > MAX_UNBORN:
                raise UserError(f"workers end before they begin: {why.strip().splitlines()[-1]}")
            return
        if self.lost[place] == MAX_LOST:
            raise UserError(
                f"{cell.key}: {MAX_LOST} workers were lost while they computed it (out of "
                "memory?): ask for it on a larger machine"
            )
        self.waiting.setdefault(cell.model, []).insert(0, place)


def compute_on_cluster(
    jobs: Sequence[Job[Any]],
    cluster: Cluster,
    identify: Callable[[str], Any] = lambda model: None,
) -> None:
    """Compute and store the cells of `jobs` that are missing.

    `identify` says what a model is, from its files: the machines have to agree. A line for each
    cell goes to standard error. Raises `UserError` without Ray, without a cluster, for machines
    with another version of hyperprobe, and what the cells raise.
    """
    missing = [(j, i) for j, job in enumerate(jobs) for i in job.missing()]
    if not missing:
        return
    identities = {name: identify(name) for name in {jobs[j].cells[i].model for j, i in missing}}
    queue = _Queue()
    for j, i in missing:
        queue.waiting.setdefault(jobs[j].cells[i].model, []).append((j, i))
    with _connected(cluster) as ray:
        _drive(ray, cluster, jobs, queue, identities, identify)


def _drive(
    ray: Any,
    cluster: Cluster,
    jobs: Sequence[Job[Any]],
    queue: _Queue,
    identities: dict[str, Any],
    identify: Callable[[str], Any],
) -> None:
    total, n_done = len(queue), 0
    make = ray.remote(num_cpus=1, num_gpus=cluster.gpus_per_cell)(Worker).remote
    shared = ray.put(list(jobs))
    starting: dict[Any, Any] = {}  # what a worker says of itself, when it is there -> worker
    running: dict[Any, tuple[Any, Place]] = {}
    hosts: dict[Any, str] = {}

    def start() -> None:
        worker = make(shared, identify, targets())
        starting[worker.about.remote()] = worker

    def give(worker: Any) -> None:
        if queue:
            place = queue.take(worker)
            model = jobs[place[0]].cells[place[1]].model
            running[worker.compute.remote(place, identities[model])] = worker, place
        else:
            ray.kill(worker)

    try:
        for _ in range(min(total, _room(ray, cluster))):
            start()
        seen = time.monotonic()
        while running or queue:
            ready, _ = ray.wait([*running, *starting], timeout=1.0)
            if running or ready:
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                say("the cluster has no room: waiting for a machine (Ctrl-C ends it)")
                seen = time.monotonic()
            for future in ready:
                worker, place = running.pop(future, None) or (starting.pop(future), None)
                cell = jobs[place[0]].cells[place[1]] if place else None
                try:
                    answer = ray.get(future)
                except ray.exceptions.RayActorError as error:
                    queue.put_back(worker, place, cell, str(error))
                    start()
                    continue
                if place is None or cell is None:
                    version, hosts[worker] = answer
                    if version != hyperprobe.__version__:
                        raise UserError(
                            f"hyperprobe is {version} on {hosts[worker]} and "
                            f"{hyperprobe.__version__} here: install the same"
                        )
                elif isinstance(answer, UserError):
                    raise answer
                else:
                    job = jobs[place[0]]
                    job.run.store(job.key(cell), answer)
                    n_done += 1
                    seconds = answer.notes["seconds"]
                    say(f"{n_done}/{total} {cell.key}: {seconds:.1f} s on {hosts[worker]}")
                give(worker)
    finally:
        for worker in [*starting.values(), *(worker for worker, _ in running.values())]:
            ray.kill(worker)


def _room(ray: Any, cluster: Cluster) -> int:
    """How many workers the cluster holds, one at least."""
    has = ray.cluster_resources()
    room = has.get("CPU", 0.0)
    if cluster.gpus_per_cell:
        room = min(room, has.get("GPU", 0.0) / cluster.gpus_per_cell)
        if room < 1:
            raise UserError(
                f"--gpus-per-cell {cluster.gpus_per_cell:g}: the cluster has "
                f"{has.get('GPU', 0.0):g} GPUs: ask for fewer"
            )
    return max(1, int(room))


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Any]:
    """Ray, connected to the cluster; what was started here ends here."""
    try:
        import ray
    except ImportError as error:
        raise UserError("--ray needs Ray: pip install 'hyperprobe[ray]'") from error
    was_there = ray.is_initialized()
    if not was_there:
        try:
            ray.init(
                address=cluster.address,
                include_dashboard=False if cluster.address == LOCAL else None,
                logging_level="error",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UserError(
                f"no Ray cluster at {cluster.address}: start one with ray start --head, or give "
                "--ray local"
            ) from error
    try:
        yield ray
    finally:
        if not was_there:
            ray.shutdown()
