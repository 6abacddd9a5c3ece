"""Zero-shot hypernymy probes: diagnostic sets x models -> predictions -> metrics.

After Ravichander et al. (2020, section 3): singular, plural and contextual
probes over the categories, open-vocabulary probes, and always beside them the
majority class, the control prompt and static vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic import NAMES
from hyperprobe.diagnostic_files import frame_digest, load_diagnostic
from hyperprobe.metrics.hypernymy import breakdown, compare_models, confusion, summarise
from hyperprobe.models.load import identify, is_vectors, load_model
from hyperprobe.models.names import EMBEDDED, EMBEDDED_VECTORS, RANDOM
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
) -> ZeroShotResult:
    """Ask `models` and the baselines about `diagnostics` (set names or files).

    `controls` adds to the baselines: `shuffled`, the contexts with their words in
    random order; `random`, each language model with random weights in its shape.
    Each (set, model) is stored when it is done, so an interrupted call that is
    repeated goes on where it stopped. Raises `UserError` on bad input.
    """
    frames = {name: load_diagnostic(name) for name in dict.fromkeys(diagnostics)}
    shuffled = "shuffled" in controls
    names = list(dict.fromkeys([*models, *EMBEDDED_VECTORS]))
    if "random" in controls:
        names += [f"{RANDOM}{name}" for name in models if not is_vectors(name)]
    settings = {
        "models": {name: identify(name) for name in names},
        "diagnostics": {name: frame_digest(frame) for name, frame in frames.items()},
        "article": article,
        "shuffled": shuffled,
        "dtype": dtype,
        "trust_remote_code": trust_remote_code,
    }
    run = Run(results, "zero-shot", settings)
    loaded: dict[str, Any] = {}

    def model_called(name: str) -> Any:
        if name not in loaded:
            loaded[name] = load_model(name, device, dtype, trust_remote_code)
        return loaded[name]

    def open_words() -> CandidateSet | None:
        """The vocabulary that static vectors answer from: the first language model's."""
        for name in names:
            model = model_called(name)
            if model.kind != "static":
                return CandidateSet.of(model.words())
        return None

    predictions = []
    for name in names:
        for diagnostic, frame in frames.items():

            def compute(name: str = name, frame: pd.DataFrame = frame) -> tuple[Any, Any]:
                model = model_called(name)
                words = open_words() if model.kind == "static" else None
                return predict(model, frame, article, words, shuffled), model.describe()

            cell = run.cell(f"{name} on {diagnostic}", compute)
            predictions.append(cell.assign(diagnostic=diagnostic))
        if name != names[0]:  # the first one's vocabulary is still asked for
            loaded.pop(name, None)
    for diagnostic, frame in frames.items():
        predictions.append(predict_majority(frame).assign(diagnostic=diagnostic))
    table = _in_order(pd.concat(predictions, ignore_index=True), list(frames), names)
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


def _in_order(table: pd.DataFrame, diagnostics: list[str], names: list[str]) -> pd.DataFrame:
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
    keys = table["diagnostic"].map(diagnostics.index) * len(order) + table["model"].map(order)
    return table.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)
