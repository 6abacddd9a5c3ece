"""Labelled pairs: files of pairs x models, scores and counts -> predictions -> metrics.

Detection, direction and graded entailment as hypernymysuite computes them (Roller, Kiela &
Nickel 2018), of anything that gives a pair a score; beside it what random scores get, and what
the frequency of the hypernym gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Unpack

import pandas as pd

from hyperprobe.documents import read_lines
from hyperprobe.errors import UserError
from hyperprobe.models.load import identify, load_model, touching_settings
from hyperprobe.models.loaded import GivenModels, model_names
from hyperprobe.names import EMBEDDED, EMBEDDED_VECTORS, FREQ, HEARST, StrPath, listed_paths
from hyperprobe.options import RESULTS, ModelKeywords, ModelOptions, check_seed
from hyperprobe.probes.pairs import report
from hyperprobe.probes.pairs.files import PairSet, read_pairs, read_scores
from hyperprobe.probes.pairs.hearst import COUNTS_FILE, PatternCounts
from hyperprobe.probes.pairs.metrics import summarise
from hyperprobe.probes.pairs.scoring import ask, frequencies, given, of_model
from hyperprobe.render.drawn import draw_once
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.result import Result
from hyperprobe.render.table import Table
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.jobs import Answers, Cell, Job, LastLoaded, as_function
from hyperprobe.runs.read import FinishedRun
from hyperprobe.runs.run import Run

MODELS = (EMBEDDED, EMBEDDED_VECTORS[0])  # asked where nothing is named
Answer = Callable[[PairSet, LastLoaded], Answers]


@dataclass(frozen=True, repr=False, eq=False)
class PairsResult(Result):
    """The run's `folder`, its `predictions`, and the metrics made from them."""

    command: ClassVar[str] = "pairs"
    folder: Path
    predictions: pd.DataFrame
    metrics: pd.DataFrame

    @classmethod
    def read(cls, run: FinishedRun) -> PairsResult:
        """The result of a finished run. Raises `UserError` if its tables are damaged."""
        needs = ("diagnostic", "model", "measure", "hyponym", "hypernym", "score", "known")
        predictions = run.table(report.PREDICTIONS, needs)
        return cls(run.folder, predictions, run.table(report.METRICS, report.NEEDS))

    def tables(self) -> list[Table]:
        """The metrics of every set and model."""
        return report.tables(with_short_names({"metrics": self.metrics})["metrics"])


def plan_pairs(
    files: StrPath | Sequence[StrPath],
    models: GivenModels | None = None,
    scores: StrPath | Sequence[StrPath] = (),
    hearst: StrPath | None = None,
    results: StrPath = RESULTS,
    seed: int = 0,
    **keywords: Unpack[ModelKeywords],
) -> Job[PairsResult]:
    """Score the labelled pairs of `files` (see docs/pairs.md for their formats).

    `models` are language models and vectors, by default the embedded ones, or none where
    `scores` or `hearst` is given: files of scores of your own, and a file of counts of pairs in
    Hearst's patterns. Keywords are the fields of `ModelOptions`. Each (model, file) is stored
    when it is done, so an interrupted call that is repeated continues. Raises `UserError` on bad
    input.
    """
    files, scores = listed_paths(files), listed_paths(scores)
    models = model_names(default_models(scores, hearst) if models is None else models)
    given_options = dict(locals())
    options = ModelOptions(**keywords)
    check_seed(seed)
    sets, counts = _read_sets(files), None if hearst is None else Path(hearst)
    answers = _answers(models, scores, counts, options)
    settings: dict[str, Any] = {
        "models": {name: identify(name) for name in models},
        "files": {pair_set.name: file_digest(path) for path, pair_set in sets.items()},
        "scores": {str(path): file_digest(path) for path in scores},
        "hearst": None if counts is None else file_digest(counts),
        **options.identity_of(partial(touching_settings, models, options.trust_remote_code)),
    }
    ids = {FREQ: None, HEARST: settings["hearst"], **settings["scores"], **settings["models"]}
    cells = [
        Cell(
            f"{name} on {pair_set.name}",
            name if name in models else "",
            [name, ids[name], settings["files"][pair_set.name], options.identity()],
            partial(answer, pair_set),
            len(pair_set.frame),
        )
        for name, answer in answers.items()  # each model is loaded once
        for pair_set in sets.values()
    ]
    run = Run(results, "pairs", settings, given_options)
    return Job(run, cells, partial(_finish, list(sets.values()), list(answers), seed))


