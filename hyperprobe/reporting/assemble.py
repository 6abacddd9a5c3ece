"""One page from the parts of all commands. No command is known here by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import hyperprobe
from hyperprobe.registry import COMMANDS, load
from hyperprobe.render.document import Finding, Page, Part, Picture, Section
from hyperprobe.render.figure import models_of_report
from hyperprobe.render.table import counted
from hyperprobe.reporting.collect import commands_about
from hyperprobe.reporting.naming import page_models, page_names, with_names
from hyperprobe.reporting.provenance import provenance
from hyperprobe.reporting.selection import (
    findings_at_the_top,
    with_findings,
    without_first_picture,
)
from hyperprobe.runs.read import FinishedRun

N_TITLED = 4  # models in a page's title
Runs = Mapping[str, FinishedRun]


def make_page(runs: Runs) -> Page:
    """Everything that the runs (label -> run) have to say."""
    short = page_names(runs)
    shown = with_names(runs, short)
    models = page_models(runs, short)
    with models_of_report(models):
        made = {command: _part(command, shown) for command in _commands(runs)}
    headline, parts = _headline(made)
    names = dict.fromkeys(name for part in parts.values() for name in part.subjects)
    findings = findings_at_the_top(parts)
    picture, sections = without_first_picture(tuple(_sections(parts, findings)))
    return Page(
        f"hyperprobe: {_listed(list(names))}" if names else "hyperprobe report",
        headline,
        findings,
        sections,
        tuple(provenance(label, run, short) for label, run in runs.items()),
        f"hyperprobe {hyperprobe.__version__}",
        picture,
        models,
        {name: table for part in parts.values() for name, table in part.papers.items()},
    )


def _listed(names: Sequence[str]) -> str:
    """The names, of many the first."""
    more = len(names) - N_TITLED
    return ", ".join(names[:N_TITLED]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _headline(parts: Mapping[str, Part]) -> tuple[str, dict[str, Part]]:
    """The first headline, and the parts, of which the others tell theirs as a first finding."""
    first, told = "", {}
    for command, part in parts.items():
        if part.headline and first:
            finding = Finding(command.capitalize(), f"{part.headline}.")
            part = replace(part, findings=(finding, *part.findings))
        first = first or part.headline
        told[command] = part
    return first or "What the runs measured", told


def _commands(runs: Runs) -> list[str]:
    """The commands of the runs: as in the registry, then those that it does not know."""
    made = dict.fromkeys(run.command for run in runs.values())
    return [name for name in COMMANDS if name in made] + [n for n in made if n not in COMMANDS]


def _part(command: str, runs: Runs) -> Part:
    """What a command says about its runs, and about those that they are about."""
    entry = COMMANDS.get(command)
    wanted = (command, entry.about) if entry and entry.about else (command,)
    chosen = {label: run for label, run in runs.items() if run.command in wanted}
    return _maker(command)(chosen)


def _maker(command: str) -> Callable[[Runs], Part]:
    if command not in COMMANDS:
        return _unknown
    maker: Callable[[Runs], Part] = load(COMMANDS[command].part)
    return maker


def _unknown(runs: Runs) -> Part:
    """Runs of a command that this version does not know."""
    words = "This version of hyperprobe has no tables of this command; the provenance is below."
    return Part(
        sections=tuple(
            Section(f"other-{label}", f"{run.command} (run {label})", words)
            for label, run in runs.items()
        )
    )


def _sections(parts: Mapping[str, Part], at_the_top: Sequence[Finding]) -> Iterator[Section]:
    """All sections, with findings that are not at the top, and ids that occur once on the page."""
    ids, names = {"provenance"}, set[str]()
    for command, part in parts.items():
        for section in with_findings(part.sections, part.findings, at_the_top):
            blocks = tuple(
                replace(block, name=_free(block.name, command, names))
                if isinstance(block, Picture)
                else block
                for block in section.blocks
            )
            yield replace(section, id=_free(section.id, command, ids), blocks=blocks)
        for other in commands_about(command):
            if other not in parts:
                words = (
                    f"Not analysed yet: hyperprobe {other} with the folder of a run below, then "
                    "this report again."
                )
                yield Section(_free("why", command, ids), "Why it fails", words)


def _free(name: str, command: str, used: set[str]) -> str:
    """`name`, or where another part has it, one like it; `used` has it then."""
    chosen = name
    for i in count(1):
        if chosen not in used:
            break
        chosen = f"{command}-{name}" if i == 1 else f"{command}-{name}-{i}"
    used.add(chosen)
    return chosen
