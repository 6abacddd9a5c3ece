"""The embedded model's tables, stored under `results/reference`, recomputed."""

from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from hyperprobe.names import EMBEDDED
from hyperprobe.probes.zero_shot.metrics import ADJUSTED, HEADLINE
from hyperprobe.probes.zero_shot.outcomes import METRICS
from hyperprobe.probes.zero_shot.probe import ZeroShotResult
from hyperprobe.runs.read import read_run
from tests.commands import run
from tests.conftest import Within

REFERENCE = Path(__file__).parents[3] / "results" / "reference" / "zero-shot-metrics.csv"


@pytest.fixture(scope="module")
def done(
    all_vectors: Within, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, CompletedProcess[str]]:
    """The main job as a user runs it, with all controls: its folder, and what it says."""
    folder = tmp_path_factory.mktemp("work")
    controls = ("--control", "shuffled", "--control", "random")
    with all_vectors():
        return folder, run(folder, "zero-shot", "--paired", *controls)


@pytest.fixture(scope="module")
def result(done: tuple[Path, CompletedProcess[str]]) -> ZeroShotResult:
    (folder,) = (done[0] / "results").iterdir()
    return ZeroShotResult.read(read_run(folder))


def test_the_main_job_from_the_command_line(done: tuple[Path, CompletedProcess[str]]):
    folder, said = done
    assert said.returncode == 0, said.stderr
    for text in (
        "lm-diagnostic (18 items)", "lm-diagnostic-extended (576 items)", "majority", "word2vec",
        "glove", "fasttext", "control:embedded", "what the question adds", "kappa", "McNemar",
        "design effect", "vegetable",
    ):  # fmt: skip
        assert text in said.stdout
    (results,) = (folder / "results").iterdir()
    assert str(results.relative_to(folder)) in said.stderr
    assert len(pd.read_csv(results / "metrics.csv")) == 2 * 9


def test_the_embedded_tables_are_as_stored(result: ZeroShotResult):
    metrics = result.metrics.set_index(["diagnostic", "model"])
    stored = pd.read_csv(REFERENCE).set_index(["diagnostic", "model"])
    assert list(metrics.index) == list(stored.index)
    assert (metrics["n_items"] == stored["n_items"]).all()
    for metric in (*METRICS, *ADJUSTED):
        assert (metrics[metric].isna() == stored[metric].isna()).all(), metric
        # Another processor may turn a near-tie round: one item either way.
        off = (metrics[metric] - stored[metric]).abs().fillna(0)
        assert (off <= 100 / stored["n_items"] + 1e-6).all(), (metric, off.max())


def test_ten_lines_of_pandas_agree(result: ZeroShotResult):
    metrics = result.metrics.set_index(["diagnostic", "model"])
    asked = result.predictions[result.predictions["probe"] != "open"]
    for (diagnostic, model, probe), rows in asked.groupby(["diagnostic", "model", "probe"]):
        rows = rows.set_index("hyponym")
        scores = rows[[c for c in rows if c.startswith("score_") and rows[c].notna().any()]]
        others = (scores.sum() - scores) / (scores.notna().sum() - 1)
        lifted = (scores - others).round(6)
        best = lifted.eq(lifted.max(axis=1), axis=0)
        gold = [best.loc[noun, f"score_{c}"] for noun, c in rows["hypernym"].items()]
        accuracy = 100 * (gold / best.sum(axis=1).clip(lower=1)).mean()
        ours = metrics.loc[(diagnostic, model), f"{probe}_calibrated"]
        assert ours == pytest.approx(accuracy, abs=1e-9), (diagnostic, model, probe)


@pytest.mark.parametrize("metric", [m for m in HEADLINE if m.endswith("calibrated")])
def test_the_embedded_model_knows_more_than_one_that_knows_nothing(
    result: ZeroShotResult, metric: str
):
    extended = result.metrics.set_index(["diagnostic", "model"]).loc["lm-diagnostic-extended"]
    for baseline in ("majority", "random:embedded"):
        assert extended.loc[EMBEDDED][f"{metric}_low"] > extended.loc[baseline, f"{metric}_high"]


def test_contexts_help_more_than_their_words_do(result: ZeroShotResult):
    adds = result.adds.set_index(["diagnostic", "model", "probe"])
    row = adds.loc["lm-diagnostic-extended", EMBEDDED, "contextual"]
    assert row["control"] == f"shuffled:{EMBEDDED}"
    assert row["adds_low"] > 0 and row["p_holm"] < 0.01


def test_what_the_question_adds_is_the_difference_of_the_metrics(result: ZeroShotResult):
    metrics = result.metrics.set_index(["diagnostic", "model"])
    for row in result.adds.to_dict("records"):
        of_set = metrics.loc[row["diagnostic"]]
        metric = f"{row['probe']}_calibrated"
        gap = of_set.loc[row["model"], metric] - of_set.loc[row["control"], metric]
        assert row["adds"] == pytest.approx(gap)
        assert row["adds_low"] <= row["adds"] <= row["adds_high"]
        rivals = [m for m in of_set.index if m.startswith("control") and m.endswith(row["model"])]
        if row["probe"] != "contextual":
            assert row["control_calibrated"] == max(of_set.loc[m, metric] for m in rivals)
