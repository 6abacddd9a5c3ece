"""Singular against plural: which items hold in both, and what each form favours.

After Ravichander et al. (2020, section 3.5 and Figure 2).
"""

from __future__ import annotations

import pandas as pd

from hyperprobe.analysis.outcomes import each_model, each_outcome
from hyperprobe.probes.zero_shot.outcomes import SCORE

OUTCOMES = ("both", "singular_only", "plural_only", "neither")
ALL = "all"


def agreement(predictions: pd.DataFrame) -> pd.DataFrame:
    """Percent of items right in both forms, in one only, in neither.

    One row per (diagnostic, model, category), with the category `all` first.
    """
    rows = []
    for diagnostic, model, table in each_outcome(predictions):
        known = table.dropna(subset=["singular", "plural"])
        parts = [(ALL, known), *known.groupby("hypernym", sort=False)]
        for category, part in parts:
            if part.empty:
                continue
            one, many = part["singular"], part["plural"]
            shares = (one * many, one * (1 - many), (1 - one) * many, (1 - one) * (1 - many))
            row = {"diagnostic": diagnostic, "model": model, "category": category}
            row |= {"n_items": len(part)}
            rows.append(row | {k: 100 * v.mean() for k, v in zip(OUTCOMES, shares, strict=True)})
    return pd.DataFrame(rows)


def category_scores(predictions: pd.DataFrame) -> pd.DataFrame:
    """The mean score of each category for the items of each category, in both forms (Figure 2).

    Columns: `diagnostic, model, probe, hypernym, category, n_items, score`, a natural
    log-probability for language models and a cosine for vectors.
    """
    rows = []
    for diagnostic, model, own in each_model(predictions):
        columns = [c for c in own.columns if c.startswith(SCORE) and own[c].notna().any()]
        closed = own[own["probe"].isin(("singular", "plural"))]
        for (probe, hypernym), part in closed.groupby(["probe", "hypernym"], sort=False):
            row = {"diagnostic": diagnostic, "model": model, "probe": probe, "hypernym": hypernym}
            for column in columns:
                rows.append(
                    row
                    | {
                        "category": column.removeprefix(SCORE),
                        "n_items": len(part),
                        "score": part[column].mean(),
                    }
                )
    return pd.DataFrame(rows)
