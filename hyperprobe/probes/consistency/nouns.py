"""Noun by noun over all probes: what is known through and through, and how the probes agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.predictions import of_items
from hyperprobe.probes.consistency.metrics import OF_EACH_NOUN
from hyperprobe.probes.consistency.outcomes import PLAIN
from hyperprobe.statistics.generalisability import generalisability
from hyperprobe.statistics.intervals import fisher_interval


def known_nouns(nouns: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """One row for each noun that was asked in every probe of its model.

    `right_in` of its `n_probes` it is right in every question; `mean` is its mean share over the
    probes, in percent, and `chance` what a guess scores. `known` through and through is right in
    all of them; `lucky` is right when asked plainly, though its mean is no better than chance.
    """
    plain = asked[(asked["probe"] == "wordings") & (asked["question"] == PLAIN)]
    rows = []
    for about, table in _by_noun(nouns):
        mine = plain[(plain[list(about)] == pd.Series(about)).all(axis=1)].set_index("item")
        shares, chance = (100 * table[name].mean(axis=1) for name in ("calibrated", "chance"))
        n, right_in = table["all"].shape[1], table["all"].sum(axis=1).astype(int)
        is_right = mine["calibrated"].reindex(shares.index) == 1
        rows.append(
            pd.DataFrame(
                {
                    **about,
                    "item": shares.index,
                    "hypernym": table["hypernym"].to_numpy(),
                    "n_probes": n,
                    "right_in": right_in,
                    "mean": shares,
                    "chance": chance,
                    "known": right_in == n,
                    "lucky": is_right & (shares <= chance),
                }
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def summary(nouns: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """One row for each (diagnostic, model): of `n_items` nouns asked in all `n_probes`, how many
    are `n_known` through and through, how many would be if the probes went their own ways within
    categories (`n_expected`), and how many are `n_lucky`.

    `generalisability` says how well the mean over the probes ranks nouns as other probes would;
    `share_noun` and `share_probe` are parts of the variance, in percent (Brennan 2001).
    """
    rows = []
    for about, table in _by_noun(nouns):
        mine = known[(known[list(about)] == pd.Series(about)).all(axis=1)]
        categories = table["hypernym"].to_numpy(str)
        parts = generalisability(table["calibrated"].to_numpy(), categories)
        variances = (parts.category, parts.noun, parts.wording, parts.residual)
        total = sum(variances)
        of_category = table["all"].groupby(categories)
        expected = (of_category.mean().prod(axis=1) * of_category.size()).sum()
        rows.append(
            {
                **about,
                "n_items": len(mine),
                "n_probes": table["all"].shape[1],
                "n_known": int(mine["known"].sum()),
                "n_expected": float(expected),
                "n_lucky": int(mine["lucky"].sum()),
                "generalisability": parts.coefficient,
                "share_noun": 100 * parts.noun / total if total else np.nan,
                "share_probe": 100 * parts.wording / total if total else np.nan,
            }
        )
    return pd.DataFrame(rows)


def agreement(nouns: pd.DataFrame) -> pd.DataFrame:
    """One row for each (diagnostic, model) and pair of probes: the `correlation` of a noun's share
    in one with its share in the other, within categories, with its interval; NaN where a probe has
    the same outcome for all nouns. Over the nouns that both ask."""
    rows = []
    for (diagnostic, model), part in nouns.groupby(["diagnostic", "model"], sort=False):
        shares = part.pivot_table("calibrated", "item", "probe")
        category = of_items(part, "hypernym")["hypernym"].reindex(shares.index)
        for first, second in combinations([p for p in OF_EACH_NOUN if p in shares], 2):
            both = shares[[first, second]].dropna()
            of_category = category.reindex(both.index)
            within = both - both.groupby(of_category).transform("mean")
            spread = bool((within.abs().max() > 1e-9).all())
            r = float(within[first].corr(within[second])) if spread else float("nan")
            low, high = fisher_interval(r, len(both) - of_category.nunique() + 1)
            rows.append(
                {
                    "diagnostic": diagnostic,
                    "model": model,
                    "probe": first,
                    "other": second,
                    "n_items": len(both),
                    "correlation": r,
                    "correlation_low": low,
                    "correlation_high": high,
                }
            )
    return pd.DataFrame(rows)


def _by_noun(nouns: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """For each (diagnostic, model) of several probes: tables [nouns, probes] of the nouns that all
    of its probes ask, as `calibrated`, `all` and `chance`, and their `hypernym`."""
    counted = nouns[nouns["probe"].isin(OF_EACH_NOUN)]
    for (diagnostic, model), part in counted.groupby(["diagnostic", "model"], sort=False):
        if part["probe"].nunique() < 2:
            continue
        wide = part.pivot_table(["calibrated", "all", "chance"], "item", "probe").dropna()
        if wide.empty:
            continue
        names = of_items(part, "hypernym")["hypernym"]
        tables = {name: wide[name] for name in ("calibrated", "all", "chance")}
        about = {"diagnostic": str(diagnostic), "model": str(model)}
        yield about, {**tables, "hypernym": names.reindex(wide.index)}
