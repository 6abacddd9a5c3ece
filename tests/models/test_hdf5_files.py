"""HDF5 files whose numbers are somewhere else, or more than they can hold."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.lama_files import refused


@pytest.mark.parametrize("how", ["soft link", "external link", "external table", "virtual"])
def test_numbers_of_an_hdf5_file_are_its_own(how: str, copy_of, tmp_path: Path):
    path = copy_of("elmo")
    secret = tmp_path / "secret.bin"
    np.full(1000, 7.0, dtype=np.float32).tofile(secret)
    other = tmp_path / "other.hdf5"
    file = path / "tiny_weights.hdf5"
    with h5py.File(file, "r+") as opened, h5py.File(other, "w") as source:
        shape = opened["CNN_proj/b_proj"].shape
        source["table"] = np.zeros(shape, dtype=np.float32)
        del opened["CNN_proj/b_proj"]
        if how == "soft link":
            opened["CNN_proj/b_proj"] = h5py.SoftLink("/CNN_proj/W_proj")
        elif how == "external link":
            opened["CNN_proj/b_proj"] = h5py.ExternalLink(str(other), "/table")
        elif how == "external table":
            opened.create_dataset(
                "CNN_proj/b_proj", shape, "f4", external=[(str(secret), 0, 4 * shape[0])]
            )
        else:
            layout = h5py.VirtualLayout(shape, "f4")
            layout[:] = h5py.VirtualSource(str(other), "table", shape)
            opened.create_virtual_dataset("CNN_proj/b_proj", layout)
    said = refused("elmo", path)
    assert "is a link to somewhere else" in said or "has its numbers elsewhere" in said


def test_a_table_that_promises_more_than_the_file_holds(copy_of):
    path = copy_of("elmo")
    with h5py.File(path / "tiny_weights.hdf5", "r+") as opened:
        opened.create_dataset("bomb", (10**7, 10**4), "f4", chunks=(1000, 1000), compression="gzip")
    assert "promises more numbers than the file can hold" in refused("elmo", path)
