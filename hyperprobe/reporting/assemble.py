"""One page from the parts of all commands. No command is known here by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import hyperprobe
from hyperprobe.registry import COMMANDS, load
from hyperprobe.render.document import Finding, Page, Part, Picture, RunFacts, Section
from hyperprobe.reporting.collect import commands_about
from hyperprobe.reporting.provenance import provenance
from hyperprobe.runs.read import FinishedRun

Runs = Mapping[str, FinishedRun]


def make_page(runs: Runs) -> Page:
    """Everything that the runs (label -> run) have to say."""
    parts = {command: _part(command, runs) for command in _commands(runs)}
    heads = [(command, part.headline) for command, part in parts.items() if part.headline]
    names = dict.fromkeys(name for part in parts.values() for name in part.subjects)
    told = [finding for part in parts.values() for finding in _at_the_top(part)]
    told += [Finding(command, f"{words}.") for command, words in heads[1:]]
    return Page(
        f"hyperprobe: {', '.join(names)}" if names else "hyperprobe report",
        heads[0][1] if heads else "What the runs measured",
        tuple(told),
        tuple(_sections(parts)),
        tuple(RunFacts(label, run.command, tuple(provenance(run))) for label, run in runs.items()),
        f"hyperprobe {hyperprobe.__version__}",
    )


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


def _at_the_top(part: Part) -> list[Finding]:
    """The findings for the top of the page: about no model, or about one that is featured."""
    told = ("", *part.featured)
    return [one for one in part.findings if not part.featured or one.model in told]


def _sections(parts: Mapping[str, Part]) -> Iterator[Section]:
    """All sections, with the findings of their topic, and ids that occur once on the page."""
    ids, names = {"provenance"}, set[str]()
    for command, part in parts.items():
        for section in part.sections:
            told = _with_findings(section, part.findings)
            blocks = tuple(
                replace(block, name=_free(block.name, command, names))
                if isinstance(block, Picture)
                else block
                for block in section.blocks
            )
            yield replace(told, id=_free(section.id, command, ids), blocks=blocks)
        for other in commands_about(command):
            if other not in parts:
                words = (
                    f"Not analysed yet: hyperprobe {other} with the folder of a run below, then "
                    "this report again."
                )
                yield Section(_free("why", command, ids), "Why it fails", words)


def _with_findings(section: Section, findings: Sequence[Finding]) -> Section:
    """The section with the sentences of its topic, where there are several models to tell of."""
    chosen = tuple(one for one in findings if one.topic == section.id)
    return replace(section, findings=chosen) if len({f.model for f in chosen}) > 1 else section


def _free(name: str, command: str, used: set[str]) -> str:
    """`name`, or where another part has it, one like it; `used` has it then."""
    chosen = name
    for i in count(1):
        if chosen not in used:
            break
        chosen = f"{command}-{name}" if i == 1 else f"{command}-{name}-{i}"
    used.add(chosen)
    return chosen
