"""The papers' tables as numbers; each file names its source in its first line."""

from __future__ import annotations

import pandas as pd

from hyperprobe.data.files import table


def read_published(name: str) -> tuple[pd.DataFrame, str]:
    """The table `name` of `tables/published/`, and its source, as "Authors (year), Table n"."""
    path = table(f"published/{name}.csv")
    with path.open(encoding="utf-8") as file:
        source = file.readline().removeprefix("# ").split(";")[0]
        return pd.read_csv(file), source
