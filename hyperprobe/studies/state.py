"""What of a study is done and missing, and how long the rest may take, from the cells' notes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hyperprobe.render.table import Table
from hyperprobe.render.terminal import MISSING
from hyperprobe.studies.shards import Piece


@dataclass(frozen=True)
class State:
    """Pieces of a study, and the seconds that each took; none for those that are missing."""

    name: str
    pieces: Sequence[Piece]
    seconds: Sequence[float | None]

    @classmethod
    def of(cls, name: str, pieces: Sequence[Piece]) -> State:
        """As it is now: reads the cells' notes, and checks that they are whole."""
        return cls(name, pieces, [piece.seconds for piece in pieces])

    @property
    def missing(self) -> list[Piece]:
        both = zip(self.pieces, self.seconds, strict=True)
        return [piece for piece, seconds in both if seconds is None]

    def left(self, probe: str = "") -> float | None:
        """About how many seconds the missing pieces (of one probe) take one process.

        As long for their work as those of the same probe and model that are done, or else of the
        same probe. None if nothing of a probe is done.
        """
        took: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for piece, seconds in zip(self.pieces, self.seconds, strict=True):
            for key in ((piece.probe, piece.cell.model), (piece.probe, "")):
                if seconds is not None:
                    took[key][0] += seconds
                    took[key][1] += piece.work
        total = 0.0
        for piece in self.missing:
            if probe in ("", piece.probe):
                of_model = (piece.probe, piece.cell.model)
                seconds, work = took[of_model if of_model in took else (piece.probe, "")]
                if not work:
                    return None
                beside = torch.get_num_threads() if piece.cell.one_thread else 1
                total += piece.work * seconds / work / beside
        return total

    def line(self) -> str:
        """`study mine: 40 cells, 12 done, 28 missing, about 3 min`."""
        n, missing = len(self.pieces), len(self.missing)
        cells = "1 cell" if n == 1 else f"{n} cells"
        said = f"study {self.name}: {cells}, {n - missing} done, {missing} missing"
        left = self.left()
        return said if left is None or not missing else f"{said}, about {duration(left)}"

    def table(self) -> Table:
        """A row for each probe."""
        rows = []
        for probe in dict.fromkeys(piece.probe for piece in self.pieces):
            n = sum(piece.probe == probe for piece in self.pieces)
            missing = sum(piece.probe == probe for piece in self.missing)
            left = self.left(probe)
            time = MISSING if left is None else duration(left)
            rows.append((probe, str(n), str(n - missing), str(missing), time))
        return Table(
            self.line(),
            ("probe", "cells", "done", "missing", "time left"),
            tuple(rows),
            "Time: of one process, from the seconds of the cells that are done.",
        )


def duration(seconds: float) -> str:
    """`40 s`, `12 min` or `3.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
