"""How much of a score is the noun, how much the wording of the question? (Brennan 2001)"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

RELIABLE = 0.8


class Generalisability(NamedTuple):
    """Variance components of outcomes of nouns x wordings, and what follows from them.

    `category`, `noun` (within categories), `wording` and `residual` (noun by wording, and
    chance) are variances; `coefficient` is the generalisability coefficient over the wordings
    asked, which for this design is Cronbach's alpha; `n_needed` the number of wordings for a
    coefficient of 0.8, infinite when nouns do not differ.
    """

    category: float
    noun: float
    wording: float
    residual: float
    coefficient: float
    n_needed: float


def generalisability(outcomes: ArrayLike, categories: ArrayLike) -> Generalisability:
    """The components of `outcomes` [n_nouns, n_wordings], nouns nested in `categories` [n_nouns].

    Estimated from mean squares (Brennan 2001, sections 2.4 and 3.4; unequal categories as in
    Searle, Casella & McCulloch 1992, section 3.6); a negative estimate counts as 0. NaN for
    fewer than two nouns or wordings.
    """
    table = np.asarray(outcomes, dtype=float)
    n, k = table.shape
    if n < 2 or k < 2:
        return Generalisability(*[float("nan")] * 6)
    grand = table.mean()
    of_noun, of_wording = table.mean(axis=1), table.mean(axis=0)
    residual_square = ((table - of_noun[:, None] - of_wording + grand) ** 2).sum() / (
        (n - 1) * (k - 1)
    )
    noun_square = k * ((of_noun - grand) ** 2).sum() / (n - 1)
    wording_square = n * ((of_wording - grand) ** 2).sum() / (k - 1)
    between_nouns = max(0.0, (noun_square - residual_square) / k)
    category, noun = _nested(of_noun, np.asarray(categories, dtype=str), residual_square / k)
    coefficient = 1 - residual_square / noun_square if noun_square > 0 else float("nan")
    needed = (
        RELIABLE / (1 - RELIABLE) * residual_square / between_nouns if between_nouns else math.inf
    )
    return Generalisability(
        category,
        noun,
        max(0.0, float(wording_square - residual_square) / n),
        float(residual_square),
        float(coefficient),
        float(needed),
    )


def _nested(
    means: NDArray[np.float64], categories: NDArray[np.str_], error: float
) -> tuple[float, float]:
    """Variances of categories, and of nouns within them less `error`, from the nouns' means."""
    names, category_of = np.unique(categories, return_inverse=True)
    sizes = np.bincount(category_of).astype(float)
    n, g = len(means), len(names)
    if g < 2 or n <= g:
        return 0.0, max(0.0, float(means.var(ddof=1)) - error)
    of_category = np.bincount(category_of, means) / sizes
    within = float(((means - of_category[category_of]) ** 2).sum()) / (n - g)
    between = float((sizes * (of_category - means.mean()) ** 2).sum()) / (g - 1)
    size = (n - float((sizes**2).sum()) / n) / (g - 1)
    return max(0.0, (between - within) / size), max(0.0, within - error)
