"""McNemar's tests of P@1 between models on the same facts, taken in one model after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.probes.lama.metrics import FILTERED, GROUPS, RAW, by_model, hits
from hyperprobe.statistics.intervals import mcnemar_exact
from hyperprobe.statistics.pairs import pairs_compared
from hyperprobe.statistics.stratified import with_holm

COLUMNS = ["source", "ranking", "model", "other", "only_model", "only_other", "p_value"]
NOT_ASKED = -1


@dataclass(frozen=True)
class _Right:
    """What one model has right: its P@1 as a share, and 1, 0 or `NOT_ASKED` for each fact of a
    relation, by the fact's number."""

    share: float
    facts: Mapping[str, NDArray[np.int8]]


@dataclass(frozen=True)
class RightFacts:
    """Which facts each model has right: a byte for each fact and ranking, so that millions fit."""

    _of: dict[tuple[str, str], dict[str, _Right]] = field(default_factory=dict)

    def add(self, predictions: pd.DataFrame) -> None:
        """The answers of one model or more: in the column `item` the number of the fact among
        those of its relation. A gold object that ties in the filtered ranking is not right."""
        for source, model, of_model in by_model(predictions):
            numbers = of_model["item"].to_numpy()
            rows_of = of_model.groupby("relation", **GROUPS).indices
            for ranking in (RAW, FILTERED):
                share = hits(of_model, ranking, 1)
                facts = {}
                for relation, rows in rows_of.items():
                    facts[relation] = np.full(numbers[rows].max() + 1, NOT_ASKED, np.int8)
                    facts[relation][numbers[rows]] = share[rows] == 1
                right = _Right(float(share.mean()), facts)
                self._of.setdefault((source, ranking), {})[model] = right

    def compare(self) -> pd.DataFrame:
        """Exact McNemar tests of P@1 between two models (`pairs_compared`: the best is that with
        the highest P@1), over all facts of a source that both were asked: a baseline may lack a
        relation. `p_holm` is adjusted over all tests of a source.
        """
        rows = []
        for (source, ranking), of in self._of.items():
            shares = {model: right.share for model, right in of.items()}
            for first, second in pairs_compared(list(of), shares.__getitem__):
                outcomes = _both(of[first].facts, of[second].facts)
                rows.append((source, ranking, first, second, *mcnemar_exact(*outcomes)))
        return with_holm(pd.DataFrame(rows, columns=COLUMNS), "source")


def _both(
    first: Mapping[str, NDArray[np.int8]], second: Mapping[str, NDArray[np.int8]]
) -> NDArray[np.int8]:
    """The outcomes [2, n_facts] of the facts that both were asked."""
    found = [np.zeros((2, 0), np.int8)]
    for relation in first.keys() & second.keys():
        n = min(len(first[relation]), len(second[relation]))
        pair = np.stack([first[relation][:n], second[relation][:n]])
        found.append(pair[:, (pair != NOT_ASKED).all(axis=0)])
    return np.concatenate(found, axis=1)
