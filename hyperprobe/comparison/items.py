"""Outcomes of single items, from the predictions of a run: what two models share is paired.

An outcome frame has the columns of `metrics.csv` that choose its rows, a `stratum` (rows of
`metrics.csv` that are means over relations or folds weigh each the same), the `item`, and one
column for each metric, in the unit of `metrics.csv`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.probes.classify.metrics import NET, PAIR
from hyperprobe.probes.lama.metrics import (
    FILTERED,
    MACRO,
    MICRO,
    RAW,
    TYPES,
    add_filtered_rank,
    hits,
    reciprocal_ranks,
)
from hyperprobe.runs.read import FinishedRun
from hyperprobe.statistics.intervals import interval, mcnemar_exact, resampled_means
from hyperprobe.statistics.ranks import more

PREDICTIONS = "predictions.parquet"
SAME, SEPARATE = "same", "separate"
FACT = ("item", "subject", "gold")


@dataclass(frozen=True)
class Command:
    """How a command's predictions become outcomes.

    `words` are the columns that choose rows, `shares` the metrics that are yes or no for an
    item, in percent, and so can be tested.
    """

    words: tuple[str, ...]
    shares: tuple[str, ...]
    outcomes: Callable[[pd.DataFrame], pd.DataFrame]


def of_facts(predictions: pd.DataFrame) -> pd.DataFrame:
    """Outcomes of LAMA's facts, in both rankings."""
    ranked = add_filtered_rank(predictions)
    return pd.concat(
        [
            _facts(ranked).assign(
                ranking=ranking,
                p_at_1=100 * hits(ranked, ranking, 1),
                p_at_10=100 * hits(ranked, ranking, 10),
                mrr=reciprocal_ranks(ranked, ranking),
            )
            for ranking in (RAW, FILTERED)
        ],
        ignore_index=True,
    )


def of_prompts(predictions: pd.DataFrame) -> pd.DataFrame:
    """Outcomes of the test facts of a prompt search, in the raw ranking."""
    return _facts(predictions).assign(
        p_at_1=100.0 * (hits(predictions, RAW, 1) == 1), mrr=reciprocal_ranks(predictions, RAW)
    )


def _facts(predictions: pd.DataFrame) -> pd.DataFrame:
    items = list(zip(*(predictions[name] for name in FACT), strict=True))
    return predictions.assign(stratum=predictions["relation"], item=items)


def of_pairs(predictions: pd.DataFrame) -> pd.DataFrame:
    """Outcomes of the classifiers' test pairs, each the mean over seeds."""
    asked = predictions[
        (predictions["layer"] == "")
        & (predictions["classifier"] == NET)
        & (predictions["question"] == PAIR)
    ]
    right = 1 - (asked["label"] - more(asked["log_odds"], 0)).abs()
    keys = ["setting", "model", "input", "fold", "hyponym", "hypernym"]
    table = asked.assign(accuracy_mean=100 * right).groupby(keys, sort=False)["accuracy_mean"]
    means = table.mean().reset_index().rename(columns={"fold": "stratum"})
    items = list(zip(means["hyponym"], means["hypernym"], strict=True))
    return means.assign(item=items)


COMMANDS: dict[str, Command] = {
    "lama": Command(("source", "model", "ranking"), ("p_at_1", "p_at_10"), of_facts),
    "prompts": Command(("source", "model", "method", "control"), ("p_at_1",), of_prompts),
    "classify": Command(("setting", "model", "input"), ("accuracy_mean",), of_pairs),
}


@dataclass(frozen=True)
class Items:
    """The outcomes of the items of some runs of one command, by run (the folder's name)."""

    command: Command
    frames: Mapping[str, pd.DataFrame]
    seed: int = 0
    _resampled: dict[Hashable, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def of(cls, command: str, runs: Mapping[str, FinishedRun], seed: int = 0) -> Items:
        """Of the runs that have predictions, of a command whose items are known here."""
        known = COMMANDS.get(command, Command((), (), lambda predictions: predictions))
        frames = {}
        if known.words:
            for name, run in runs.items():
                if run.has(PREDICTIONS):
                    frames[name] = known.outcomes(run.table(PREDICTIONS))
        return cls(known, frames, seed)

    def compare(self, a: Mapping[str, Any], b: Mapping[str, Any], metric: str) -> dict[str, Any]:
        """What two rows of `metrics.csv` (each with its `run`) have of a metric, item by item.

        Where both were asked the same items: the interval of the difference, by the bootstrap
        over items in each stratum; `p_value`, McNemar's exact test over all items; `n_items`
        and `n_other`. Otherwise only that the items are separate. Nothing where the items are
        not known.
        """
        first, second = (self._rows(row, metric) for row in (a, b))
        if first is None or second is None:
            return {}
        counts = {"n_items": len(first), "n_other": len(second)}
        if set(first.index) != set(second.index):
            return {"items": SEPARATE, **counts}
        second = second.reindex(first.index)
        difference = first - second
        key = (*(row[w] for row in (a, b) for w in ("run", *self.command.words)), metric)
        low, high = interval(self._resample(difference, a, key))
        p = mcnemar_exact(first / 100, second / 100)[2] if metric in self.command.shares else np.nan
        return {
            "items": SAME, "difference_low": low, "difference_high": high, "p_value": p, **counts
        }  # fmt: skip

    def _rows(self, row: Mapping[str, Any], metric: str) -> pd.Series | None:
        """(stratum, item) -> the outcome of the items of a row of `metrics.csv`."""
        frame = self.frames.get(row["run"])
        if frame is None or metric not in frame:
            return None
        chosen = np.ones(len(frame), bool)
        for word in self.command.words:
            chosen &= (frame[word].fillna("") == _word(row[word])).to_numpy()
        relation = row.get("relation", MACRO)
        if relation in TYPES:
            chosen &= (frame["type"] == relation).to_numpy()
        elif relation not in (MACRO, MICRO):
            chosen &= (frame["stratum"] == relation).to_numpy()
        rows = frame[chosen]
        values = rows.set_index(["stratum", "item"])[metric]
        return values if len(values) and values.index.is_unique else None

    def _resample(
        self, difference: pd.Series, row: Mapping[str, Any], key: tuple[Hashable, ...]
    ) -> NDArray[np.float64]:
        """Bootstrapped means [n_resamples] of the difference, as the row's metric is a mean."""
        if row.get("relation") == MICRO:
            return resampled_means(difference, self.seed)
        means = []
        for i, (stratum, part) in enumerate(difference.groupby(level="stratum", sort=False)):
            cached = (*key, stratum, i)
            if cached not in self._resampled:
                self._resampled[cached] = resampled_means(part, self.seed + i)
            means.append(self._resampled[cached])
        return np.mean(means, axis=0)  # type: ignore[no-any-return]


def _word(value: Any) -> Any:
    """A cell of `metrics.csv`, where nothing is an empty text."""
    return "" if value is None or value != value else value
