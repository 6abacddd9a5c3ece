"""What the models of several zero-shot runs are called where one table shows all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hyperprobe.probes.zero_shot.outcomes import METRICS
from hyperprobe.render.table import RUN


@dataclass(frozen=True)
class Naming:
    """Which rows repeat no other run's, and new names where one name gave different numbers.

    `kept` has (run, diagnostic, model), `renamed` (run, model) -> name.
    """

    kept: frozenset[tuple[str, str, str]]
    renamed: Mapping[tuple[str, str], str]

    def apply(self, frame: pd.DataFrame, keep_all: bool = False) -> pd.DataFrame:
        """The frame's rows that repeat no other (or all) under their new names.

        In a comparison of two models both are of one run.
        """
        if not keep_all:
            mask = self._is_kept(frame, "model")
            if "other" in frame:  # a pair is a repetition only if both sides are
                others = self._is_kept(frame, "other")
                mask = [a or b for a, b in zip(mask, others, strict=True)]
            frame = frame[np.array(mask, dtype=bool)]  # (a list would be columns, if empty)
        frame = frame.copy()
        for column in ("model", "other"):
            if column in frame:
                frame[column] = [
                    self.renamed.get((run, name), name)
                    for run, name in zip(frame[RUN], frame[column], strict=True)
                ]
        return frame.reset_index(drop=True)

    def _is_kept(self, frame: pd.DataFrame, column: str) -> list[bool]:
        keys = zip(frame[RUN], frame["diagnostic"], frame[column], strict=True)
        return [key in self.kept for key in keys]


def name_models(metrics: pd.DataFrame) -> Naming:
    """The naming of the models in the metrics of several runs, distinguished by `run`."""
    # Vectors answer open questions from the vocabulary of the run's language model.
    closed = [metric for metric in METRICS if not metric.startswith("open_")]
    rounded = metrics.assign(**metrics[closed].round(6))
    distinct = rounded.drop_duplicates(["diagnostic", "model", *closed])
    twice = distinct[distinct.duplicated(["diagnostic", "model"], keep=False)]
    return Naming(
        frozenset((r.run, r.diagnostic, r.model) for r in distinct.itertuples()),
        {(r.run, r.model): f"{r.model} [{r.run}]" for r in twice.itertuples()},
    )
