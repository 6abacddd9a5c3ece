"""Folders of the LAMA paper's older models, whole and to be damaged."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lama_files import SAVERS


@pytest.fixture(scope="package")
def lama_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each family: not to be changed."""
    return {family: save(tmp_path_factory.mktemp("whole")) for family, save in SAVERS.items()}


@pytest.fixture
def copy_of(lama_folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy that a test may damage."""
    return lambda family: Path(shutil.copytree(lama_folders[family], tmp_path / family))
