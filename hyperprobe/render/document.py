"""What a report is made of, for any medium: sections of findings, tables and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hyperprobe.render.figure import svg_of
from hyperprobe.render.table import Table


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


@dataclass(frozen=True)
class Picture:
    """A matplotlib `figure`, its `name` as a file, and a caption that says what to see."""

    name: str
    figure: Any
    caption: str
    source: str = ""

    @cached_property
    def svg(self) -> str:
        return svg_of(self.figure)


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    id: str
    title: str
    words: str = ""
    findings: tuple[Finding, ...] = ()
    blocks: tuple[Table | Picture, ...] = ()


@dataclass(frozen=True)
class Part:
    """What one command has to say about its runs.

    `headline` is the page's first sentence, if it has one; `findings` are told at the top of
    the page, those with a topic in their section too.
    """

    headline: str = ""
    subjects: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = field(default=())
