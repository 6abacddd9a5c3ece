"""The papers' tables as numbers; each file names its source in its first line."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd


def read_published(name: str) -> tuple[pd.DataFrame, str]:
    """The table `name` of `tables/published/`, and its source, as "Authors (year), Table n"."""
    path = files("hyperprobe") / "tables" / "published" / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        source = file.readline().removeprefix("# ").split(";")[0]
        return pd.read_csv(file), source
