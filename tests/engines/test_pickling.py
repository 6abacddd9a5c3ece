"""The jobs of every probe go to other processes whole."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.runs.jobs import LastLoaded
from hyperprobe.studies.study import plan_study

cloudpickle = pytest.importorskip("ray.cloudpickle")
STUDY = """
models = ["random:embedded"]
[zero-shot]
diagnostics = "lm-diagnostic"
[consistency]
diagnostics = "lm-diagnostic"
[lama]
sources = "wordnet"
[classify]
setting = "seen"
n_seeds = 1
[prompts]
sources = "wordnet"
"""


def test_jobs_of_every_probe_are_pickled_and_compute_the_same(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    file.write_text(STUDY)
    study = plan_study(file, tmp_path / "results", device="cpu")
    jobs = cloudpickle.loads(cloudpickle.dumps(study.jobs))
    assert set(jobs) >= {"zero-shot", "consistency", "lama", "classify", "prompts"}
    for probe, job in study.jobs.items():
        assert [cell.key for cell in jobs[probe].cells] == [cell.key for cell in job.cells]
    job, other = study.jobs["zero-shot"], jobs["zero-shot"]
    vectors = next(i for i, cell in enumerate(job.cells) if cell.model == "word2vec")
    here, _ = job.cells[vectors].compute_alone(LastLoaded())
    there, _ = other.cells[vectors].compute_alone(LastLoaded())
    pd.testing.assert_frame_equal(here, there)
