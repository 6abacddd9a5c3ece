"""The frames of a run's cells, read when they are asked for."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, overload

import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from hyperprobe.runs.run import Run


class Frames(Sequence[pd.DataFrame]):
    """The stored frames of cells of a run, each read when it is asked for: together they may be
    larger than memory."""

    def __init__(self, run: Run, keys: Sequence[str]) -> None:
        self._run, self._keys = run, keys
        for key in keys:  # so that `run.json` names them in this order
            run.stored(key)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, i: int) -> pd.DataFrame: ...
    @overload
    def __getitem__(self, i: slice) -> Frames: ...
    def __getitem__(self, i: int | slice) -> pd.DataFrame | Frames:
        if isinstance(i, slice):
            return Frames(self._run, self._keys[i])
        return self.read(i)

    def schema(
        self, others: Iterable[pd.DataFrame], cells: Iterable[int] | None = None
    ) -> pa.Schema:
        """The columns of the `others` and of all cells, or of some, as they fit into one file."""
        from pyarrow.parquet import read_schema

        chosen = range(len(self)) if cells is None else cells
        schemas = [pa.Schema.from_pandas(one, preserve_index=False) for one in others]
        schemas += [read_schema(io.BytesIO(self._run.stored(self._keys[i]))) for i in chosen]
        plain = [one.remove_metadata() for one in schemas]
        return pa.unify_schemas(plain, promote_options="permissive")

    def read(self, i: int, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The frame of one cell, or some of its columns."""
        data = io.BytesIO(self._run.stored(self._keys[i]))
        return pd.read_parquet(data, columns=None if columns is None else list(columns))
