"""The answers of a run's cells, model by model: written down, and made into tables.

The answers of all models to all items may be larger than memory; those of one model are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.heap import return_freed_memory
from hyperprobe.names import MAJORITY
from hyperprobe.predictions import joined
from hyperprobe.probes.zero_shot.ask import ITEMS_AT_ONCE, Unit, asked_of, in_order
from hyperprobe.probes.zero_shot.contrasts import question_adds, systematicity, with_adds
from hyperprobe.probes.zero_shot.metrics import (
    breakdown,
    compare_models,
    confusion,
    summary,
    unscored,
    with_scored,
)
from hyperprobe.probes.zero_shot.outcomes import PRIOR, SCORE, outcome_table
from hyperprobe.probes.zero_shot.predictions import predict_majority
from hyperprobe.probes.zero_shot.steps import growth, known_steps, over_steps
from hyperprobe.runs.files import write_frames
from hyperprobe.runs.frames import Frames
from hyperprobe.statistics.stratified import with_holm

NOT_NEEDED = ["group", "gold_score", "best_score", "top"]  # by any table


@dataclass
class Tables:
    """What is known of the (set, model) pairs that were added."""

    outcomes: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict)
    summaries: list[dict[str, Any]] = field(default_factory=list)
    # One row at least for each model, and for each item: what it is about.
    items: list[pd.DataFrame] = field(default_factory=list)
    lacking: list[pd.DataFrame] = field(default_factory=list)
    golds: list[pd.DataFrame] = field(default_factory=list)
    of_models: dict[str, list[pd.DataFrame]] = field(default_factory=dict)

    def add(self, diagnostic: str, model: str, asked: pd.DataFrame) -> None:
        """Add all predictions of a model on a set."""
        right = outcome_table(asked)
        # One index for all models: of many items its texts take as much memory as the outcomes.
        known = [table.index for (one, _), table in self.outcomes.items() if one == diagnostic]
        right.index = next((index for index in known if index.equals(right.index)), right.index)
        own = {(diagnostic, model): right}
        self.outcomes |= own
        self.summaries.append(summary(diagnostic, model, asked, right))
        self.lacking.append(unscored(asked))
        self.golds.append(asked[["diagnostic", "probe", "gold"]].drop_duplicates())
        rows = asked.drop_duplicates("item")
        seen = [part["item"] for part in self.items if part["diagnostic"].iloc[0] == diagnostic]
        new = ~rows["item"].isin(pd.concat(seen)) if seen else np.ones(len(rows), dtype=bool)
        about = ["diagnostic", "model", "item", "synset", "hypernym"]
        self.items.append(pd.concat([rows.iloc[:1], rows[new]])[about].drop_duplicates("item"))
        for name, made in {
            "systematic": systematicity(asked, own),
            "breakdown": breakdown(asked, own),
            "confusion": confusion(asked),
        }.items():
            self.of_models.setdefault(name, []).append(made)

    def made(self, names: Sequence[str], seed: int) -> dict[str, pd.DataFrame]:
        """The tables by name, in which the units called `names` are checkpoints where they are."""
        items = pd.concat(self.items, ignore_index=True)
        adds = question_adds(items, seed, self.outcomes)
        lacking = pd.concat(self.lacking)
        metrics = pd.DataFrame(with_scored(self.summaries, lacking, self.outcomes))
        whole = {
            name: pd.concat([one for one in made if len(one)] or made[:1], ignore_index=True)
            for name, made in self.of_models.items()
        }
        tables = {
            "metrics": with_adds(metrics, adds),
            "adds": adds,
            "systematic": with_holm(whole["systematic"]),  # one family over all models
            "mcnemar": compare_models(items, self.outcomes),
            "breakdown": whole["breakdown"],
            "confusion": whole["confusion"],
        }
        if steps := known_steps(names):
            golds = pd.concat(self.golds)
            tables["steps"] = over_steps(golds, tables["metrics"], adds, steps)
            tables["growth"] = growth(items, adds, self.outcomes, steps, seed)
        return tables


def gather(
    frames: Frames,
    units: Sequence[Unit],
    sets: Mapping[str, DiagnosticSet],
    path: Path,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Write the answers of the cells of `cells_of`, and those of the majority baseline, to `path`
    by set and model; the tables made of them by name."""
    tables = Tables()
    cells: dict[tuple[str, str], list[int]] = {}
    for i, asked in enumerate(asked_of(units, sets)):
        for name in frames.read(i, ["model"])["model"].unique():
            cells.setdefault((asked.diagnostic, name), []).append(i)

    def parts(diagnostic: str, model: str) -> Iterator[pd.DataFrame]:
        if model == MAJORITY:
            whole = sets[diagnostic].frame
            for start in range(0, len(whole), ITEMS_AT_ONCE):
                yield predict_majority(whole, slice(start, start + ITEMS_AT_ONCE))
        for i in cells.get((diagnostic, model), ()):
            frame = frames[i]
            yield frame[frame["model"] == model].reset_index(drop=True)

    def rows() -> Iterator[pd.DataFrame]:
        order = in_order({MAJORITY, *(name for _, name in cells)}, units)
        for diagnostic in sets:
            for model in order:
                kept = []
                for part in parts(diagnostic, model):
                    frame = part.assign(diagnostic=diagnostic)
                    yield frame
                    kept.append(frame.reindex(columns=needed).astype(single))
                if kept:
                    tables.add(diagnostic, model, joined(kept))
                    return_freed_memory()

    first = [predict_majority(sets[d].frame, slice(1)).assign(diagnostic=d) for d in sets]
    schema = frames.schema(first)
    needed = [name for name in schema.names if name not in NOT_NEEDED]
    # Scores were single precision, and are so again.
    single = {name: np.float32 for name in needed if name.startswith((SCORE, PRIOR))}
    return_freed_memory()
    write_frames(path, rows(), schema)
    return tables.made([unit.name for unit in units], seed)
