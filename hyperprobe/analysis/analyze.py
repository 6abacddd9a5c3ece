"""`hyperprobe analyze`: every analysis of one zero-shot run.

Most read the run's predictions alone; the wording analyses ask its language
models again, and each (model, set) is stored when it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.analysis.agreement import agreement, category_scores
from hyperprobe.analysis.corpus_counts import (
    CorpusCounts,
    count_file,
    embedded_counts,
    read_pair_counts,
    sum_counts,
)
from hyperprobe.analysis.errors import error_shares, open_errors
from hyperprobe.analysis.frequency import frequency_curve, frequency_test
from hyperprobe.analysis.memorisation import memorisation_effect, pair_effect
from hyperprobe.analysis.prior import prior_correction
from hyperprobe.analysis.variants import ask_again
from hyperprobe.analysis.wording import (
    article_leak,
    negation,
    template_accuracy,
    template_spread,
    with_own_prompt,
)
from hyperprobe.diagnostic.corpus import Skipped, corpus_files
from hyperprobe.diagnostic.files import frame_digest, load_diagnostic
from hyperprobe.documents import Document
from hyperprobe.errors import UserError
from hyperprobe.models.load import identify, load_model
from hyperprobe.names import EMBEDDED, is_vectors
from hyperprobe.options import Article, CausalScoring, Dtype, ModelOptions, Pll, check_device
from hyperprobe.progress import progress
from hyperprobe.runs.files import corpus_digests, file_digest
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.run import Run

PREDICTIONS = "predictions.parquet"
# Tables that are long lists rather than results, and are left out of `metrics.csv`.
LISTS = ("open_errors", "category_scores")


COLUMNS = (
    "diagnostic", "model", "probe", "item", "hyponym", "hypernym", "zipf", "gold_rank", "best",
    "best_score",
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

    def options(self, device: str) -> ModelOptions:
        """How the run's models were loaded and asked, on `device`."""
        return ModelOptions(
            device, self.dtype, self.trust_remote_code, self.pll, self.causal_scoring
        )


@dataclass(frozen=True)
class Analysis:
    """Where the tables lie, and each by name; what of a corpus could not be read."""

    folder: Path
    tables: dict[str, pd.DataFrame]
    skipped: Skipped


def analyze(
    run: Path,
    pairs: Path | None = None,
    corpus: Sequence[Path] = (),
    text_field: str = "text",
    ask_models: bool = True,
    results: Path = Path("results"),
    device: str = "auto",
    seed: int = 0,
) -> Analysis:
    """Analyse the zero-shot run in folder `run`; writes a folder of its own with the tables.

    `pairs` is a file of Hearst-pattern counts and `corpus` text to count; without
    `ask_models`, what needs the models again is left out. Raises `UserError` when
    there is no such run, or its models or sets are not what they were.
    """
    given = dict(locals())
    check_device(device)
    source = read_run(run)
    if source.command != "zero-shot":
        raise UserError(f"{run} is a run of {source.command}: name one of hyperprobe zero-shot")
    predictions = source.table(PREDICTIONS, COLUMNS)
    asked = source.settings(Asked)
    files = corpus_files(corpus)
    digests = corpus_digests(files)
    settings = {
        "predictions": file_digest(run / PREDICTIONS),
        "pairs": file_digest(pairs) if pairs and pairs.is_file() else None,
        "corpus": digests,
        "field": text_field,
        "ask_models": ask_models,
    }
    made = Run(results, "analyze", settings, given)
    skipped = Skipped()
    counts = [embedded_counts()] if EMBEDDED in set(predictions["model"]) else []
    if pairs:
        counts.append(read_pair_counts(pairs, predictions))
    if files:
        counts.append(_count(made, digests, predictions, text_field, skipped))
    tables = _from_predictions(predictions, counts, seed)
    again = _ask(made, source, asked, device) if ask_models else pd.DataFrame()
    if len(again):
        tables |= _from_variants(predictions, again, asked)
    skipped.notes += _inapplicable(tables, predictions, ask_models)
    tables = {name: table for name, table in tables.items() if len(table)}
    files_of = {f"{name}.csv": table for name, table in tables.items()}
    made.finish(
        {PREDICTIONS: again, "metrics.csv": metrics_of(tables), **files_of}
        if len(again)
        else {"metrics.csv": metrics_of(tables), **files_of},
        seed,
    )
    return Analysis(made.folder, tables, skipped)