pairs = as_function(plan_pairs)


def _finish(
    sets: Sequence[PairSet],
    names: Sequence[str],
    seed: int,
    run: Run,
    frames: Sequence[pd.DataFrame],
) -> PairsResult:
    """The tables and figures, made from the answers alone, written into the run's folder.

    `frames` are by name and then by set, the predictions the other way round.
    """
    asked = zip(product(names, sets), frames, strict=True)
    parts = {(of_set.name, name): frame for (name, of_set), frame in asked}
    for (diagnostic, name), frame in parts.items():
        frame.insert(0, "model", name)
        frame.insert(0, "diagnostic", diagnostic)
    predictions = pd.concat(
        [parts[s.name, name] for s in sets for name in names], ignore_index=True
    )
    metrics = summarise(predictions, seed).merge(_about(sets), on="diagnostic")
    short = with_short_names({"metrics": metrics})["metrics"]
    drawn = draw_once(run, lambda: report.pictures(short))
    run.finish({report.PREDICTIONS: predictions, report.METRICS: metrics}, seed, drawn)
    return PairsResult(run.folder, predictions, metrics)


def default_models(scores: Sequence[StrPath], hearst: StrPath | None) -> tuple[str, ...]:
    """The models that are asked where none is named: none beside scores or counts of a user."""
    return () if scores or hearst else MODELS


def _read_sets(paths: Sequence[Path]) -> dict[Path, PairSet]:
    """Each file's pairs. Raises `UserError` for files of one name."""
    if not paths:
        raise UserError("no file of pairs: name one")
    sets = {path: read_pairs(path) for path in dict.fromkeys(paths)}
    names: dict[str, Path] = {}
    for path, pair_set in sets.items():
        if names.setdefault(pair_set.name, path) != path:
            raise UserError(f"{names[pair_set.name]} and {path} have one name: rename one")
    return sets


def _answers(
    models: Sequence[str], scores: Sequence[Path], hearst: Path | None, options: ModelOptions
) -> dict[str, Answer]:
    """What scores pairs, under its name in the tables; models and counts are loaded when asked."""
    for name in map(str, scores):
        if name in models:
            raise UserError(f"{name} is named as --model and as --scores: it can be but one")

    def of_frequency(pair_set: PairSet, models: LastLoaded) -> Answers:
        return ask(frequencies, pair_set), {"kind": "wordfreq"}

    def of_name(name: str, pair_set: PairSet, models: LastLoaded) -> Answers:
        model = models.get(load_model, name, options)
        return ask(of_model(model), pair_set), model.describe()

    # (what is wrong with a small file is said before any model is asked)
    tables = {path: read_scores(path) for path in scores}

    def of_scores(path: Path, pair_set: PairSet, models: LastLoaded) -> Answers:
        frame = ask(partial(given, tables[path]), pair_set)
        if not frame["known"].any():
            raise UserError(f"{path} scores no pair of {pair_set.name}: check its words")
        return frame, {"kind": "scores", "file": str(path), "sha256": file_digest(path)}

    counts = cache(PatternCounts.read)

    def of_counts(path: Path, pair_set: PairSet, models: LastLoaded) -> Answers:
        about = {"kind": "pattern counts", "file": str(path), "sha256": file_digest(path)}
        return ask(counts(path).score, pair_set), about

    answers: dict[str, Answer] = {FREQ: of_frequency}
    if hearst is not None:
        next(read_lines(hearst, COUNTS_FILE), None)
        answers[HEARST] = partial(of_counts, hearst)
    answers |= {str(path): partial(of_scores, path) for path in scores}
    return answers | {name: partial(of_name, name) for name in models}


def _about(sets: Sequence[PairSet]) -> pd.DataFrame:
    """Pairs of each set that are not of nouns and left out, and that stand there before."""
    rows = [(s.name, s.n_other_pos, s.n_repeated) for s in sets]
    return pd.DataFrame(rows, columns=["diagnostic", "n_other_pos", "n_repeated"])
