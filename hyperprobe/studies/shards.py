"""The cells of a study as pieces of work, and how processes share them out without a word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum
from typing import Any

from hyperprobe.errors import UserError, quoted
from hyperprobe.model_names import is_vectors
from hyperprobe.models.load import n_parameters
from hyperprobe.names import RANDOM
from hyperprobe.runs.jobs import Cell, Job

# A text costs about as much before and after the network as a network of this size costs.
PARAMETERS = 10_000_000


@dataclass(frozen=True)
class Piece:
    """A cell of the job of a `probe`, and how much `work` it is beside the others of a study."""

    probe: str
    job: Job[Any]
    cell: Cell
    work: float

    @property
    def seconds(self) -> float | None:
        """How long it took, or None while it is missing."""
        return self.job.run.seconds(self.job.key(self.cell))


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) `of` a study's parts."""

    number: int = 1
    of: int = 1


def parse_shard(text: str) -> Shard:
    """The shard that `I/N` names. Raises `UserError` for what is none."""
    found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of:
        raise UserError(f"--shard {quoted(text)}: write I/N, such as 1/8 to 8/8 for eight shards")
    return Shard(number, of)


def pieces_of(jobs: Mapping[str, Job[Any]], trust_remote_code: bool) -> list[Piece]:
    """All cells in the order in which they are computed: those of one model in a row, whatever
    the probe, and at the end by probe those that run side by side."""

    @cache
    def work_of_text(model: str) -> float:
        if not model or is_vectors(model):
            return 1.0
        return 1.0 + n_parameters(model, trust_remote_code) / PARAMETERS

    pieces = [
        Piece(probe, job, cell, cell.cost * work_of_text(cell.model.removeprefix(RANDOM)))
        for probe, job in jobs.items()
        for cell in job.cells
    ]
    index = {name: i for i, name in enumerate(dict.fromkeys(one.cell.model for one in pieces))}
    alone = [piece for piece in pieces if not piece.cell.one_thread]
    beside = [piece for piece in pieces if piece.cell.one_thread]
    return [*sorted(alone, key=lambda piece: index[piece.cell.model]), *beside]


def part_of(pieces: Sequence[Piece], shard: Shard) -> list[Piece]:
    """The pieces of one shard: a stretch of them, so that few models are loaded by several.

    The stretches have the same work, but for half a piece at each end, and every process that
    plans the study cuts it at the same places.
    """
    total, before, part = fsum(piece.work for piece in pieces), 0.0, []
    for piece in pieces:
        middle = (before + piece.work / 2) / total
        if min(int(middle * shard.of), shard.of - 1) == shard.number - 1:
            part.append(piece)
        before += piece.work
    return part
