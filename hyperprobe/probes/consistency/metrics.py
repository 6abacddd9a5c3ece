"""The numbers of the consistency probes, from the outcomes of their questions alone.

Outcomes are averaged over the questions of a noun first, so that each noun counts once. All
shares are calibrated, in percent, unless they are called raw.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp

from hyperprobe.names import CONTROL
from hyperprobe.probes.consistency.outcomes import TRANSITIVITY, TYPICALITY
from hyperprobe.statistics.clusters import interval_over_clusters
from hyperprobe.statistics.columns import paired_columns, share_columns
from hyperprobe.statistics.intervals import fisher_interval
from hyperprobe.statistics.stratified import with_holm

# The probes that are about each noun, in the order of the tables.
PROBES = (
    "wordings", "levels", TRANSITIVITY, "direction", "siblings", "negation", "inheritance",
)  # fmt: skip
# Its premises hold for few nouns, so that it says nothing of most.
OF_EACH_NOUN = tuple(probe for probe in PROBES if probe != TRANSITIVITY)
# The noun alone can be asked these.
CONTROLLED = ("wordings", "levels", "direction", "siblings")
NOUN = ["diagnostic", "model", "probe", "item"]


def noun_table(asked: pd.DataFrame) -> pd.DataFrame:
    """One row for each noun and probe: the mean `raw`, `calibrated` and `chance` over its
    `n_questions`, whether it is right in `all` of them, and whether all are `unscored`.

    Of the comparisons of negation, a model's harder one counts.
    """
    counted = asked[asked["probe"].isin(PROBES) & ~_is_easier(asked)]
    grouped = counted.groupby(NOUN, sort=False)
    table = grouped[["raw", "calibrated", "chance"]].mean()
    table["all"] = (grouped["calibrated"].min() == 1).astype(float)
    table["n_questions"] = grouped.size()
    table["unscored"] = grouped["unscored"].all()
    about = grouped[["hypernym", "synset"]].first()
    return about.join(table).reset_index()


def _is_easier(asked: pd.DataFrame) -> pd.Series:
    """Which rows are of a comparison of negation in which the model is right more often."""
    rows = asked[asked["probe"] == "negation"]
    share = rows.groupby(["diagnostic", "model", "question"], sort=False)["calibrated"].mean()
    hardest = set(share.groupby(["diagnostic", "model"], sort=False).idxmin())
    keys = zip(rows["diagnostic"], rows["model"], rows["question"], strict=True)
    easier = pd.Series([key not in hardest for key in keys], index=rows.index, dtype=bool)
    return easier.reindex(asked.index, fill_value=False)


def profile(nouns: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row for each (diagnostic, model, probe): what is right beside what needs no knowledge.

    Over `n_items` nouns; `n_unasked` others of the set have nothing to ask, and `n_unscored` count
    as wrong, since the model has no score for them. `calibrated` is the mean over nouns, `raw` the
    same without calibration, `all` the share of nouns that are right in all questions of the
    probe. `chance` is what a guess scores, `noun_alone` the control prompt where it can be asked
    (NaN elsewhere). `adds` is `calibrated` less the higher of the two, noun by noun, with its
    interval over synsets and over categories, the `p_value` of a t test and `p_holm`, adjusted for
    all rows of the set.
    """
    rows = []
    for diagnostic, of_set in nouns.groupby("diagnostic", sort=False):
        for model, of_model in of_set.groupby("model", sort=False):
            of_control = of_set[of_set["model"] == f"{CONTROL}{model}"]
            n_nouns = of_model["item"].nunique()
            for probe in PROBES:
                part = of_model[of_model["probe"] == probe].set_index("item")
                if part.empty:
                    continue
                control = of_control[of_control["probe"] == (probe if probe in CONTROLLED else "")]
                alone = control.set_index("item")["calibrated"].reindex(part.index)
                row: dict[str, Any] = {"diagnostic": diagnostic, "model": model, "probe": probe}
                row["n_unasked"] = n_nouns - len(part)
                rows.append(row | _share(part, alone, seed))
    return with_holm(pd.DataFrame(rows))


