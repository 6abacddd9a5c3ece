"""A study: every probe of a file as a job, whose cells are computed here or by other processes.

All studies under one results folder share their cells: each is stored under all that
decides its numbers (model, questions, settings, version), so that a model added to a file costs
that model alone, and an interrupted study continues. The tables of each probe have a folder of
their own, named after the file and what it asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

from hyperprobe.engines.cluster import Cluster, compute_on_cluster
from hyperprobe.errors import UserError
from hyperprobe.models.load import identify
from hyperprobe.names import StrPath
from hyperprobe.options import RESULTS, StudyKeywords, check_seed
from hyperprobe.probes.zero_shot.study import StudyResult
from hyperprobe.progress import progress
from hyperprobe.render.result import Result
from hyperprobe.runs.command_line import as_options
from hyperprobe.runs.jobs import Job, LastLoaded, compute_cells
from hyperprobe.studies.file import plans, read_study
from hyperprobe.studies.shards import Piece, parse_shard, part_of, pieces_of
from hyperprobe.studies.state import State


@dataclass(frozen=True)
class Study:
    """A study that is planned: its `jobs` by probe, all its `pieces` in the order in which they
    are computed, and `own`, those that are computed here."""

    name: str
    jobs: Mapping[str, Job[Any]]
    pieces: list[Piece]
    own: list[Piece]

    def state(self) -> State:
        """What is done and missing of the pieces that are computed here."""
        return State.of(self.name, self.own)

    def run(self, cluster: Cluster | None = None) -> dict[str, Result]:
        """The results by probe: computes what is missing, here or on a `cluster`, and makes the
        tables of all probes unless a piece of another shard is missing; then there are none.
        Raises `UserError` for a shard on a cluster."""
        if cluster:
            if len(self.own) < len(self.pieces):
                raise UserError("--shard and --ray: Ray shares the cells out itself: drop --shard")
            compute_on_cluster(list(self.jobs.values()), cluster, identify)
        missing, models = self.state().missing, LastLoaded()
        with progress(f"study {self.name}", len(missing)) as advance:
            for probe, group in groupby(missing, lambda piece: piece.probe):
                cells = [piece.cell for piece in group]
                compute_cells(self.jobs[probe], cells, models, advance)
        if self.missing_elsewhere():
            return {}
        return {probe: job.finished() for probe, job in self.jobs.items()}

    def missing_elsewhere(self) -> int:
        """How many cells of other shards are missing."""
        return len(State.of(self.name, self.pieces).missing)


def plan_study(
    path: StrPath,
    results: StrPath = RESULTS,
    seed: int = 0,
    shard: str = "1/1",
    **keywords: Unpack[StudyKeywords],
) -> Study:
    """The study in the file at `path`. Reads files and configurations, and loads no model.

    `shard` is `I/N`, the part that is to be computed here. Raises `UserError` on bad input.
    """
    given = {"path": path, "results": results, "seed": seed, "keywords": keywords}
    part = parse_shard(shard)
    check_seed(seed)
    file, known = read_study(Path(path)), plans()
    jobs = {}
    for probe, arguments in file.probes.items():
        if "seed" in known[probe].__annotations__:
            arguments = {**arguments, "seed": seed}
        job = known[probe](**arguments, results=results, **keywords)
        run = job.run.in_study(file.name)
        if run.command == StudyResult.command:  # it is no command by itself
            run.options = as_options(given)
        jobs[probe] = replace(job, run=run)
    pieces = pieces_of(jobs, keywords.get("trust_remote_code", False))
    return Study(file.name, jobs, pieces, part_of(pieces, part))


def study(
    path: StrPath,
    results: StrPath = RESULTS,
    seed: int = 0,
    shard: str = "1/1",
    cluster: Cluster | None = None,
    **keywords: Unpack[StudyKeywords],
) -> dict[str, Result]:
    """Ask everything that the study file at `path` names: probe -> its result.

    `shard`, `I/N`, computes one of N parts, and gives no results while cells of another are
    missing. With a `cluster`, its machines compute the cells. Keywords are the fields of
    `ModelOptions` that a file does not have. Raises `UserError` on bad input.
    """
    return plan_study(path, results, seed, shard, **keywords).run(cluster)
