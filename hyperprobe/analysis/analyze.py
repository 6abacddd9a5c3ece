"""`hyperprobe analyze`: every analysis of one zero-shot run.

Most read the run's predictions alone; those of the wording ask its language
models again, and each (model, set) is stored when it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from hyperprobe.analysis.base import Analysis, Material
from hyperprobe.analysis.corpus_counts import (
    CorpusCounts,
    countable,
    embedded_counts,
    plan_counts,
    read_pair_counts,
)
from hyperprobe.analysis.report import analysis_tables, read_frames
from hyperprobe.analysis.variants import ask_again, with_run_prompt
from hyperprobe.diagnostic.corpus import Skipped, corpus_files
from hyperprobe.diagnostic.sets import DiagnosticSet, load_sets
from hyperprobe.documents import Document
from hyperprobe.engines.cluster import Cluster, compute_on_cluster
from hyperprobe.errors import UserError
from hyperprobe.model_names import distinct_models, has_fixed_answers, is_vectors
from hyperprobe.models.load import identify, load_model
from hyperprobe.names import EMBEDDED, StrPath, listed
from hyperprobe.options import (
    CONCURRENCY,
    KEY_ENV,
    RESULTS,
    Article,
    CausalScoring,
    Dtype,
    ModelOptions,
    Pll,
)
from hyperprobe.registry import ANALYSES, load
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.files import corpus_digests, file_digest
from hyperprobe.runs.jobs import run_job
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run

PREDICTIONS = "predictions.parquet"
COLUMNS = (
    "diagnostic", "model", "probe", "item", "hyponym", "hypernym", "synset", "zipf", "gold",
    "gold_rank", "gold_tied", "best", "best_score",
)  # fmt: skip


class Asked(Document):
    """What an analysis must know of a zero-shot run's settings."""

    models: dict[str, Any]
    diagnostics: dict[str, str]
    article: Article
    dtype: Dtype
    trust_remote_code: bool
    pll: Pll
    causal_scoring: CausalScoring
    limit: int | None = None

    def options(self, reached: ModelOptions) -> ModelOptions:
        """How the run's models were loaded and asked, reached as `reached` says."""
        asked = ("dtype", "trust_remote_code", "pll", "causal_scoring")
        return replace(reached, **{name: getattr(self, name) for name in asked})


@dataclass(frozen=True, repr=False)
class AnalysisResult(Result):
    """The run's `folder`, its `frames` by name, and what of a corpus could not be read."""

    folder: Path
    frames: dict[str, pd.DataFrame]
    skipped: Skipped = field(default_factory=Skipped)
    command: ClassVar[str] = "analyze"

    @classmethod
    def read(cls, run: FinishedRun) -> Self:
        """The result of a finished run."""
        return cls(run.folder, read_frames(run))

    @property
    def metrics(self) -> pd.DataFrame:
        """All results in one frame, each with the `analysis` that it is of."""
        return metrics_of(self.frames)

    def tables(self) -> list[Table]:
        return list(analysis_tables(with_short_names(self.frames)))


def analyze(
    run: StrPath,
    pairs: StrPath | None = None,
    corpus: StrPath | Sequence[StrPath] = (),
    text_field: str = "text",
    ask_models: bool = True,
    results: StrPath = RESULTS,
    device: str = "auto",
    seed: int = 0,
    cluster: Cluster | None = None,
    concurrency: int = CONCURRENCY,
    key_env: str = KEY_ENV,
) -> AnalysisResult:
    """Analyse the zero-shot run in folder `run`; writes a folder with the tables.

    `pairs` is a file of Hearst-pattern counts and `corpus` text to count; without
    `ask_models`, what needs the models again is left out. With a `cluster`, the text is counted
    on its machines. Raises `UserError` when
    there is no such run, or its models or sets are not what they were.
    """
    run, pairs = Path(run), None if pairs is None else Path(pairs)
    given = {name: value for name, value in locals().items() if name != "cluster"}
    reached = ModelOptions(device, concurrency=concurrency, key_env=key_env)
    source = read_run(run)
    if source.command != "zero-shot":
        raise UserError(f"{run} is a run of {source.command}: name one of hyperprobe zero-shot")
    predictions = source.table(PREDICTIONS, COLUMNS)
    settings = source.settings(Asked)
    distinct_models(listed(source.notes.get("options", {}).get("models") or ()))  # their paths
    files = corpus_files(corpus)
    digests = corpus_digests(files)
    identity = {
        "predictions": file_digest(run / PREDICTIONS),
        "pairs": file_digest(pairs) if pairs and pairs.is_file() else None,
        "corpus": digests,
        "field": text_field,
        "ask_models": ask_models,
    }
    made = Run(results, "analyze", identity, given)
    skipped = Skipped()
    counts = [embedded_counts()] if EMBEDDED in set(predictions["model"]) else []
    if pairs:
        counts.append(read_pair_counts(pairs, predictions))
    if files:
        n_left_out = predictions["hyponym"].nunique() - len(countable(predictions))
        if n_left_out:
            skipped.notes.append(
                f"{n_left_out} nouns of several words or with capital letters are not counted in "
                "your corpus"
            )
        of_files = dict(zip(files, digests.values(), strict=True))
        job = plan_counts(made, of_files, predictions, text_field)
        if cluster:
            compute_on_cluster([job], cluster)
        counted, unread = run_job(job)
        counts.append(counted)
        skipped.add(unread)
    sets = _sets(source, settings) if ask_models else {}
    again = _ask(made, source, settings, sets, reached) if ask_models else None
    material = _material(predictions, counts, again, settings, sets, seed)
    analyses: list[Analysis] = [load(name) for name in ANALYSES]
    computed = [analysis.compute(material) for analysis in analyses]
    skipped.notes += _reasons(analyses, computed, material)
    frames = {k: frame for frames in computed for k, frame in frames.items() if len(frame)}
    tables = {"metrics.csv": metrics_of(frames)}
    tables |= {f"{name}.csv": frame for name, frame in frames.items()}
    if again is not None and len(again):
        tables[PREDICTIONS] = again
    made.finish(tables, seed)
    return AnalysisResult(made.folder, frames, skipped)


