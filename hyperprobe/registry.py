"""What each command is made of: lazy `module:attribute` names, so that nothing is imported early.

The report and `hyperprobe.load` read this table; none of them names a probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command that leaves runs.

    `result` is the class of what it gives back, with `read(run)` that makes one from a finished
    run; `part` the function from runs (label -> finished run) to their part of a report. A
    command that is `about` the runs of another, and names their predictions by digest as
    `predictions` in its settings, gets those runs of a report too. `plan` is the function that
    plans a job of the command (`hyperprobe.runs.jobs`), for those that a study covers.
    """

    result: str
    part: str
    about: str = ""
    plan: str = ""


COMMANDS: dict[str, Command] = {
    "zero-shot": Command(
        "hyperprobe.probes.zero_shot.probe:ZeroShotResult",
        "hyperprobe.probes.zero_shot.report:part",
        plan="hyperprobe.probes.zero_shot.study:plan_settings",
    ),
    "study": Command(
        "hyperprobe.probes.zero_shot.study:StudyResult",
        "hyperprobe.probes.zero_shot.report:study_part",
    ),
    "consistency": Command(
        "hyperprobe.probes.consistency.probe:ConsistencyResult",
        "hyperprobe.probes.consistency.report:part",
        plan="hyperprobe.probes.consistency.probe:plan_consistency",
    ),
    "analyze": Command(
        "hyperprobe.analysis.analyze:AnalysisResult",
        "hyperprobe.analysis.report:part",
        about="zero-shot",
    ),
    "lama": Command(
        "hyperprobe.probes.lama.probe:LamaResult",
        "hyperprobe.probes.lama.report:part",
        plan="hyperprobe.probes.lama.probe:plan_lama",
    ),
    "classify": Command(
        "hyperprobe.probes.classify.probe:ClassifyResult",
        "hyperprobe.probes.classify.report:part",
        plan="hyperprobe.probes.classify.probe:plan_classify",
    ),
    "prompts": Command(
        "hyperprobe.probes.prompts.probe:PromptsResult",
        "hyperprobe.probes.prompts.report:part",
        plan="hyperprobe.probes.prompts.probe:plan_prompts",
    ),
    "pairs": Command(
        "hyperprobe.probes.pairs.probe:PairsResult",
        "hyperprobe.probes.pairs.report:part",
        plan="hyperprobe.probes.pairs.probe:plan_pairs",
    ),
    "build-diagnostic": Command("hyperprobe.built:BuiltSets", "hyperprobe.built:part"),
    "compare": Command(
        "hyperprobe.comparison.runs:Comparison", "hyperprobe.comparison.report:part"
    ),
}
# Analyses of zero-shot runs, in the order of their rows in `metrics.csv`.
ANALYSES: tuple[str, ...] = tuple(
    f"hyperprobe.analysis.{name}:ANALYSIS"
    for name in (
        "frequency", "experiment", "pairs", "errors", "agreement", "article", "negation",
        "wording",
    )
)  # fmt: skip


def load(name: str) -> Any:
    """The object that `module:attribute` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
