"""Tables of numbers in HDF5 files, where nothing in the file leads out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hyperprobe.errors import UserError, one_line, quoted
from hyperprobe.models.torch_files import Weights, check_unpacked

MOST_TABLES = 1000


def read_hdf5(path: Path, what: str) -> Weights:
    """Every table of a file by its path in it, in single precision.

    Raises `UserError` for a damaged file, links to other files, and tables of anything but
    numbers.
    """
    import h5py

    if not path.is_file():
        raise UserError(f"no {what} {path}: check the name")
    try:
        with h5py.File(path, "r") as file:
            return {key: _table(path, key, found) for key, found in _tables(path, file, h5py)}
    except UserError:
        raise
    # (h5py raises all kinds on damaged files)
    except Exception as error:
        reason = one_line(str(error))[:100] or type(error).__name__
        raise UserError(
            f"cannot read {what} {path} ({reason}): it is damaged, or no HDF5 file: fetch it again"
        ) from error


def _tables(path: Path, file: Any, h5py: Any) -> Iterator[tuple[str, Any]]:
    """(path in the file, table) of all that a file holds itself."""
    groups = [("", file, 0)]
    n_found = 0
    while groups:
        prefix, group, depth = groups.pop()
        for name in group:
            key = f"{prefix}{name}"
            n_found += 1
            if n_found > MOST_TABLES or depth > 10:
                raise UserError(f"{path}: holds more than weights: is it the right file?")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise UserError(
                    f"{path}: {quoted(key)} is a link to somewhere else, which is not followed: "
                    "fetch the file again"
                )
            found = group[name]
            if isinstance(found, h5py.Group):
                groups.append((f"{key}/", found, depth + 1))
            else:
                yield key, found


def _table(path: Path, key: str, found: Any) -> torch.Tensor:
    if not hasattr(found, "is_virtual") or found.dtype.kind != "f":
        raise UserError(f"{path}: {quoted(key)} is no table of numbers: is it the right file?")
    if found.is_virtual or found.external:
        raise UserError(f"{path}: {quoted(key)} has its numbers elsewhere: fetch the file again")
    check_unpacked(path, key, found.size * found.dtype.itemsize)
    return torch.from_numpy(np.asarray(found[...], dtype=np.float32))
