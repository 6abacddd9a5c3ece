"""hyperprobe: does a language model systematically know that a robin is a bird?

One function for each command, and the class of what it gives back. All are imported when they
are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0.dev3"

if TYPE_CHECKING:
    from hyperprobe.analysis.analyze import AnalysisResult, analyze
    from hyperprobe.built import build as build_diagnostic
    from hyperprobe.cloze import CandidateSet, Cloze, parse_cloze
    from hyperprobe.comparison.runs import Comparison, compare
    from hyperprobe.diagnostic.mine import mine as mine_contexts
    from hyperprobe.errors import UserError
    from hyperprobe.exports.score import score
    from hyperprobe.finished import load
    from hyperprobe.models.load import load_model
    from hyperprobe.options import ModelOptions
    from hyperprobe.probes.classify.probe import ClassifyResult, classify
    from hyperprobe.probes.consistency.probe import ConsistencyResult, consistency
    from hyperprobe.probes.lama.probe import LamaResult, lama
    from hyperprobe.probes.pairs.probe import PairsResult, pairs
    from hyperprobe.probes.prompts.asked import SearchOptions
    from hyperprobe.probes.prompts.probe import PromptsResult, prompts
    from hyperprobe.probes.zero_shot.callback import ProbeCallback
    from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot
    from hyperprobe.probes.zero_shot.study import StudyResult
    from hyperprobe.render.result import Result
    from hyperprobe.reporting.report import report
    from hyperprobe.studies.study import study

_MODULES = {
    "AnalysisResult": "analysis.analyze",
    "CandidateSet": "cloze",
    "ClassifyResult": "probes.classify.probe",
    "Cloze": "cloze",
    "Comparison": "comparison.runs",
    "ConsistencyResult": "probes.consistency.probe",
    "LamaResult": "probes.lama.probe",
    "ModelOptions": "options",
    "PairsResult": "probes.pairs.probe",
    "ProbeCallback": "probes.zero_shot.callback",
    "PromptsResult": "probes.prompts.probe",
    "Result": "render.result",
    "SearchOptions": "probes.prompts.asked",
    "StudyResult": "probes.zero_shot.study",
    "UserError": "errors",
    "ZeroShotResult": "probes.zero_shot.probe",
    "analyze": "analysis.analyze",
    "build_diagnostic": "built:build",
    "classify": "probes.classify.probe",
    "compare": "comparison.runs",
    "consistency": "probes.consistency.probe",
    "lama": "probes.lama.probe",
    "load": "finished",
    "load_model": "models.load",
    "mine_contexts": "diagnostic.mine:mine",
    "pairs": "probes.pairs.probe",
    "parse_cloze": "cloze",
    "prompts": "probes.prompts.probe",
    "report": "reporting.report",
    "study": "studies.study",
    "score": "exports.score",
    "zero_shot": "probes.zero_shot.probe",
}

__all__ = [
    "AnalysisResult",
    "CandidateSet",
    "ClassifyResult",
    "Cloze",
    "Comparison",
    "ConsistencyResult",
    "LamaResult",
    "ModelOptions",
    "PairsResult",
    "ProbeCallback",
    "PromptsResult",
    "Result",
    "SearchOptions",
    "StudyResult",
    "UserError",
    "ZeroShotResult",
    "__version__",
    "analyze",
    "build_diagnostic",
    "classify",
    "compare",
    "consistency",
    "lama",
    "load",
    "load_model",
    "mine_contexts",
    "pairs",
    "parse_cloze",
    "prompts",
    "report",
    "score",
    "study",
    "zero_shot",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _MODULES[name].partition(":")
    value = getattr(import_module(f"{__name__}.{module}"), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
