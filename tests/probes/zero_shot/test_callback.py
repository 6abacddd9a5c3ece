"""Probes in the middle of a real training leave the training as it is."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import hyperprobe as hp
from hyperprobe.errors import UserError
from hyperprobe.models import loaded
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot import callback

pytest.importorskip("accelerate")
import transformers

SET = "lm-diagnostic"
N_STEPS = 5


def predict(*asked: Any) -> pd.DataFrame:
    """Asks, and uses up random numbers of every generator."""
    torch.rand(1), np.random.rand(), random.random()
    return PREDICT(*asked)


PREDICT = callback.predict


class Recorder(transformers.TrainerCallback):
    """What W&B or TensorBoard would get."""

    def __init__(self) -> None:
        self.logged: list[dict[str, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.logged.append({**logs, "step": state.global_step})


class Draws(torch.utils.data.Dataset):
    """Rows with random numbers of all three generators, as augmentation draws them."""

    def __len__(self) -> int:
        return 2 * N_STEPS

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        seed = int(torch.randint(99, ())) + np.random.randint(99) + random.randrange(99)
        ids = torch.randint(5, 40, (8,), generator=torch.Generator().manual_seed(seed))
        return {"input_ids": ids, "labels": ids}


def train(
    folder: Path, output: Path, probe: hp.ProbeCallback | None, attach: bool = True, **more: Any
) -> tuple[Any, Recorder]:
    """A trainer after its training, with dropout and with a part of the model in eval mode."""
    transformers.set_seed(0)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    recorder = Recorder()
    arguments = transformers.TrainingArguments(
        output_dir=str(output), max_steps=N_STEPS, per_device_train_batch_size=2, logging_steps=1,
        report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True, **more,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, train_dataset=Draws(), callbacks=[recorder],
    )  # fmt: skip
    if probe and attach:
        assert probe.attach(trainer) is probe
    elif probe:
        trainer.add_callback(probe)
    trainer.train()
    return trainer, recorder


def losses(recorder: Recorder) -> list[float]:
    return [logs["loss"] for logs in recorder.logged if "loss" in logs]


@pytest.fixture(scope="module", autouse=True)
def nothing_to_collect() -> None:
    """The trainer collects garbage several times, over all objects of a test run that are not
    frozen."""
    gc.freeze()


@pytest.fixture(scope="module")
def tokenizer(tiny_models: dict[str, Path]) -> Any:
    return transformers.AutoTokenizer.from_pretrained(tiny_models["bert"])


def test_training_is_the_same_bit_for_bit(
    tiny_models: dict[str, Path],
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    before = dict(loaded._LOADED)
    plain, expected = train(tiny_models["bert"], tmp_path / "plain", None)
    monkeypatch.setattr(callback, "predict", predict)
    probe = hp.ProbeCallback(tokenizer, every=2, diagnostics=SET)
    probed, recorder = train(tiny_models["bert"], tmp_path / "probed", probe)
    for (name, one), (_, other) in zip(
        plain.model.state_dict().items(), probed.model.state_dict().items(), strict=True
    ):
        assert one.equal(other), name
    assert len(losses(expected)) == N_STEPS and losses(recorder) == losses(expected)
    assert before == loaded._LOADED  # no name is left of weights that have changed

    folder = tmp_path / "probed" / "hyperprobe"
    steps = pd.read_csv(folder / "steps.csv")
    assert list(steps["step"].unique()) == [0, 2, 4, 5]
    assert {"growth.csv", "steps.svg", "steps.png"} <= {path.name for path in folder.iterdir()}
    # The last row is that of the trained model, asked from its folder.
    probed.save_model(str(tmp_path / "saved"))
    tokenizer.save_pretrained(tmp_path / "saved")
    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.EMBEDDED_VECTORS", ())
    whole = hp.zero_shot(str(tmp_path / "saved"), SET, results=tmp_path)
    row = whole.adds[whole.adds["probe"] == "singular"].iloc[0]
    last = steps[(steps["step"] == N_STEPS) & (steps["probe"] == "singular")].iloc[0]
    for column in ("raw", "calibrated", "control_calibrated", "adds"):
        assert last[column] == pytest.approx(row[column])
    logged = {logs["step"]: logs for logs in recorder.logged if "loss" not in logs}
    assert logged[N_STEPS][f"hyperprobe/{SET}/singular/calibrated"] == last["calibrated"]
    assert set(logged) >= {0, 2, 4, 5}


def test_a_resumed_training_continues_its_table(
    tiny_models: dict[str, Path], tokenizer: Any, tmp_path: Path
):
    probe = hp.ProbeCallback(tokenizer, every=3, diagnostics=SET, results=tmp_path)
    probe.folder = tmp_path
    pd.DataFrame({"step": [0, 3, 6], "model": "x"}).to_csv(tmp_path / "steps.csv", index=False)
    assert probe._before(6)["step"].tolist() == [0, 3] and probe._before(0).empty


def test_modes_of_modules_are_put_back(tiny_models: dict[str, Path]):
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny_models["bert"]).train()
    model.bert.embeddings.eval()
    before = [module.training for module in model.modules()]
    with callback.untouched(model):
        model.eval()
    assert [module.training for module in model.modules()] == before and False in before


def test_only_the_start_of_training_may_fail(
    tiny_models: dict[str, Path],
    tokenizer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    n_asked = 0

    def fails(name: str, options: Any) -> Any:
        nonlocal n_asked
        n_asked += 1
        if n_asked > 1:
            raise UserError("no memory is left")
        return load_model(name, options)

    monkeypatch.setattr(callback, "load_model", fails)
    probe = hp.ProbeCallback(tokenizer, every=3, diagnostics=SET)
    trainer, _ = train(tiny_models["bert"], tmp_path, probe, attach=False)
    assert trainer.state.global_step == N_STEPS
    assert "probing at step 3: no memory is left" in capsys.readouterr().err
    # Without the trainer's log its history has the numbers.
    (logs,) = [one for one in trainer.state.log_history if f"hyperprobe/{SET}/plural/raw" in one]
    assert logs["step"] == 0
    with pytest.raises(UserError, match="no memory is left"):
        train(tiny_models["bert"], tmp_path, probe)
    with pytest.raises(UserError, match="every 0 steps"):
        hp.ProbeCallback(tokenizer, every=0)
