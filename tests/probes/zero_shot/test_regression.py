"""The embedded model's tables, stored under `results/reference`, recomputed."""

from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from hyperprobe.names import EMBEDDED
from hyperprobe.probes.zero_shot.metrics import METRICS
from hyperprobe.probes.zero_shot.probe import ZeroShotResult
from tests.commands import run

REFERENCE = Path(__file__).parents[3] / "results" / "reference" / "zero-shot-metrics.csv"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CompletedProcess[str]]:
    """The main job as a user runs it, with all controls: its folder, and what it says."""
    folder = tmp_path_factory.mktemp("work")
    controls = ("--control", "shuffled", "--control", "random")
    return folder, run(folder, "zero-shot", "--paired", *controls)


@pytest.fixture(scope="module")
def result(done: tuple[Path, CompletedProcess[str]]) -> ZeroShotResult:
    (folder,) = (done[0] / "results").iterdir()
    tables = (pd.read_csv(folder / name) for name in ("metrics.csv", "mcnemar.csv"))
    return ZeroShotResult(folder, pd.read_parquet(folder / "predictions.parquet"), *tables)


def test_the_main_job_from_the_command_line(done: tuple[Path, CompletedProcess[str]]):
    folder, said = done
    assert said.returncode == 0, said.stderr
    for text in (
        "lm-diagnostic (18 items)", "lm-diagnostic-extended (576 items)", "majority", "word2vec",
        "glove", "fasttext", "control:embedded", "McNemar", "vegetable",
    ):  # fmt: skip
        assert text in said.stdout
    (results,) = (folder / "results").iterdir()
    assert str(results.relative_to(folder)) in said.stderr
    assert len(pd.read_csv(results / "metrics.csv")) == 2 * 8


def test_the_embedded_tables_are_as_stored(result: ZeroShotResult):
    metrics = result.metrics.set_index(["diagnostic", "model"])
    stored = pd.read_csv(REFERENCE).set_index(["diagnostic", "model"])
    assert list(metrics.index) == list(stored.index)
    assert (metrics["n_items"] == stored["n_items"]).all()
    for metric in METRICS:
        assert (metrics[metric].isna() == stored[metric].isna()).all(), metric
        # Another processor may turn a near-tie round: one item either way.
        off = (metrics[metric] - stored[metric]).abs().fillna(0)
        assert (off <= 100 / stored["n_items"] + 1e-6).all(), (metric, off.max())


@pytest.mark.parametrize("probe", ["singular", "plural", "paired_singular_plural"])
def test_the_embedded_model_knows_more_than_its_baselines(result: ZeroShotResult, probe: str):
    extended = result.metrics.set_index(["diagnostic", "model"]).loc["lm-diagnostic-extended"]
    own = extended.loc[EMBEDDED]
    for baseline in ("majority", "random:embedded"):
        assert own[f"{probe}_low"] > extended.loc[baseline, f"{probe}_high"]
    # The control prompt is asked of the same items: compared item by item.
    tests = result.mcnemar.set_index(["diagnostic", "metric", "model", "other"])["p_value"]
    assert own[probe] > extended.loc["control:embedded", probe]
    assert tests["lm-diagnostic-extended", probe, "control:embedded", EMBEDDED] < 0.01


def test_contexts_help_more_than_their_words_do(result: ZeroShotResult):
    extended = result.metrics.set_index(["diagnostic", "model"]).loc["lm-diagnostic-extended"]
    own = extended.loc[EMBEDDED]
    assert own["contextual_low"] > extended.loc["majority", "contextual_high"]
    assert own["contextual_low"] > extended.loc["shuffled:embedded", "contextual_high"]
