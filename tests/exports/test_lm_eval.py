"""The exported tasks, run by lm-evaluation-harness: the same answers as ours, item by item."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hyperprobe.exports.lm_eval import export_lm_eval
from hyperprobe.probes.consistency import probe as consistency_probe
from hyperprobe.probes.consistency.outcomes import outcomes
from hyperprobe.probes.consistency.probe import consistency
from hyperprobe.probes.zero_shot import ask
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.probes.zero_shot.probe import zero_shot
from tests.tiny_models import save_model

lm_eval = pytest.importorskip("lm_eval")
SET = "lm-diagnostic"


def evaluate(folder: Path, tasks: list[str], model: Path) -> dict[str, Any]:
    from lm_eval.tasks import TaskManager

    return lm_eval.simple_evaluate(
        model="hf",
        model_args={"pretrained": str(model), "dtype": "float32", "device": "cpu"},
        tasks=tasks,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        batch_size=16,
        bootstrap_iters=0,
        log_samples=True,
    )


# Byte-level BPE without an opening token; SentencePiece with one before every text.
@pytest.mark.parametrize("architecture", ["GPT2", "Llama"])
@pytest.mark.parametrize("article", ["gold", "marginal"])
def test_zero_shot_answers_are_ours(
    architecture: str, article: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
    model = save_model(architecture, tmp_path / "model")
    (group,) = export_lm_eval(tmp_path / "tasks", [SET], article)
    done = evaluate(tmp_path / "tasks", [group], model)
    ours = zero_shot(
        str(model), SET, article, results=tmp_path / "results", causal_scoring="continuation"
    )
    table = ours.predictions
    for prefix in ("", "control:", "control-bare:"):
        mine = table[table["model"] == f"{prefix}{model}"]
        right = outcome_table(mine)
        for probe in sorted(set(mine["probe"]) - {"open"}):
            task = f"{group}_{prefix.replace(':', '-')}{probe}"
            rows = mine[mine["probe"] == probe].set_index("item")
            for sample in done["samples"][task]:
                row = rows.loc[sample["doc"]["noun"]]
                scores = [answer[0] for answer in sample["filtered_resps"]]
                mine_too = [row[c] for c in rows if c.startswith("score_")]
                assert scores == pytest.approx(mine_too, abs=2e-4)
                assert sample["acc"] == (row["gold_rank"] == 1)
            found = done["results"][task]
            assert found["acc,none"] == pytest.approx(right[probe].mean())
            calibrated = right[f"{probe}_calibrated"].mean()
            assert found["acc_calibrated,none"] == pytest.approx(calibrated)
            assert len(done["samples"][task]) == len(rows)


def test_consistency_answers_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(consistency_probe, "EMBEDDED_VECTORS", ())
    model = save_model("GPT2", tmp_path / "model")
    (group,) = export_lm_eval(tmp_path / "tasks", [SET], "gold", "consistency")
    probes = ("wordings", "siblings", "premise", "steps", "control-wordings")
    tasks = [f"{group}_{probe}" for probe in probes]
    done = evaluate(tmp_path / "tasks", tasks, model)
    ours = consistency(str(model), SET, results=tmp_path / "results", causal_scoring="continuation")
    asked = outcomes(ours.predictions)
    for probe, task in zip(probes, tasks, strict=True):
        name = f"control:{model}" if probe.startswith("control") else str(model)
        of_probe = asked["probe"] == probe.removeprefix("control-")
        rows = asked[of_probe & (asked["model"] == name)].set_index(["item", "question"])["raw"]
        samples = done["samples"][task]
        keys = [(one["doc"]["noun"], one["doc"]["wording"]) for one in samples]
        assert sorted(keys) == sorted(rows.index)
        assert [one["acc"] for one in samples] == pd.Series(rows).reindex(keys).tolist()
