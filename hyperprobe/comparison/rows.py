"""The rows of a comparison, and which of them are shown."""

from __future__ import annotations

from string import ascii_lowercase

import pandas as pd

from hyperprobe.probes.lama.metrics import MACRO, MICRO
from hyperprobe.probes.zero_shot.outcomes import CALIBRATED, CLOSED, PAIRED
from hyperprobe.render.table import RUN
from hyperprobe.statistics.stratified import ALPHA

COLUMNS = (
    "command", "setting", "metric", "model", "run", "value", "other", "other_run", "other_value",
    "difference", "difference_low", "difference_high", "p_value", "p_holm", "n_items", "n_other",
    "items",
)  # fmt: skip
SIDES = (("model", RUN), ("other", "other_run"))
PUBLISHED = "published "  # how the name of a paper's model begins


def is_published(rows: pd.DataFrame) -> pd.Series:
    """Whether a row is against a paper."""
    return rows["other"].str.startswith(PUBLISHED)


def is_clear(rows: pd.DataFrame) -> pd.Series:
    """Whether a difference is told from none: by its interval and the adjusted test, where there
    is one."""
    beyond = (rows["difference_low"] > 0) | (rows["difference_high"] < 0)
    return beyond & ~(rows["p_holm"] >= ALPHA)


def main_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Without what is a part of another row: single relations where there are means over them,
    and the raw metrics of two models that both have the calibrated one."""
    words = rows["setting"].fillna("").str.split()
    is_mean = words.map(lambda parts: bool({MACRO, MICRO} & set(parts)))
    rows = rows[is_mean | ~rows["command"].isin(rows["command"][is_mean])]
    keys = ["command", "setting", "model", "run", "other", "other_run"]
    raw = rows[rows["metric"].isin([*CLOSED, *PAIRED])]
    known = rows.assign(metric=rows["metric"].str.removesuffix(CALIBRATED))[
        rows["metric"].str.endswith(CALIBRATED)
    ]
    twice = raw.reset_index().merge(known[[*keys, "metric"]], on=[*keys, "metric"])["index"]
    return rows.drop(index=twice)


def distinct(rows: pd.DataFrame) -> pd.DataFrame:
    """Without rows against a paper that repeat those of the same model of another run."""
    again = is_published(rows) & rows.drop(columns=RUN).duplicated()
    return rows[~again].reset_index(drop=True)


def lettered(
    rows: pd.DataFrame, among: pd.DataFrame, differences: pd.DataFrame
) -> tuple[pd.DataFrame, str]:
    """The rows with `bert [a]` for a model that several runs have in the rows `among`; and what
    says which run of all `differences` is a.
    """
    sides = [differences[RUN], differences.loc[~is_published(differences), "other_run"]]
    letters = dict(zip(dict.fromkeys(pd.concat(sides)), ascii_lowercase, strict=False))
    several = _in_several_runs(among)
    if not several:
        return rows, ""
    marked = {
        model: [
            f"{m} [{letters.get(r, r)}]" if m in several else m
            for m, r in zip(rows[model], rows[run], strict=True)
        ]
        for model, run in SIDES
    }
    note = ", ".join(f"[{letter}] is {run}" for run, letter in letters.items())
    return rows.assign(**marked), f"{note}."


def _in_several_runs(rows: pd.DataFrame) -> set[str]:
    pairs = {pair for side in SIDES for pair in zip(*(rows[c] for c in side), strict=True)}
    names = [str(model) for model, _ in pairs]
    return {name for name in names if names.count(name) > 1}
