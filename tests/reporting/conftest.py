"""Two zero-shot runs of tiny models, the analysis of one, and the report of all."""

from pathlib import Path

import pytest

from hyperprobe.analysis.analyze import analyze
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.reporting.report import Report, report
from tests.conftest import Within


@pytest.fixture(scope="session")
def folder(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two zero-shot runs and the analysis of one, in one results folder."""
    results = tmp_path_factory.mktemp("results")
    bert, roberta = (str(tiny_models[name]) for name in ("bert", "roberta"))
    made = zero_shot([bert], ["lm-diagnostic"], results=results)
    analyze(made.folder, results=results)
    zero_shot([roberta], ["lm-diagnostic"], results=results)
    return results


@pytest.fixture(scope="session")
def made(folder: Path, drawing: Within) -> Report:
    with drawing():
        return report(sorted(folder.glob("zero-shot-*")), results=folder)


@pytest.fixture(scope="session")
def html(made: Report) -> str:
    return made.html.read_text(encoding="utf-8")
