"""What the analyses of zero-shot runs say, on the terminal and in a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from hyperprobe.analysis.base import Analysis, Frames
from hyperprobe.documents import Document
from hyperprobe.probes.zero_shot.naming import Naming
from hyperprobe.probes.zero_shot.report import N_NAMED, TABLES, best_model, naming_of, together
from hyperprobe.probes.zero_shot.tables import largest_set, subjects
from hyperprobe.registry import ANALYSES, load
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.table import RUN, Table
from hyperprobe.runs.read import FinishedRun, damaged

METRICS = "metrics.csv"
ALWAYS = "category_scores"  # the frame that every analysis has


class AnalysisSettings(Document):
    """What a report must know of an analysis's settings."""

    predictions: str


def part(runs: Mapping[str, FinishedRun]) -> Part:
    """The part of analyses (label -> run); `runs` has the zero-shot runs that they are about too.

    Models are called as in the part of the zero-shot runs.
    """
    asked = {label: run for label, run in runs.items() if run.command == "zero-shot"}
    analysed = {label: run for label, run in runs.items() if label not in asked}
    if not analysed:
        return Part()
    frames = _frames(analysed, asked)
    models = _models(frames)
    best = [best_model(naming_of(asked).apply(_metrics(asked)))] if asked else models[:1]
    return Part(
        findings=tuple(analysis_findings(frames)),
        sections=tuple(analysis_sections(frames)),
        featured=tuple(best),
    )


def _metrics(asked: Mapping[str, FinishedRun]) -> pd.DataFrame:
    return together(asked, "metrics", TABLES["metrics"])


def read_frames(run: FinishedRun) -> dict[str, pd.DataFrame]:
    """The frames of one analysis. Raises `UserError` for a run that lacks what all have."""
    if not run.has(f"{ALWAYS}.csv"):
        raise damaged(run.folder / "run.json")
    names = [name for name in run.files if name.endswith(".csv") and name != METRICS]
    return {name.removesuffix(".csv"): run.table(name, ("diagnostic", "model")) for name in names}


def _frames(
    analysed: Mapping[str, FinishedRun], asked: Mapping[str, FinishedRun]
) -> dict[str, pd.DataFrame]:
    """The frames of all analyses, each row with the label of its analysis."""
    naming = naming_of(asked) if asked else Naming(frozenset(), {})
    by_digest = {run.files.get("predictions.parquet"): label for label, run in asked.items()}
    parts: dict[str, list[pd.DataFrame]] = {}
    for label, run in analysed.items():
        of = by_digest.get(run.settings(AnalysisSettings).predictions)
        for name, frame in read_frames(run).items():
            named = naming.apply(frame.assign(**{RUN: of or label}), keep_all=of is None)
            parts.setdefault(name, []).append(named.assign(**{RUN: label}))
    return {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}


def in_reading_order() -> list[Analysis]:
    """All analyses, those that come first before the others."""
    analyses: list[Analysis] = [load(name) for name in ANALYSES]
    return sorted(analyses, key=lambda analysis: not analysis.is_first)


def _shown(frames: Frames, name: str) -> pd.DataFrame:
    """The rows of a frame that are shown, on the largest set; empty where there is none."""
    return largest_set(frames[name]) if name in frames and len(frames[name]) else pd.DataFrame()


def _tables(analysis: Analysis, frames: Frames) -> Iterator[Table]:
    for name, make in analysis.tables.items():
        rows = _shown(frames, name)
        if len(rows):
            yield from make(rows)


def analysis_tables(frames: Frames) -> Iterator[Table]:
    """The tables of all analyses that apply; each on the largest set."""
    for analysis in in_reading_order():
        yield from _tables(analysis, frames)


def _models(frames: Frames) -> list[str]:
    """The language models of the analyses."""
    return subjects(frames[ALWAYS]["model"])


def analysis_findings(frames: Frames) -> Iterator[Finding]:
    """One sentence for each analysis and language model, on the largest set."""
    models = _models(frames)[:N_NAMED]
    for analysis in in_reading_order():
        table = _shown(frames, analysis.files[0])
        for model in models if len(table) else ():
            rows = table[table["model"] == model]
            if "probe" in rows:
                rows = rows[rows["probe"] == "singular"]
            if len(rows):
                run = str(rows.iloc[-1][RUN]) if RUN in rows else ""
                text = analysis.sentence(model, rows)
                yield Finding(analysis.lead, text, run, analysis.section, model)


def analysis_sections(frames: Frames) -> Iterator[Section]:
    """One section for each analysis or those that share one: pictures first."""
    models = _models(frames)
    analyses = in_reading_order()
    tables: dict[str, list[Table]] = {}
    pictures: dict[str, list[Picture]] = {}
    for analysis in analyses:
        if made := list(_tables(analysis, frames)):
            tables.setdefault(analysis.section, []).extend(made)
            pictures.setdefault(analysis.section, []).extend(analysis.pictures(frames, models))
    for head in analyses:
        if head.name in tables:
            blocks: list[Table | Picture] = [*pictures[head.name], *tables[head.name]]
            yield Section(head.name, head.title, head.words, blocks=tuple(blocks))