def metrics_of(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All results in one frame, with a column `analysis`; cells that do not apply are empty."""
    kept = [frame.assign(analysis=name) for name, frame in results_of(frames).items()]
    table = pd.concat(kept, ignore_index=True)
    first = ["analysis", "diagnostic", "model", "probe"]
    return table.reindex(columns=[*first, *(c for c in table.columns if c not in first)])


def results_of(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The frames without those that are long lists."""
    lists = {name for analysis in map(load, ANALYSES) for name in analysis.lists}
    return {name: frame for name, frame in frames.items() if name not in lists}


def _material(
    predictions: pd.DataFrame,
    counts: Sequence[CorpusCounts],
    again: pd.DataFrame | None,
    settings: Asked,
    sets: Mapping[str, DiagnosticSet],
    seed: int,
) -> Material:
    asked = again
    false = {}
    if again is not None and len(again):
        asked = with_run_prompt(predictions, again, settings.article)
        false = {
            (name, row["hyponym"]): row.get("false_hypernym", "")
            for name, one in sets.items()
            for row in one.frame.to_dict("records")
        }
    return Material(predictions, counts, asked, settings.article, sets, false, seed)


def _reasons(
    analyses: Sequence[Analysis],
    computed: Sequence[Mapping[str, pd.DataFrame]],
    material: Material,
) -> Iterator[str]:
    """A line for each analysis that the run's models and sets give nothing for."""
    for analysis, frames in zip(analyses, computed, strict=True):
        reason = analysis.reason(material)
        if reason and frames[analysis.files[0]].empty:
            yield f"{analysis.name}: left out: {reason}"


def _sets(source: FinishedRun, settings: Asked) -> dict[str, DiagnosticSet]:
    """The sets of the run, which are what they were."""
    sets = load_sets(settings.diagnostics, settings.limit)
    for name, one in sets.items():
        if one.digest != settings.diagnostics[name]:
            raise UserError(f"{name} has changed since {source.folder}: run zero-shot again")
    return sets


def _ask(
    made: Run,
    source: FinishedRun,
    settings: Asked,
    sets: Mapping[str, DiagnosticSet],
    reached: ModelOptions,
) -> pd.DataFrame:
    """The predictions of `variants` for each language model and set of the run."""
    parts = []
    for name in settings.models:
        if is_vectors(name) or has_fixed_answers(name):
            continue
        if identify(name) != settings.models[name]:
            raise UserError(
                f"the files of {name} are not those of {source.folder}: put them back, run "
                "zero-shot again, or pass --skip-models"
            )
        loaded: list[Any] = []
        for diagnostic, one in sets.items():

            def compute(
                name: str = name, one: DiagnosticSet = one, loaded: list[Any] = loaded
            ) -> tuple[pd.DataFrame, Any]:
                if not loaded:
                    loaded.append(load_model(name, settings.options(reached)))
                model = loaded[0]
                return ask_again(model, one, settings.article), model.describe()

            cell = made.cell(f"{name} on {diagnostic}", compute)
            parts.append(cell.assign(diagnostic=diagnostic, model=name))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