def metrics_of(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """All results in one frame, told apart by `analysis`; what a row has not is empty."""
    kept = [t.assign(analysis=name) for name, t in tables.items() if name not in LISTS]
    table = pd.concat(kept, ignore_index=True)
    first = ["analysis", "diagnostic", "model", "probe"]
    return table.reindex(columns=[*first, *(c for c in table.columns if c not in first)])


def _inapplicable(
    tables: Mapping[str, pd.DataFrame], predictions: pd.DataFrame, ask_models: bool
) -> Iterator[str]:
    """A line for each analysis that the run's models and sets give nothing for."""
    reasons = {
        "frequency": "the sets' nouns have no frequency, or are all right or all wrong",
        "pairs": "no corpus was counted that has some of the pairs and not others",
        "errors": "no open answer is wrong",
        "prior": "no language model was asked",
        "article": "no language model was asked",
        "negation": "the sets have no negated prompts, or no language model was asked",
    }
    if EMBEDDED in set(predictions["model"]):
        reasons["coin"] = f"none of the sets' nouns was tossed a coin for in {EMBEDDED}'s text"
    if not ask_models:
        reasons = {k: v for k, v in reasons.items() if k not in ("article", "negation")}
    for name, reason in reasons.items():
        if name not in tables or tables[name].empty:
            yield f"{name}: left out: {reason}"


def _from_predictions(
    predictions: pd.DataFrame, counts: Sequence[CorpusCounts], seed: int
) -> dict[str, pd.DataFrame]:
    errors = open_errors(predictions)
    asked_embedded = EMBEDDED in set(predictions["model"])
    return {
        "frequency": frequency_test(predictions, counts),
        "frequency_curve": frequency_curve(predictions, counts, seed),
        "coin": memorisation_effect(predictions, seed) if asked_embedded else pd.DataFrame(),
        "pairs": pair_effect(predictions, counts, seed),
        "errors": error_shares(errors),
        "agreement": agreement(predictions),
        "prior": prior_correction(predictions, seed),
        "open_errors": errors,
        "category_scores": category_scores(predictions),
    }


def _from_variants(
    predictions: pd.DataFrame, again: pd.DataFrame, settings: Asked
) -> dict[str, pd.DataFrame]:
    article = settings.article
    asked = with_own_prompt(predictions, again, article)
    false = {
        (name, row["hyponym"]): row.get("false_hypernym", "")
        for name in settings.diagnostics
        for row in load_diagnostic(name).to_dict("records")
    }
    return {
        "article": article_leak(asked),
        "negation": negation(asked, article, false),
        "templates": template_spread(asked, article),
        "template_accuracy": template_accuracy(asked, article),
    }


def _ask(made: Run, source: FinishedRun, settings: Asked, device: str) -> pd.DataFrame:
    """The predictions of `variants` for each language model and set of the run."""
    frames = {name: load_diagnostic(name) for name in settings.diagnostics}
    for name, frame in frames.items():
        if frame_digest(frame) != settings.diagnostics[name]:
            raise UserError(f"{name} has changed since {source.folder}: run zero-shot again")
    parts = []
    for name in settings.models:
        if is_vectors(name):
            continue
        if identify(name) != settings.models[name]:
            raise UserError(
                f"the files of {name} are not those of {source.folder}: put them back, run "
                "zero-shot again, or pass --skip-models"
            )
        loaded: list[Any] = []
        for diagnostic, frame in frames.items():

            def compute(
                name: str = name, frame: pd.DataFrame = frame, loaded: list[Any] = loaded
            ) -> tuple[pd.DataFrame, Any]:
                if not loaded:
                    loaded.append(load_model(name, settings.options(device)))
                model = loaded[0]
                return ask_again(model, frame, settings.article), model.describe()

            cell = made.cell(f"{name} on {diagnostic}", compute)
            parts.append(cell.assign(diagnostic=diagnostic, model=name))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _count(
    made: Run, files: dict[str, str], predictions: pd.DataFrame, field: str, skipped: Skipped
) -> CorpusCounts:
    """The counts of a user's corpus; each file's are stored when it is done."""
    tables = []
    total = sum(Path(path).stat().st_size for path in files)
    with progress("counting", total, unit="bytes") as advance:
        for path, digest in files.items():
            place = 0

            def at(now: int) -> None:
                nonlocal place
                advance(now - place)
                place = now

            tables.append(
                made.cell(
                    f"counts of {path} {digest}",
                    lambda path=path, at=at: (  # type: ignore[misc]
                        count_file(Path(path), predictions, field, skipped, at),
                        None,
                    ),
                )
            )
    return sum_counts("your corpus", tables)
