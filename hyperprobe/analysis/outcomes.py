"""Per-item outcomes of every model of a run, the one input of most analyses."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hyperprobe.names import MAJORITY, RANDOM
from hyperprobe.probes.zero_shot.outcomes import outcome_table


def each_model(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, its predictions) for all but the majority baseline, in order."""
    for (diagnostic, model), own in predictions.groupby(["diagnostic", "model"], sort=False):
        if model != MAJORITY:
            yield str(diagnostic), str(model), own


def each_outcome(predictions: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(diagnostic, model, outcomes): the outcomes with `hyponym`, `hypernym` and `zipf` added."""
    for diagnostic, model, own in each_model(predictions):
        right = outcome_table(own)
        items = own.drop_duplicates("item").set_index("item").reindex(right.index)
        yield diagnostic, model, right.join(items[["hyponym", "hypernym", "zipf"]])


def is_baseline(model: str) -> bool:
    """Whether a model's name is that of a control rather than of a subject."""
    return model == MAJORITY or model.startswith(("control:", "shuffled:", RANDOM))
