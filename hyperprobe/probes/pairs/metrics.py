"""Predictions of pairs -> detection, direction and graded entailment, with intervals and chance.

As hypernymysuite computes them (Roller et al. 2018): in detection, what a scorer does not know
is scored like the lowest of the known pairs of the val fold; for Spearman's correlation, like
the median of the known pairs of the train fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from hyperprobe.names import CHANCE
from hyperprobe.probes.pairs.thresholds import threshold_accuracy
from hyperprobe.progress import progress
from hyperprobe.statistics.clusters import bootstrap_over
from hyperprobe.statistics.intervals import wilson_interval
from hyperprobe.statistics.ranks import more
from hyperprobe.statistics.weighted import (
    Statistic,
    average_precision,
    bootstrap,
    of_random_scores,
    spearman,
)

ALL = "all"
RANDOM_SCORES = "random"  # the measure of chance
FOLDS = ("train", "val", "test")

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
NAN = float("nan")


class Ranked(NamedTuple):
    """A metric of all scores together: what makes it from scores and gold, and what stands for
    the score of an unknown pair, `of` the known ones `within` a fold."""

    name: str
    gold: str  # the field of `Pairs` that it is about
    make: Callable[[ArrayLike, ArrayLike], Statistic]
    scale: float
    within: str
    of: Callable[[Floats], Any]


RANKED = (
    Ranked("ap", "positive", average_precision, 100.0, "val", np.min),
    Ranked("rho", "graded", spearman, 1.0, "train", np.median),
)


class Pairs:
    """The pairs of one set under one measure of one model, as arrays [n]."""

    def __init__(self, part: pd.DataFrame) -> None:
        self.hyponym = part["hyponym"].to_numpy(str)
        self.label, self.graded, self.score, self.reverse = (
            part[name].to_numpy(float) for name in ("label", "graded", "score", "reverse")
        )
        self.known = part["known"].to_numpy(bool)
        self.fold = part["fold"].to_numpy(str)
        self.labelled = ~np.isnan(self.label)
        self.positive = np.where(self.labelled, self.label == 1, np.nan)
        self.directed = self.labelled & (self.label != 0)

    def folds(self) -> Iterator[tuple[str, Booleans]]:
        """The folds of the set and their rows, all pairs last."""
        for fold in FOLDS:
            if (inside := self.fold == fold).any():
                yield fold, inside
        yield ALL, np.ones(len(self.fold), dtype=bool)

    def has_both(self) -> bool:
        """Whether some pairs are hypernymy and some are not."""
        return bool((self.label == 1).any() and (self.label == 0).any())


def summarise(predictions: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row for each set, model, measure and fold; the model `chance` knows nothing."""
    rows: list[dict[str, Any]] = []
    parts = dict(list(predictions.groupby(["diagnostic", "model", "measure"], sort=False)))
    with progress("intervals", len(parts)) as advance:
        for diagnostic in predictions["diagnostic"].unique():
            of_set = {key[1:]: Pairs(part) for key, part in parts.items() if key[0] == diagnostic}
            first = next(iter(of_set.values()))
            about = {"diagnostic": diagnostic, "model": CHANCE, "measure": RANDOM_SCORES}
            rows += [about | row for row in chance_rows(first, seed)]
            for (model, measure), pairs in of_set.items():
                about = {"diagnostic": diagnostic, "model": model, "measure": measure}
                rows += [about | row for row in metric_rows(pairs, seed)]
                advance(1)
    return pd.DataFrame(rows)


def metric_rows(pairs: Pairs, seed: int) -> Iterator[dict[str, Any]]:
    """The metrics of one model under one measure, fold by fold."""
    for fold, inside in pairs.folds():
        row = _counts(pairs, fold, inside)
        for ranked in RANKED:
            row |= _ranked_columns(pairs, ranked, inside, seed)
        row |= _direction_columns(pairs, inside & pairs.directed, seed)
        if fold == ALL and pairs.has_both():
            row |= _accuracy_columns(pairs, seed)
        yield row


def _counts(pairs: Pairs, fold: str, inside: Booleans) -> dict[str, Any]:
    gold = pairs.positive[inside & pairs.labelled]
    return {
        "fold": fold,
        "n_pairs": int(inside.sum()),
        "n_known": int((inside & pairs.known).sum()),
        "positives": 100 * float(gold.mean()) if len(gold) else NAN,
    }


