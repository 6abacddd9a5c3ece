"""The tables and sentences of `hyperprobe compare`, and its part of a report."""

from __future__ import annotations

from collections.abc import Mapping

from hyperprobe.comparison.asked import ASKED
from hyperprobe.comparison.asked import sentences as how_asked
from hyperprobe.comparison.rows import COLUMNS
from hyperprobe.comparison.sentences import comparison_findings
from hyperprobe.comparison.tables import comparison_tables
from hyperprobe.render.document import Finding, Part, Section
from hyperprobe.render.drawn import of_run
from hyperprobe.runs.read import FinishedRun


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of comparisons (label -> run): a section each."""
    findings: list[Finding] = []
    sections = []
    for label, run in runs.items():
        differences = run.table("metrics.csv", COLUMNS)
        id = f"comparison-{label}"
        findings += comparison_findings(differences, label, id)
        asked = " ".join(how_asked(run.table(ASKED))) if run.has(ASKED) else ""
        blocks = of_run(comparison_tables(differences), label, run)
        sections.append(Section(id, f"Comparison (run {label})", asked, blocks=blocks))
    return Part(findings=tuple(findings), sections=tuple(sections))
