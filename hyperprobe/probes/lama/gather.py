"""The answers of a run's cells, model by model: written down, and what metrics are made of.

The answers of all models to all facts may be larger than memory; the numbers in those of one model
are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from hyperprobe.heap import return_freed_memory
from hyperprobe.predictions import joined
from hyperprobe.probes.lama.factors import factors_of
from hyperprobe.probes.lama.mcnemar import RightFacts
from hyperprobe.probes.lama.metrics import (
    FACTORS,
    QUESTION,
    add_filtered_rank,
    correlations,
    p_at_k,
    summarise_facts,
)
from hyperprobe.probes.lama.paraphrases import consistency
from hyperprobe.probes.lama.predictions import item_numbers
from hyperprobe.probes.lama.questions import Part
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.probes.lama.tables import CORRELATIONS, MCNEMAR, METRICS, P_AT_K
from hyperprobe.runs.files import write_frames

CONSISTENCY = "consistency.csv"
RANKED = [*QUESTION, "gold", "gold_rank", "gold_tied", "gold_tied_before"]
FILTERED = ["filtered_rank", "filtered_tied"]
NAMES = ["source", "relation", "type", "model"]
PARAPHRASED = ["source", "relation", "model", "item", "prompt", "gold", "best", "gold_rank"]


@dataclass(frozen=True)
class Answered:
    """The answers of one model to the facts of one relation, in `parts` that are read when they
    are called: all of their columns, or some."""

    model: str
    relation: Relation
    parts: Sequence[Callable[..., pd.DataFrame]]

    def ranked(self) -> Iterator[pd.DataFrame]:
        """The parts with the filtered ranks, which may depend on the other parts."""
        if len(self.parts) == 1:
            yield add_filtered_rank(self.parts[0]())
            return
        keys = pd.concat([read(RANKED) for read in self.parts], ignore_index=True)
        ranks = add_filtered_rank(keys)[FILTERED]
        start = 0
        for read in self.parts:
            part = read()
            ranks_of_part = ranks.iloc[start : start + len(part)].reset_index(drop=True)
            yield pd.concat([part, ranks_of_part], axis=1)
            start += len(part)


def gather(
    answered: Sequence[Answered], asked: Sequence[Part], schema: pa.Schema, path: Path, seed: int
) -> dict[str, pd.DataFrame]:
    """Write the answers, those of one model side by side, to `path`; file name -> table of them.

    `schema` has the columns of the answers. Of several paraphrases the first one is the
    headline, as ParaRel's base pattern.
    """
    made: dict[str, list[pd.DataFrame]] = {}
    right = RightFacts()

    def rows() -> Iterator[pd.DataFrame]:
        factors = _factors(asked)
        for _, of_model in groupby(answered, key=lambda one: one.model):
            headline: list[pd.DataFrame] = []
            for one in of_model:
                several: list[pd.DataFrame] = []
                first = None
                for part in one.ranked():
                    numbers = item_numbers(part["item"])
                    of_facts = factors[one.relation].iloc[numbers].reset_index(drop=True)
                    table = pd.concat([part, of_facts], axis=1)
                    yield table
                    first = table["prompt"].iloc[0] if first is None else first
                    is_first = (table["prompt"] == first).to_numpy()
                    headline.append(_numbers(table.assign(item=numbers)[is_first], categories))
                    if not is_first.all():
                        several.append(part[PARAPHRASED])
                if several:
                    add(CONSISTENCY, consistency(pd.concat(several, ignore_index=True)))
            add_tables(headline)
            return_freed_memory()

    def add_tables(headline: list[pd.DataFrame]) -> None:
        told = joined(headline)
        return_freed_memory()
        add(METRICS, summarise_facts(told, seed))
        add(P_AT_K, p_at_k(told))
        add(CORRELATIONS, correlations(told))
        right.add(told)

    def add(name: str, frame: pd.DataFrame) -> None:
        made.setdefault(name, []).append(frame)

    categories = _categories(answered)
    ranks = [pa.field(name, pa.int64()) for name in FILTERED]
    numbers = [pa.field(name, pa.float64()) for name in ("subject_zipf", "object_zipf", "cosine")]
    return_freed_memory()
    write_frames(path, rows(), pa.schema([*schema, *ranks, *numbers]))
    tables = {name: pd.concat(frames, ignore_index=True) for name, frames in made.items()}
    return tables | {MCNEMAR: right.compare()}


def _factors(asked: Sequence[Part]) -> dict[Relation, pd.DataFrame]:
    """Relation -> the properties of its facts, a row each."""
    found: dict[Relation, list[pd.DataFrame]] = {}
    for part in asked:
        subjects = [fact.subject for fact in part.facts]
        objects = [fact.object for fact in part.facts]
        found.setdefault(part.relation, []).append(factors_of(subjects, objects))
    return {relation: pd.concat(parts, ignore_index=True) for relation, parts in found.items()}


def _categories(answered: Sequence[Answered]) -> dict[str, pd.CategoricalDtype]:
    """The types of the columns `NAMES`: a million times the same few texts."""
    relations = [one.relation for one in answered]
    texts = {
        "source": {one.source for one in relations},
        "relation": {one.name for one in relations},
        "type": {one.type for one in relations},
        "model": {one.model for one in answered},
    }
    return {name: pd.CategoricalDtype(sorted(values)) for name, values in texts.items()}


def _numbers(table: pd.DataFrame, types: Mapping[str, pd.CategoricalDtype]) -> pd.DataFrame:
    """What metrics need of a table."""
    kept = table[[*NAMES, "item", "gold_rank", *FILTERED, "gold_score", *FACTORS.values()]]
    small = dict.fromkeys(["item", "gold_rank", *FILTERED, "n_subject_words"], np.int32)
    scores = dict.fromkeys(["gold_score", "best_score"], float)
    return kept.astype({**types, **small, **scores, "n_subject_pieces": np.float32})
