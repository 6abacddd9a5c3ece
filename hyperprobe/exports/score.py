"""`score`: predictions from elsewhere get every metric, control and figure of `zero-shot`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from hyperprobe.delimited import normalised
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.sets import default_article, load_sets
from hyperprobe.errors import UserError, quoted
from hyperprobe.exports.questions import Question, zero_shot_questions
from hyperprobe.models.scores import ScoresModel, read_scores
from hyperprobe.names import StrPath, listed, listed_paths
from hyperprobe.options import RESULTS, Article
from hyperprobe.probes.zero_shot.probe import ZeroShotResult, zero_shot


def score(
    files: StrPath | Sequence[StrPath],
    diagnostics: str | Sequence[str] = NAMES,
    article: Article | None = None,
    results: StrPath = RESULTS,
    seed: int = 0,
) -> ZeroShotResult:
    """The zero-shot run on `diagnostics` of the scores in `files`, each those of one system.

    Files are as `hyperprobe.models.scores` says, and answer the questions that `export items`
    lists for the same sets and `article`. Whole kinds of questions may be left out: what needs
    them is then empty. Raises `UserError`, with the line, for what is no such file, for a row that
    is about no question, and for a question without all of its scores.
    """
    paths, diagnostics = listed_paths(files), listed(diagnostics)
    article = article or default_article(diagnostics)
    sets = load_sets(diagnostics)
    questions = [one for of_set in sets.values() for one in zero_shot_questions(of_set, article)]
    for path in paths:
        _check(path, questions, f"{', '.join(sets)} with --article {article}")
    models = [f"{ScoresModel.kind}:{path}" for path in paths]
    return zero_shot(models, diagnostics, article, results=results, seed=seed)


def _check(path: Path, questions: Iterable[Question], asked: str) -> None:
    """Raise `UserError` for a row of the file that no answered question needs."""
    candidates: dict[str, list[set[str]]] = {}
    for question in questions:
        words = {normalised(word) for word in question.candidates}
        candidates.setdefault(normalised(question.text), []).append(words)
    for text, scores in read_scores(path).items():
        of_text = candidates.get(text, [])
        answered = set().union(*(words for words in of_text if words <= scores.keys()))
        for word, (_, line) in scores.items():
            if word in answered:
                continue
            where = f"{path}, {line}"
            if not of_text:
                raise UserError(
                    f"{where}: {quoted(text)} is no question of {asked}: take it out, or name the "
                    "set and the article that hyperprobe export items was given"
                )
            lacking = [sorted(words - scores.keys()) for words in of_text if word in words]
            if not lacking:
                raise UserError(
                    f"{where}: {quoted(word)} is no candidate for {quoted(text)}: take it out"
                )
            missing = min(lacking, key=len)[0]
            raise UserError(f"{where}: {quoted(text)} has no score of {quoted(missing)}: add it")
