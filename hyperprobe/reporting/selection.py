"""What stands on the first screen of a page: six findings and a picture, of whatever parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from hyperprobe.render.document import Finding, Part, Picture, Section

AT_THE_TOP = 6


def findings_at_the_top(parts: Mapping[str, Part]) -> tuple[Finding, ...]:
    """The most important findings of all parts (command -> part), in the parts' order.

    Of each part those about its featured models (all, where it features none), the first of
    each lead before a second one of any; every part has its say before any has a second.
    """
    ranked = [[(i, j) for j in _by_importance(part)] for i, part in enumerate(parts.values())]
    turns = chain.from_iterable(zip_longest(*ranked))
    chosen = sorted([turn for turn in turns if turn is not None][:AT_THE_TOP])
    all_parts = list(parts.values())
    return tuple(all_parts[i].findings[j] for i, j in chosen)


def _by_importance(part: Part) -> list[int]:
    """The indices of the findings that may stand at the top, most important first."""
    told = ("", *part.featured)
    may = [j for j, f in enumerate(part.findings) if not part.featured or f.model in told]
    leads = [part.findings[j].lead for j in may]
    return sorted(may, key=lambda j: leads[: may.index(j)].count(part.findings[j].lead))


def with_findings(
    sections: Sequence[Section], findings: Sequence[Finding], at_the_top: Sequence[Finding]
) -> tuple[Section, ...]:
    """The sections of a part with the findings of their topic, unless the top has them all.

    Findings without a section of their own stand in the first.
    """
    ids = {section.id for section in sections}
    told = []
    for i, section in enumerate(sections):
        of_topic = [f for f in findings if f.topic == section.id]
        if all(one in at_the_top for one in of_topic):
            of_topic = []
        if i == 0:
            of_topic += [f for f in findings if f.topic not in ids and f not in at_the_top]
        told.append(replace(section, findings=(*section.findings, *of_topic)))
    return tuple(told)


def without_first_picture(
    sections: Sequence[Section],
) -> tuple[Picture | None, tuple[Section, ...]]:
    """The first picture of all sections, and the sections without it."""
    for i, section in enumerate(sections):
        for j, block in enumerate(section.blocks):
            if isinstance(block, Picture):
                rest = replace(section, blocks=(*section.blocks[:j], *section.blocks[j + 1 :]))
                return block, (*sections[:i], rest, *sections[i + 1 :])
    return None, tuple(sections)
