from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results beside which DrQA's index, whose tables have 16 million rows, is unpacked once."""
    return tmp_path_factory.mktemp("unpacked")
