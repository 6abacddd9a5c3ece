"""Tiny random-weight models of three shapes, made here: no network, no downloads."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's library is imported
os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have one
if "PYTEST_XDIST_WORKER" in os.environ:  # as many workers as cores: a thread for each
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch and numpy are imported

import pytest

SHARED = Path(__file__).parents[2] / "shared"


def pytest_collection_finish() -> None:
    """What is imported by now stays: not to be looked through at every garbage collection."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of a BERT, a RoBERTa and an ALBERT as `save_pretrained` writes them."""
    # Not above: with pytest-xdist, the process that only hands out tests needs no torch.
    from tests.tiny_models import save_albert, save_bert, save_roberta

    folders = {}
    for name, save in (("bert", save_bert), ("roberta", save_roberta), ("albert", save_albert)):
        folders[name] = tmp_path_factory.mktemp(name)
        save(folders[name])
    return folders


@pytest.fixture(scope="session", autouse=True)
def shipped_vectors_are_read_once() -> Iterator[None]:
    """The vectors that ship are beside the models of most runs: each file is read once."""
    from hyperprobe.models import static
    from hyperprobe.names import EMBEDDED_FOLDER
    from hyperprobe.probes.lama import factors

    read = static.load_vectors
    once = cache(read)
    with pytest.MonkeyPatch.context() as patch:
        for module in (static, factors):
            patch.setattr(
                module,
                "load_vectors",
                lambda path: (once if path.parent == EMBEDDED_FOLDER else read)(path),
            )
        yield


@pytest.fixture(scope="session", autouse=True)
def columns_of_predictions_are_documented() -> Iterator[None]:
    """Whatever run a test makes: its predictions have the columns that the manual says."""
    from pyarrow.parquet import read_schema

    from hyperprobe.runs.run import Run
    from tests.columns import check_columns

    finish = Run.finish

    def checked(run: Run, tables: dict, *args: object, **keywords: object) -> None:
        finish(run, tables, *args, **keywords)  # type: ignore[arg-type]
        if (path := run.folder / "predictions.parquet").is_file():
            check_columns(run.command, read_schema(path).names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "finish", checked)
        yield


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look into no figure: the files are there, and nothing is drawn."""
    monkeypatch.setattr("hyperprobe.render.document.svg_of", lambda figure: "<svg />")
    monkeypatch.setattr("hyperprobe.render.figure.png_of", lambda figure: b"PNG")


@pytest.fixture
def shared() -> Path:
    """The folder of papers and licensed data that some checkouts have beside them."""
    if not SHARED.is_dir():
        pytest.skip("no shared data beside this checkout")
    return SHARED
