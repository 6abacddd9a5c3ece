"""What a command gives back in Python: its folder, its frames, and a view of its tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hyperprobe.render.drawn import figures_of
from hyperprobe.render.html import html_table
from hyperprobe.render.table import Table, plain


class Result(ABC):
    """A command's result. Shows its tables in a console (`repr`) and in a notebook."""

    folder: Path
    command: ClassVar[str]

    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The tables that the command prints."""

    @property
    def figures(self) -> dict[str, Path]:
        """Name -> SVG file in the folder, of the figures that the command drew."""
        return figures_of(self.folder)

    def __repr__(self) -> str:
        shown = [plain(table) for table in self.tables()]
        return "\n".join([*shown, f"{self.command} run in {self.folder}"])

    def _repr_html_(self) -> str:
        return "\n".join(html_table(table) for table in self.tables())