def _share(part: pd.DataFrame, alone: pd.Series, seed: int) -> dict[str, Any]:
    chance = part["chance"]
    harder = alone if alone.mean() > chance.mean() else chance
    difference = (part["calibrated"] - harder).to_numpy(float)
    over = interval_over_clusters(difference, part["hypernym"], differences=True)
    return {
        "n_items": len(part),
        "n_questions": int(part["n_questions"].sum()),
        "n_unscored": int(part["unscored"].sum()),
        "raw": 100 * part["raw"].mean(),
        **share_columns("calibrated", part["calibrated"]),
        **share_columns("all", part["all"]),
        "chance": 100 * chance.mean(),
        "noun_alone": 100 * alone.mean(),
        **paired_columns("adds", difference, part["synset"], seed),
        "adds_categories_low": 100 * over.low,
        "adds_categories_high": 100 * over.high,
        "p_value": _p_value(difference),
    }


def _p_value(differences: Any) -> float:
    """Two-sided, of a mean of zero; a constant that is not zero has 0."""
    if len(differences) < 2:
        return float("nan")
    if np.ptp(differences) < 1e-12:
        return float(abs(differences[0]) < 1e-12)
    return float(ttest_1samp(differences, 0.0).pvalue)


def level_curve(asked: pd.DataFrame) -> pd.DataFrame:
    """One row for each (diagnostic, model, distance): `calibrated` with its interval, `chance`
    and `noun_alone`, at so many steps above the noun, over `n_items` nouns."""
    levels = asked[asked["probe"] == "levels"]
    rows = []
    for diagnostic, of_set in levels.groupby("diagnostic", sort=False):
        for model, part in of_set.groupby("model", sort=False):
            control = of_set[of_set["model"] == f"{CONTROL}{model}"]
            for distance, at in part.groupby("distance"):
                alone = control[control["distance"] == distance]["calibrated"]
                rows.append(
                    {
                        "diagnostic": diagnostic,
                        "model": model,
                        "distance": int(float(str(distance))),
                        "n_items": len(at),
                        **share_columns("calibrated", at["calibrated"]),
                        "chance": 100 * at["chance"].mean(),
                        "noun_alone": 100 * alone.mean() if len(alone) else np.nan,
                    }
                )
    return pd.DataFrame(rows)


def typicality(asked: pd.DataFrame) -> pd.DataFrame:
    """One row for each (diagnostic, model, category) and for all categories together, `category`
    "all": how the calibrated margin goes with what people say (Rosch 1975).

    `spearman` is positive where more typical words have wider margins, `given_frequency` the same
    with the word's frequency held constant, and `frequency` that of frequency itself: frequent
    words are typical. Together, ranks are taken within categories. Over the `n_items` words with
    a margin; intervals by Fisher's transformation.
    """
    rated = asked[(asked["probe"] == TYPICALITY) & asked["margin"].notna()]
    rows = []
    for (diagnostic, model), part in rated.groupby(["diagnostic", "model"], sort=False):
        ranked = part[["margin", "zipf"]].assign(typical=-part["rating"], category=part["hypernym"])
        ranks = ranked.groupby("category")[["margin", "zipf", "typical"]].rank()
        ranks -= ranks.groupby(ranked["category"]).transform("mean")
        groups = {str(c): ranks[ranked["category"] == c] for c in ranked["category"].unique()}
        for category, of_category in {"all": ranks, **groups}.items():
            about = {"diagnostic": diagnostic, "model": model, "category": category}
            n_groups = len(groups) if category == "all" else 1
            rows.append(about | _typicality(of_category, n_groups))
    return pd.DataFrame(rows)


def _typicality(ranks: pd.DataFrame, n_groups: int) -> dict[str, float]:
    with_typical = ranks.corr()["typical"]
    both = float(ranks["margin"].corr(ranks["zipf"]))
    margin, zipf = float(with_typical["margin"]), float(with_typical["zipf"])
    with np.errstate(invalid="ignore", divide="ignore"):
        given = (margin - zipf * both) / np.sqrt((1 - zipf**2) * (1 - both**2))
    n = len(ranks) - (n_groups - 1)
    row: dict[str, float] = {"n_items": len(ranks)}
    for name, value, known in (("spearman", margin, 0), ("given_frequency", given, 1)):
        low, high = fisher_interval(float(value), n - known)
        row |= {name: float(value), f"{name}_low": low, f"{name}_high": high}
    return row | {"frequency": zipf}
