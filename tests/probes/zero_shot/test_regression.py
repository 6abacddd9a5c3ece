"""The embedded model's tables, stored under `results/reference`, recomputed."""

from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.names import EMBEDDED
from hyperprobe.probes.zero_shot.outcomes import METRICS
from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot

REFERENCE = Path(__file__).parents[3] / "results" / "reference" / "zero-shot-metrics.csv"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ZeroShotResult:
    return zero_shot(controls=["shuffled", "random"], results=tmp_path_factory.mktemp("results"))


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
