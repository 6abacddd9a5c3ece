"""Where the files that travel with the package lie."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def data_folder(name: str) -> Path:
    """The folder `name` (`wordnet_data`, `contexts`) as an absolute path.

    In a wheel the folders lie inside the package; in a checkout beside it.
    """
    for folder in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name} is missing from this installation of hyperprobe")
