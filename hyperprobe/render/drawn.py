"""Figures of run folders: drawn once, and shown again in a report under other names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from hyperprobe.errors import UserError
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import HasFolder, save_figures
from hyperprobe.render.table import Table
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import FinishedRun, read_run

VECTOR, RASTER = ".svg", ".png"


def draw_once(run: HasFolder, pictures: Callable[[], Iterable[Picture]]) -> list[str]:
    """The names of the figure files in the run's folder, as SVG and PNG, for `Run.finish`.

    `pictures` makes what is drawn; it is not called for a finished run whose figures exist.
    """
    try:
        finished = read_run(run.folder).files
        files = [name for name in finished if name.endswith((VECTOR, RASTER))]
        if files and all(file_digest(run.folder / name) == finished[name] for name in files):
            return files
    except (OSError, UserError):
        pass  # unfinished, or damaged since
    return save_figures(run, pictures())


def figures_of(folder: Path) -> dict[str, Path]:
    """Name -> SVG file, of the figures that the finished run in `folder` lists."""
    files = read_run(folder).files
    return {Path(name).stem: folder / name for name in files if name.endswith(VECTOR)}


def of_run(
    blocks: Iterable[Table | Picture], label: str, run: FinishedRun
) -> tuple[Table | Picture, ...]:
    """The blocks as those of the run `label`: named in their source and in a picture's name."""
    named: list[Table | Picture] = []
    for block in blocks:
        source = f"{block.source} of run {label}" if block.source else ""
        if isinstance(block, Picture):
            name = f"{run.command}-{label}-{block.name}"
            named.append(replace(block, name=name, source=source))
        else:
            named.append(replace(block, source=source))
    return tuple(named)
