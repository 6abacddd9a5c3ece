"""From a ranking to columns of a predictions frame, and items from it: the same for every probe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hyperprobe.models.base import Ranking


def add_gold(frame: pd.DataFrame, ranking: Ranking, in_list_order: bool = False) -> None:
    """Add where gold stands: `gold_score`, `gold_rank` and `gold_tied`, how many others tie.

    With `in_list_order`, as LAMA's reference code has it, equal scores are ranked in the order
    of the candidates; `gold_tied_before` of those that tie come earlier.
    """
    frame["gold_score"] = ranking.gold_score
    frame["gold_rank"] = ranking.gold_list_rank if in_list_order else ranking.gold_rank
    frame["gold_tied"] = ranking.gold_tied
    if in_list_order:
        frame["gold_tied_before"] = ranking.gold_tied_before


def add_ranking(
    frame: pd.DataFrame,
    ranking: Ranking,
    top: Sequence[Sequence[str]],
    in_list_order: bool = False,
) -> list[bool]:
    """Add `add_gold`'s columns and the answer: `best`, the first of the row's `top` words, and
    `best_score`; None and NaN where no candidate has a score. Returns which rows are answered.
    """
    add_gold(frame, ranking, in_list_order)
    best_score = ranking.top_score[:, 0]
    answered = np.isfinite(best_score)
    frame["best"] = [row[0] if a else None for a, row in zip(answered, top, strict=True)]
    frame["best_score"] = np.where(answered, best_score, np.nan)
    return [bool(a) for a in answered]


def of_items(predictions: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """What `columns` say of each item of a set, by item."""
    return predictions[["item", *columns]].drop_duplicates("item").set_index("item")


def joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The parts as one frame, column by column; each column of the parts is let go, since both
    would not fit into memory. The list is empty afterwards."""
    columns = {
        name: pd.concat([part.pop(name) for part in parts], ignore_index=True)
        for name in list(parts[0])
    }
    parts.clear()
    return pd.DataFrame(columns, copy=False)
