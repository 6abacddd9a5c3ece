"""The metrics of any command as a table, by nothing but the names of their columns."""

from __future__ import annotations

import pandas as pd

from hyperprobe.render.table import RUN, Cell, Table, count, make_table, number, p_value, text

ENDS = ("_low", "_high")


def generic_table(frame: pd.DataFrame, command: str) -> Table:
    """Words first, then counts (`n_...`), then numbers with their intervals folded in."""
    frame = frame.dropna(axis="columns", how="all")
    columns: dict[str, Cell] = {}
    names = [c for c in frame.columns if c != RUN and not _is_end(frame, str(c))]
    for name in sorted(names, key=lambda c: pd.api.types.is_numeric_dtype(frame[c])):
        columns[str(name).replace("_", " ")] = _cell(frame, str(name))
    return make_table(f"{command}: metrics", frame, columns, source="metrics.csv")


def _is_end(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column is an interval end of another."""
    return any(name.endswith(end) and name.removesuffix(end) in frame for end in ENDS)


def _cell(frame: pd.DataFrame, name: str) -> Cell:
    values = frame[name]
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return text(name)
    if name.startswith("n_") or pd.api.types.is_integer_dtype(values):
        return count(name)
    if name.startswith("p_value") or name.endswith("_p"):
        return p_value(name)
    return number(name, 2 if values.abs().max() < 10 else 1)