def _ranked_columns(pairs: Pairs, ranked: Ranked, inside: Booleans, seed: int) -> dict[str, float]:
    """The metric with its interval, and of the known pairs alone."""
    gold = getattr(pairs, ranked.gold)
    score = filled(pairs, ranked)
    asked = inside & ~np.isnan(gold)
    statistic = ranked.make(score[asked], gold[asked])
    value = statistic(np.ones(asked.sum())) if asked.any() else NAN
    low, high = (NAN, NAN) if np.isnan(value) else bootstrap(statistic, pairs.hyponym[asked], seed)
    asked &= pairs.known
    of_known = ranked.make(score[asked], gold[asked])(np.ones(asked.sum())) if asked.any() else NAN
    names = ("", "_low", "_high", "_known")
    values = (value, low, high, of_known)
    return {f"{ranked.name}{n}": ranked.scale * v for n, v in zip(names, values, strict=True)}


def filled(pairs: Pairs, ranked: Ranked) -> Floats:
    """The scores, with what stands for those of unknown pairs; over all known pairs where the
    fold has none, and zeros for a scorer that knows no pair."""
    among = pairs.known & (pairs.fold == ranked.within)
    among = among if among.any() else pairs.known
    return np.where(pairs.known, pairs.score, ranked.of(pairs.score[among]) if among.any() else 0.0)


def _direction_columns(pairs: Pairs, asked: Booleans, seed: int) -> dict[str, float]:
    """Of hypernyms, percent that score higher than the pair turned round.

    `direction` counts a half where the two are equal or not known, so that chance is 50;
    `direction_strict` counts these as wrong, as hypernymysuite does; `direction_tied` says how
    many they are.
    """
    row: dict[str, float] = {"n_directed": int(asked.sum())}
    if not asked.any():
        return row
    turned = pairs.label[asked] == -1
    one, other = pairs.score[asked], pairs.reverse[asked]
    right, wrong = np.where(turned, other, one), np.where(turned, one, other)
    comparable = ~np.isnan(right) & ~np.isnan(wrong)
    outcome = np.where(comparable, more(right, wrong), 0.5)
    low, high = bootstrap_over(outcome, pairs.hyponym[asked], seed)
    known = outcome[pairs.known[asked]]
    values = {
        "direction": outcome.mean(),
        "direction_low": low,
        "direction_high": high,
        "direction_strict": (outcome == 1).mean(),
        "direction_strict_known": (known == 1).mean() if len(known) else NAN,
        "direction_tied": (outcome == 0.5).mean(),
    }
    return row | {name: 100 * float(value) for name, value in values.items()}


def _accuracy_columns(pairs: Pairs, seed: int) -> dict[str, float]:
    """Percent right with a threshold, of the pairs that are known; the interval is over hyponyms,
    of how often each pair is right."""
    asked = pairs.known & pairs.labelled
    label = pairs.label[asked]
    reverse = pairs.reverse[asked] if (pairs.label == -1).any() else None
    mean, of_pair = threshold_accuracy(pairs.score[asked], label, reverse)
    low, high = bootstrap_over(of_pair, pairs.hyponym[asked], seed)
    return {"accuracy": 100 * mean, "accuracy_low": 100 * low, "accuracy_high": 100 * high}


def chance_rows(pairs: Pairs, seed: int) -> Iterator[dict[str, Any]]:
    """What random scores get: the mean, and the middle 95 %; of accuracy, what the commonest
    answer gets."""
    for fold, inside in pairs.folds():
        row = _counts(pairs, fold, inside) | {"n_known": int(inside.sum())}
        for ranked in RANKED:
            gold = getattr(pairs, ranked.gold)
            values = _by_chance(ranked, gold[inside & ~np.isnan(gold)], seed)
            names = (ranked.name, f"{ranked.name}_low", f"{ranked.name}_high")
            row |= {n: ranked.scale * v for n, v in zip(names, values, strict=True)}
        if n := int((inside & pairs.directed).sum()):
            low, high = wilson_interval(0.5, n)
            row |= {"n_directed": n, "direction": 50.0, "direction_strict": 50.0}
            row |= {"direction_low": 100 * low, "direction_high": 100 * high}
            row["direction_tied"] = 0.0
        if fold == ALL and pairs.has_both():
            counts = np.unique(pairs.label[pairs.labelled], return_counts=True)[1]
            row["accuracy"] = 100 * float(counts.max() / counts.sum())
        yield row


def _by_chance(ranked: Ranked, gold: Floats, seed: int) -> tuple[float, float, float]:
    if len(np.unique(gold)) < 2:
        return NAN, NAN, NAN
    mean, low, high = of_random_scores(ranked.make, gold, seed)
    return (0.0 if ranked.make is spearman else mean), low, high  # (of a correlation it is known)
