"""How figures look: colours that colour-blind people can distinguish, and files that do not change.

A hue is a model, the same in every figure of a report; what else differs has its own marker or
tone of grey. Each hue has at least 4.5:1 contrast to a white page, and a twin for a dark one
in `assets/page.css`; hue is never the only difference (markers and labels too).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from hyperprobe.names import EMBEDDED_VECTORS, is_baseline
from hyperprobe.runs.files import write_bytes, write_text

INK, MUTED, GRID, PAPER = "#1c2126", "#56606b", "#d5dae0", "#ffffff"
SERIES = ("#0072b2", "#b84e00", "#007a5a", "#a8508a", "#7a5c00", "#a3263f")
ON_SERIES = "#fffffe"  # text on a hue; not PAPER, which is the gap between bars
TONES = ("#2f3840", "#59626d", "#9aa4ae", "#bcc4cc", "#e1e6ea")  # of what is no model
N_DARK_TONES = 2  # on which text is light
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

# The models of a report in order; without any, a figure's own decide.
_MODELS: ContextVar[tuple[str, ...]] = ContextVar("models", default=())

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


@contextmanager
def models_of_report(models: Iterable[str]) -> Iterator[None]:
    """Figures drawn inside give each of `models` one colour."""
    token = _MODELS.set(tuple(models))
    try:
        yield
    finally:
        _MODELS.reset(token)


def model_colours(models: Iterable[str]) -> dict[str, str]:
    """Model -> its colour in this report: baselines and controls are grey, others have a hue each
    (from the seventh on a hue again; language models come before the vectors that ship)."""
    wanted = [str(model) for model in dict.fromkeys(models)]
    order = [*dict.fromkeys([*_MODELS.get(), *wanted])]
    coloured = [name for name in order if not is_baseline(name)]
    coloured.sort(key=lambda name: name in EMBEDDED_VECTORS)
    hues = {name: SERIES[i % len(SERIES)] for i, name in enumerate(coloured)}
    return {name: hues.get(name, MUTED) for name in wanted}


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
