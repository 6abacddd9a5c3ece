"""Zero-shot hypernymy probes: diagnostic sets x models -> predictions -> metrics.

After Ravichander et al. (2020, section 3): singular, plural and contextual
probes over the categories, open-vocabulary probes, and always beside them the
majority class, the control prompt and static vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic import NAMES
from hyperprobe.diagnostic_files import frame_digest, load_diagnostic
from hyperprobe.metrics.hypernymy import breakdown, compare_models, confusion, summarise
from hyperprobe.models.autoregressive import Scoring
from hyperprobe.models.load import LastLoaded, identify, is_vectors, load_model
from hyperprobe.models.masked import Pll
from hyperprobe.models.names import EMBEDDED, EMBEDDED_VECTORS, RANDOM, distinct_models
from hyperprobe.models.options import check_device, check_seed
from hyperprobe.predictions import MAJORITY, Article, predict, predict_majority
from hyperprobe.runs import Run

Control = Literal["shuffled", "random"]


@dataclass(frozen=True)
class ZeroShotResult:
    """The run's `folder`, its `predictions`, and the tables made from them alone."""

    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame
    mcnemar: pd.DataFrame


@dataclass(frozen=True)
class Asking:
    """How models are loaded and asked; the options of `zero_shot` by their names."""

    article: Article = "gold"
    shuffled: bool = False
    dtype: str = "fp32"
    pll: Pll = "within-word"
    causal_scoring: Scoring = "full"
    trust_remote_code: bool = False
    device: str = "auto"

    def identity(self) -> dict[str, Any]:
        """What of it decides numbers."""
        return {key: value for key, value in asdict(self).items() if key != "device"}


def zero_shot(
    models: Sequence[str] = (EMBEDDED,),
    diagnostics: Sequence[str] = NAMES,
    article: Article = "gold",
    controls: Sequence[Control] = (),
    results: Path = Path("results"),
    device: str = "auto",
    dtype: str = "fp32",
    trust_remote_code: bool = False,
    seed: int = 0,
    pll: Pll = "within-word",
    causal_scoring: Scoring = "full",
) -> ZeroShotResult:
    """Ask `models` and the baselines about `diagnostics` (set names or files).

    `controls` adds to the baselines: `shuffled`, the contexts with their words in
    random order; `random`, each language model with random weights in its shape.
    `pll` and `causal_scoring` say how masked and autoregressive models score a
    candidate (docs/models.md). Each (set, model) is stored when it is done, so an
    interrupted call that is repeated goes on where it stopped. Raises `UserError`
    on bad input.
    """
    given = dict(locals())
    check_device(device)
    check_seed(seed)
    models = distinct_models(models)
    frames = {name: load_diagnostic(name) for name in dict.fromkeys(diagnostics)}
    names = with_baselines(models, controls)
    how = Asking(
        article, "shuffled" in controls, dtype, pll, causal_scoring, trust_remote_code, device
    )
    settings = {
        "models": {name: identify(name) for name in names},
        "diagnostics": {name: frame_digest(frame) for name, frame in frames.items()},
        **how.identity(),
    }
    run = Run(results, "zero-shot", settings, given)
    models_of = Models(names)
    predictions = [
        answers(run, models_of, name, how, diagnostic, frame, f"{name} on {diagnostic}")
        for name in names
        for diagnostic, frame in frames.items()
    ]
    for diagnostic, frame in frames.items():
        predictions.append(predict_majority(frame).assign(diagnostic=diagnostic))
    table = in_order(pd.concat(predictions, ignore_index=True), list(frames), names)
    metrics = summarise(table, seed)
    mcnemar = compare_models(table)
    run.finish(
        {
            "predictions.parquet": table,
            "metrics.csv": metrics,
            "mcnemar.csv": mcnemar,
            "breakdown.csv": breakdown(table),
            "confusion.csv": confusion(table),
        },
        seed,
    )
    return ZeroShotResult(run.folder, table, metrics, mcnemar)


def with_baselines(models: Sequence[str], controls: Sequence[Control]) -> list[str]:
    """The models' names, with the vectors and controls that are asked beside them."""
    names = [*models, *EMBEDDED_VECTORS]
    if "random" in controls:
        names += [f"{RANDOM}{n}" for n in models if not is_vectors(n) and not n.startswith(RANDOM)]
    return list(dict.fromkeys(names))


class Models:
    """Loads models when they are asked, and holds one at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        # Static vectors answer open questions from the words of the first language model.
        self.speaker = next((name for name in names if not is_vectors(name)), None)
        self._words: CandidateSet | None = None
        self._loaded = LastLoaded(lambda *asked: load_model(*asked))

    def get(self, name: str, how: Asking) -> Any:
        model = self._loaded.get(
            name, how.device, how.dtype, how.trust_remote_code, how.pll, how.causal_scoring
        )
        if name == self.speaker and self._words is None:
            self._words = CandidateSet.of(model.words())
        return model

    def words(self, how: Asking) -> CandidateSet | None:
        """The first language model's words, from which static vectors answer."""
        if self._words is None and self.speaker is not None:
            self.get(self.speaker, how)
        return self._words


def answers(
    run: Run,
    models: Models,
    name: str,
    how: Asking,
    diagnostic: str,
    frame: pd.DataFrame,
    key: str,
) -> pd.DataFrame:
    """One model's predictions on one set: a cell of `run`, computed once."""

    def compute() -> tuple[pd.DataFrame, Any]:
        words = models.words(how) if is_vectors(name) else None
        model = models.get(name, how)
        return predict(model, frame, how.article, words, how.shuffled), model.describe()

    return run.cell(key, compute).assign(diagnostic=diagnostic)


def in_order(table: pd.DataFrame, diagnostics: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """Rows by set, then majority, vectors, control and model, as in the paper's Table 2."""

    def place(model: str) -> tuple[int, int, int]:
        if model == MAJORITY:
            return (0, 0, 0)
        name = model.removeprefix("control:").removeprefix("shuffled:")
        static = f"control:{name}" not in asked and not name.startswith(RANDOM)
        kind = ("control", "shuffled").index(model.split(":")[0]) if name != model else 2
        group = 1 if static else 2 if name.startswith(RANDOM) else 3
        return (group, names.index(name), kind)

    asked = set(table["model"])
    order = {model: i for i, model in enumerate(sorted(asked, key=place))}
    keys = table["diagnostic"].map(list(diagnostics).index) * len(order) + table["model"].map(order)
    return table.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)
