"""Are recognised hyponyms more frequent than unrecognised ones?

After Ravichander et al. (2020, section 3.4): mean frequency of both groups,
Shapiro-Wilk tests of normality and a Kruskal-Wallis test between the groups;
with the effect's size, and accuracy over frequency bands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kruskal, shapiro

from hyperprobe.analysis.corpus_counts import CorpusCounts
from hyperprobe.analysis.outcomes import each_outcome
from hyperprobe.probes.zero_shot.metrics import FREQUENCY_BANDS
from hyperprobe.statistics.intervals import bootstrap_interval

WORDFREQ = "wordfreq"  # occurrences in 10^9 words
PROBES = ("singular", "plural", "contextual", "paired_singular_plural")
COUNT_BANDS = (0, 1, 10, 100, 1000, math.inf)
SHAPIRO_LEAST = 3  # scipy's test needs so many values


def frequency_test(predictions: pd.DataFrame, sources: Sequence[CorpusCounts] = ()) -> pd.DataFrame:
    """One row per (source, diagnostic, model, probe): the two groups and their tests.

    `mean_*` and `median_*` are occurrences (for `wordfreq` per 10^9 words),
    `shapiro_p_*` and `kruskal_p` p-values, `kruskal_h` the statistic.
    `epsilon_squared` is H (n + 1) / (n^2 - 1), 0 to 1 (Kelley 1935; Tomczak &
    Tomczak 2014, "The need to report effect size estimates revisited").
    `superiority` is the chance in percent that a recognised hyponym is more
    frequent than an unrecognised one, ties half (Vargha & Delaney 2000).
    """
    rows = []
    for source, diagnostic, model, table in _with_counts(predictions, sources):
        for probe in PROBES:
            known = table.dropna(subset=[probe, "count"])
            alone = known[probe] == 1  # (where gold ties it is not recognised)
            groups = [known["count"][some].to_numpy(float) for some in (alone, ~alone)]
            if min(map(len, groups)) == 0:
                continue
            row: dict[str, Any] = {"source": source, "diagnostic": diagnostic, "model": model}
            row["probe"] = probe
            for name, values in zip(("recognised", "unrecognised"), groups, strict=True):
                row[f"n_{name}"] = len(values)
                row[f"mean_{name}"] = values.mean()
                row[f"median_{name}"] = float(np.median(values))
                row[f"shapiro_p_{name}"] = _shapiro_p(values)
            rows.append({**row, **_kruskal(*groups)})
    return pd.DataFrame(rows)


def _shapiro_p(values: np.ndarray) -> float:
    if len(values) < SHAPIRO_LEAST or np.ptp(values) == 0:
        return math.nan
    return float(shapiro(values).pvalue)


def _kruskal(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    n = len(first) + len(second)
    if np.ptp(np.concatenate([first, second])) == 0:  # all values equal: nothing to test
        return {"kruskal_h": 0.0, "kruskal_p": 1.0, "epsilon_squared": 0.0, "superiority": 50.0}
    h, p = kruskal(first, second)
    above = (first[:, None] > second).mean() + (first[:, None] == second).mean() / 2
    return {
        "kruskal_h": float(h),
        "kruskal_p": float(p),
        "epsilon_squared": float(h * (n + 1) / (n * n - 1)),
        "superiority": 100 * float(above),
    }


def frequency_curve(
    predictions: pd.DataFrame, sources: Sequence[CorpusCounts] = (), seed: int = 0
) -> pd.DataFrame:
    """Accuracy (percent, with interval) by frequency band: one row per band of each model.

    Bands of `wordfreq` are on the Zipf scale, those of corpora in occurrences;
    `band` is their order, `from` and `to` their ends, [from, to).
    """
    rows = []
    for source, diagnostic, model, table in _with_counts(predictions, sources):
        edges = FREQUENCY_BANDS if source == WORDFREQ else COUNT_BANDS
        value = table["zipf"] if source == WORDFREQ else table["count"]
        bands = np.searchsorted(edges, value.to_numpy(float), side="right") - 1
        for band in range(len(edges) - 1):
            part = table[(bands == band) & value.notna()]
            if part.empty:
                continue
            row = {"source": source, "diagnostic": diagnostic, "model": model, "band": band}
            row |= {"from": edges[band], "to": edges[band + 1], "n_items": len(part)}
            for probe in PROBES:
                right = part[probe].dropna().to_numpy()
                low, high = bootstrap_interval(right, seed=seed)
                row[probe] = 100 * right.mean() if len(right) else math.nan
                row |= {f"{probe}_low": 100 * low, f"{probe}_high": 100 * high}
            rows.append(row)
    return pd.DataFrame(rows)


def _with_counts(
    predictions: pd.DataFrame, sources: Sequence[CorpusCounts]
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """(source, diagnostic, model, outcomes with a `count` column)."""
    for diagnostic, model, table in each_outcome(predictions):
        if table["zipf"].notna().any():
            yield WORDFREQ, diagnostic, model, table.assign(count=10 ** table["zipf"])
        for counts in sources:
            if counts.words is not None and (counts.models is None or model in counts.models):
                found = table["hyponym"].map(counts.words)
                yield counts.source, diagnostic, model, table.assign(count=found)
