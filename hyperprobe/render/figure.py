"""How figures look: colours that colour-blind people can distinguish, and files that do not change.

Each colour has at least 4.5:1 contrast to a white page, and a twin for a dark one
in `assets/page.css`; hue is never the only difference (markers and labels too).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from hyperprobe.runs.files import write_bytes, write_text

INK, MUTED, GRID, PAPER = "#1c2126", "#56606b", "#d5dae0", "#ffffff"
SERIES = ("#0072b2", "#b84e00", "#007a5a", "#a8508a", "#7a5c00", "#59626c")
ON_SERIES = "#fffffe"  # text on a bar; not PAPER, which is the gap between bars
MARKERS = ("o", "s", "^", "D", "v", "P")
WIDTH = 4.6  # inches: readable on a phone without zooming

SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "hyperprobe",
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.parse_math": False,  # names may hold a $
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib with our settings, for making a figure and for saving it."""
    import matplotlib as mpl

    settings: Any = SETTINGS
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A letter that is not in the font is drawn as a box.
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


def new_figure(height: float, **layout: Any) -> tuple[Any, Any]:
    """A figure of the usual width, without a window, and its axes (`layout`: of subplots)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(**layout)


def svg_of(figure: Any) -> str:
    """The figure as SVG text; the same figure gives the same bytes."""
    out = io.StringIO()
    with styled():
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine("none")  # it is laid out now, and stays so for a PNG
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", out.getvalue())


def png_of(figure: Any) -> bytes:
    """The figure as a PNG of twice a screen's resolution."""
    out = io.BytesIO()
    with styled():
        figure.savefig(out, format="png", dpi=200, metadata={"Software": None})
    return out.getvalue()


class HasFolder(Protocol):
    """A run."""

    @property
    def folder(self) -> Path: ...


class HasFigure(Protocol):
    """A picture: a figure, its SVG and its name as a file."""

    @property
    def name(self) -> str: ...
    @property
    def figure(self) -> Any: ...
    @property
    def svg(self) -> str: ...


def save_figures(run: HasFolder, pictures: Iterable[HasFigure], under: str = "") -> list[str]:
    """Write each picture into the run's folder (or `under` in it), as SVG and PNG.

    Returns the files' names relative to the folder, as `Run.finish(..., others=names)` takes
    them. The same figures give the same bytes.
    """
    names = []
    for picture in pictures:
        stem = f"{under}{picture.name}"
        write_text(run.folder / f"{stem}.svg", picture.svg)
        write_bytes(run.folder / f"{stem}.png", png_of(picture.figure))
        names += [f"{stem}.svg", f"{stem}.png"]
    return names
