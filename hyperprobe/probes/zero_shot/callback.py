"""Zero-shot probes during a training with transformers' `Trainer`, every so many steps."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
import torch
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import default_article, load_sets
from hyperprobe.errors import UserError, one_line
from hyperprobe.models.load import load_model
from hyperprobe.models.loaded import forget, model_names
from hyperprobe.names import StrPath, listed
from hyperprobe.options import Article, ModelKeywords, ModelOptions
from hyperprobe.probes.zero_shot.contrasts import question_adds, with_adds
from hyperprobe.probes.zero_shot.curves import steps_pictures
from hyperprobe.probes.zero_shot.metrics import summarise
from hyperprobe.probes.zero_shot.outcomes import outcome_tables
from hyperprobe.probes.zero_shot.predictions import predict, predict_majority
from hyperprobe.probes.zero_shot.steps import growth, over_steps
from hyperprobe.render.figure import save_figures
from hyperprobe.revisions import Step
from hyperprobe.runs.files import write_frame

TRAINING = "training"  # what the model is called in the tables
STEPS, GROWTH = "steps.csv", "growth.csv"
LOGGED = ("raw", "calibrated", "control_calibrated", "adds")


class ProbeCallback(TrainerCallback):  # type: ignore[misc]
    """Asks the model in training about `diagnostics`, at the start, every `every` steps and at the
    end.

    The training is the same, bit for bit, as without it. `attach(trainer)` adds it to a trainer
    and sends its numbers to the trainer's log, and so to W&B, TensorBoard and the like. In
    `results` (default: the folder `hyperprobe` in the trainer's `output_dir`) are the predictions
    of each step and the table of `steps`, and at the end `growth.csv` and the figure. A training
    that is resumed continues the table. Keywords are those fields of `ModelOptions` that say how
    a model is asked.

    Only the main process asks. What cannot be asked is a `UserError` at the start of training;
    later it is a line on standard error, and training goes on.
    """

    def __init__(
        self,
        tokenizer: Any,
        every: int = 500,
        diagnostics: str | Sequence[str] = NAMES,
        article: Article | None = None,
        results: StrPath | None = None,
        **keywords: Unpack[ModelKeywords],
    ) -> None:
        if every < 1:
            raise UserError(f"every {every} steps: give a whole number from 1")
        self.tokenizer, self.every = tokenizer, every
        self.sets = load_sets(names := listed(diagnostics))
        self.article = article or default_article(names)
        self.options = ModelOptions(**keywords)
        self.steps = pd.DataFrame()
        self._results = results
        self._trainer: Trainer | None = None

    def attach(self, trainer: Trainer) -> ProbeCallback:
        """The callback itself, added to the trainer."""
        self._trainer = trainer
        trainer.add_callback(self)
        return self

    # -- events of the trainer -------------------------------------------------------------

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        if not state.is_world_process_zero:
            return
        if args.deepspeed or args.fsdp:
            raise UserError(
                "the weights are shared out over processes, so that no process can ask the model: "
                "probe the saved checkpoints, as --model FOLDER@STEP"
            )
        self.folder = Path(self._results or Path(args.output_dir) / "hyperprobe")
        self.steps = self._before(state.global_step)
        self._probe(state, control, model)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        if state.is_world_process_zero and state.global_step % self.every == 0:
            self._try(state, lambda: self._probe(state, control, model))

    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        if not state.is_world_process_zero:
            return
        if state.global_step not in set(self.steps["step"]):
            self._try(state, lambda: self._probe(state, control, model))
        self._try(state, self._finish)

    # -- asking ----------------------------------------------------------------------------

    def _try(self, state: TrainerState, ask: Callable[[], None]) -> None:
        """What fails does not end the training."""
        try:
            ask()
        except UserError as error:
            print(one_line(f"probing at step {state.global_step}: {error}"), file=sys.stderr)

    def _probe(self, state: TrainerState, control: TrainerControl, model: Any) -> None:
        """Ask the model, add to the table of steps, and log."""
        number = state.global_step
        with untouched(model):
            predictions = self._ask(model, _name(number))
        outcomes = outcome_tables(predictions)
        adds = question_adds(predictions, outcomes=outcomes)
        metrics = with_adds(summarise(predictions, outcomes=outcomes), adds)
        step = {_name(number): Step(TRAINING, number)}
        rows = over_steps(predictions, metrics, adds, step)
        self.steps = pd.concat([self.steps, rows], ignore_index=True)
        write_frame(self.folder / _file(number), predictions)
        write_frame(self.folder / STEPS, self.steps)
        self._log(rows, state, control)

    def _ask(self, model: Any, name: str) -> pd.DataFrame:
        """The predictions of the model in memory and of the majority baseline."""
        (held,) = model_names((model, self.tokenizer))
        try:
            asked = load_model(held, self.options)
            parts = []
            for diagnostic, one in self.sets.items():
                answers = predict(asked, one, self.article)
                answers["model"] = answers["model"].str.replace(held, name, regex=False)
                parts += [frame.assign(diagnostic=diagnostic) for frame in
                          (predict_majority(one.frame), answers)]  # fmt: skip
        finally:
            forget(held)  # the weights under this name change with the next step
        return pd.concat(parts, ignore_index=True)

    def _log(self, rows: pd.DataFrame, state: TrainerState, control: TrainerControl) -> None:
        logs = {
            f"hyperprobe/{row['diagnostic']}/{row['probe']}/{key}": float(row[key])
            for row in rows.to_dict("records")
            for key in LOGGED
            if row[key] == row[key]
        }
        if self._trainer is None:
            state.log_history.append({**logs, "step": state.global_step})
            return
        due = control.should_log  # a log clears it, and the loss is still to be logged
        self._trainer.log(logs)
        control.should_log = due

    def _before(self, step: int) -> pd.DataFrame:
        """The table that an interrupted training left, up to the step from which it is resumed."""
        path = self.folder / STEPS
        if not step or not path.is_file():
            return pd.DataFrame()
        table = pd.read_csv(path)
        return table[table["step"] < step]

    def _finish(self) -> None:
        """The figure, and what the question adds at the last step minus at the first."""
        save_figures(self, steps_pictures(self.steps))
        kept = [n for n in sorted(set(self.steps["step"])) if (self.folder / _file(n)).is_file()]
        ends = {_name(n): Step(TRAINING, n) for n in kept[:1] + kept[1:][-1:]}
        if len(ends) == 2:
            frames = [pd.read_parquet(self.folder / _file(step.number)) for step in ends.values()]
            answers = pd.concat(frames, ignore_index=True)
            outcomes = outcome_tables(answers)
            adds = question_adds(answers, outcomes=outcomes)
            write_frame(self.folder / GROWTH, growth(answers, adds, outcomes, ends))


def _name(step: int) -> str:
    return f"{TRAINING}@step{step}"


def _file(step: int) -> str:
    return f"predictions-step{step}.parquet"


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """Puts back what asking changes: training mode of each module, states of random generators."""
    modes = [(module, module.training) for module in model.modules()]
    python, numbers = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        random.setstate(python)
        np.random.set_state(numbers)
