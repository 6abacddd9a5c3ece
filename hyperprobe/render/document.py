"""What a report is made of, for any medium: sections of findings, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from hyperprobe.render.figure import svg_of
from hyperprobe.render.table import Table, data_table


@dataclass(frozen=True)
class Finding:
    """One sentence that the numbers support: its `lead` in a word or two, then the `text`.

    `run` is the label of the run that it is from, `topic` the section that it belongs to, and
    `model` the model that it is about, where there is one.
    """

    lead: str
    text: str
    run: str = ""
    topic: str = ""
    model: str = ""

    @property
    def opening(self) -> str:
        """The lead with the mark that ends it."""
        return self.lead if self.lead.endswith((".", "?", "!")) else f"{self.lead}:"

    @property
    def sentence(self) -> str:
        """Lead and text, for a medium without bold type."""
        return f"{self.opening} {self.text}"


@dataclass(frozen=True)
class Picture:
    """A matplotlib `figure`, its `name` as a file, a caption that says what to see, and the rows
    that are drawn."""

    name: str
    figure: Any
    caption: str
    source: str = ""
    data: pd.DataFrame | None = None

    @property
    def table(self) -> Table | None:
        """The rows that are drawn, where the picture has them."""
        return (
            None if self.data is None else data_table(f"Data of the figure {self.name}", self.data)
        )

    @cached_property
    def svg(self) -> str:
        """As `svg_of`; drawn once for a page and for the files beside it."""
        return svg_of(self.figure)


@dataclass(frozen=True)
class Section:
    """A heading and what follows it."""

    id: str
    title: str
    words: str = ""
    findings: tuple[Finding, ...] = ()
    blocks: tuple[Table | Picture, ...] = ()


@dataclass(frozen=True)
class Part:
    """What one command says about its runs.

    `headline` is a sentence without its full stop; the most important `findings` are shown at
    the top of the page, with `featured` those about these models alone, and all others in the
    section of their topic, or in the first. `papers` are tables that are narrow enough for a
    paper, by name.
    """

    headline: str = ""
    subjects: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    featured: tuple[str, ...] = ()
    papers: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """Where a page's numbers are from: a run's label, its command, (what, value) lines, its
    models, and its `run.json`."""

    label: str
    command: str
    facts: tuple[tuple[str, str], ...]
    models: Table | None = None
    raw: str = ""


@dataclass(frozen=True)
class Page:
    """A whole report, for any medium."""

    title: str
    headline: str
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    runs: tuple[RunFacts, ...]
    made_by: str = ""
    picture: Picture | None = None  # beside the findings
    models: tuple[str, ...] = ()  # baselines and controls are none
    papers: Mapping[str, Table] = field(default_factory=dict)  # of all parts

    @property
    def pictures(self) -> list[Picture]:
        """All pictures in order."""
        first = [self.picture] if self.picture else []
        return first + [b for s in self.sections for b in s.blocks if isinstance(b, Picture)]
