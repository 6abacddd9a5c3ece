"""How often paraphrases of a prompt agree, after ParaRel (Elazar et al. 2021)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

VOWELS = tuple("aeiou")


def article_fits(pattern: str, answer: str) -> bool:
    """Whether `a` or `an` before the slot of a pattern suits the right answer.

    As in ParaRel's code: the word before the one that holds [Y] is looked at, in lower case
    alone, and the first letter of the answer (`a university` does not fit).
    """
    before = pattern.partition("[Y]")[0].split(" ")[:-1]
    starts_with_vowel = answer.lower().startswith(VOWELS)
    return before[-1:] != (["a"] if starts_with_vowel else ["an"])


def consistency(predictions: pd.DataFrame) -> pd.DataFrame:
    """One row per (source, relation, model) that was asked by several patterns.

    `n_patterns`; `p_at_1` over the (fact, pattern) whose article fits the right answer;
    `consistency`, the percentage of (fact, pair of patterns) with the same answer, of patterns
    whose article fits; `consistent_p_at_1`, the percentage of facts that every pattern has right,
    whatever its article. NaN where nothing fits. As ParaRel's code counts (Elazar et al. 2021,
    section 4.2).
    """
    rows = []
    keys = ["source", "relation", "model"]
    for key, part in predictions.groupby(keys, sort=False):
        fitting = [article_fits(*pair) for pair in zip(part["prompt"], part["gold"], strict=True)]
        table = part.assign(fits=fitting).pivot(index="item", columns="prompt")
        answers, fits = table["best"].to_numpy(), table["fits"].to_numpy(dtype=bool)
        right = table["gold_rank"].to_numpy() == 1
        n = answers.shape[1]
        if n < 2:
            continue
        pairs = list(combinations(range(n), 2))
        same = np.stack([answers[:, i] == answers[:, j] for i, j in pairs])
        both = np.stack([fits[:, i] & fits[:, j] for i, j in pairs])
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                "n_patterns": n,
                "n_facts": len(answers),
                "p_at_1": _percent(right[fits]),
                "consistency": _percent(same[both]),
                "consistent_p_at_1": _percent(right.all(axis=1)),
            }
        )
    return pd.DataFrame(rows)


def _percent(values: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return 100 * float(values.mean()) if values.size else float("nan")
