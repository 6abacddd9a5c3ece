"""Where the files that ship with the package are."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
_PACKAGE = _HERE.parent


def data_folder(name: str) -> Path:
    """The folder `name` (`tables`, `wordnet_data`, `contexts`) as an absolute path.

    `tables` is in the folder of this module; the others are inside the package in a wheel, and
    next to it in a checkout.
    """
    for folder in (_HERE / name, _PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name} is missing from this installation of hyperprobe")


def table(name: str) -> Path:
    """The path of a table that ships (`lm-diagnostic.tsv`, `published/...`)."""
    return data_folder("tables") / name
