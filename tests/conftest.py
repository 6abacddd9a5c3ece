"""Tiny random-weight models of three shapes, made here: no network, no downloads."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeAlias
from unittest import mock

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's library is imported
os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have one
if "PYTEST_XDIST_WORKER" in os.environ:  # as many workers as cores: a thread for each
    os.environ["OMP_NUM_THREADS"] = "1"  # read when torch and numpy are imported

import pytest

Within: TypeAlias = Callable[[], AbstractContextManager[object]]
SHARED = Path(__file__).parents[2] / "shared"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported meanwhile stays: not to be looked through at any garbage collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
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


@pytest.fixture(scope="session", autouse=True)
def drawing() -> Iterator[Within]:
    """Figures are made, and files of their names, but drawn (which took a tenth of the suite's
    time) only `with drawing()`."""
    from matplotlib.figure import Figure

    def blank(figure: Figure, out: IO[Any], *, format: str, **_: Any) -> None:
        assert figure.axes
        out.write("<svg />" if format == "svg" else b"PNG")

    savefig = Figure.savefig
    with mock.patch.object(Figure, "savefig", blank):
        yield lambda: mock.patch.object(Figure, "savefig", savefig)


@pytest.fixture(scope="session", autouse=True)
def all_vectors() -> Iterator[Within]:
    """One of the three sets of vectors that ship is asked beside a run's models, to save time; all
    `with all_vectors()`."""
    from hyperprobe.names import EMBEDDED_VECTORS

    def asked(vectors: tuple[str, ...]) -> ExitStack:
        stack = ExitStack()
        for probe in ("zero_shot.ask", "consistency.probe", "lama.probe", "classify.probe"):
            where = f"hyperprobe.probes.{probe}.EMBEDDED_VECTORS"
            stack.enter_context(mock.patch(where, vectors))
        return stack

    with asked(EMBEDDED_VECTORS[:1]):
        yield lambda: asked(EMBEDDED_VECTORS)


@pytest.fixture
def drawn(drawing: Within) -> Iterator[None]:
    """For tests that look into figures."""
    with drawing():
        yield


@pytest.fixture
def shared() -> Path:
    """The folder of papers and licensed data that some checkouts have beside them."""
    if not SHARED.is_dir():
        pytest.skip("no shared data beside this checkout")
    return SHARED
