"""The exported task, run by Inspect with a model that always says the same letter."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from hyperprobe.diagnostic.sets import load_set
from hyperprobe.exports.inspect_ai import export_inspect
from hyperprobe.exports.questions import zero_shot_questions

SET = "lm-diagnostic"


@pytest.mark.enable_socket  # asyncio's own
def test_inspect_counts_what_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inspect_ai = pytest.importorskip("inspect_ai")
    # It counts tokens with a vocabulary that it would download.
    words = SimpleNamespace(encode=lambda text, **_: text.split())
    monkeypatch.setattr("tiktoken.get_encoding", lambda name: words)
    from inspect_ai.model import ModelOutput, get_model

    (path,) = export_inspect(tmp_path, [SET], "gold")
    questions = zero_shot_questions(load_set(SET), "gold")
    gold = [one.gold for one in questions if one.probe == "plural"]
    says_b = [ModelOutput.from_content("mockllm/model", "ANSWER: B") for _ in gold]
    with contextlib.chdir(tmp_path):
        (log,) = inspect_ai.eval(
            path.name,
            model=get_model("mockllm/model", custom_outputs=says_b),
            task_args={"probe": "plural"},
            log_dir=str(tmp_path / "logs"),
            display="none",
        )
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(
        gold.count(1) / len(gold)
    )
    assert {sample.id for sample in log.samples} == set(load_set(SET).frame["hyponym"])
