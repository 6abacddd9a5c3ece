"""The questions that a probe asks about a set, as they stand: text, candidates, right answer.

They are read off the probes themselves. A `Recorder` takes the place of the model and answers each
question with a number of its own, so that the scores in the predictions say which questions they
are of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.models.base import Ranking, Scores, rank_scores
from hyperprobe.options import Article, ExportedProbes
from hyperprobe.probes.consistency.predictions import predict as predict_consistency
from hyperprobe.probes.zero_shot.outcomes import PRIOR, SCORE
from hyperprobe.probes.zero_shot.predictions import predict

NOUN_FREE = "noun-free"
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Question:
    """A text with its slot, the candidates as they are put into it, and the index of the right one
    (none for a text without a noun).

    `probe` is as in a run, `control:singular` for the control prompt of the singular; `wording` is
    what of a consistency probe it is.
    """

    probe: str
    noun: str
    category: str
    text: str
    candidates: tuple[str, ...]
    gold: int | None
    wording: str = ""

    def row(self) -> dict[str, Any]:
        """What a row of an exported table says of it."""
        return {
            "probe": self.probe,
            "noun": self.noun,
            "category": self.category,
            "text": self.text,
            "candidates": list(self.candidates),
            "gold": self.gold,
        }


class Recorder:
    """A `TextModel` that gives each question and candidate a score of its own, and `asked` says
    which: random numbers, so that what is computed from several is none of them."""

    name, kind, reads_text = "recorder", "recorder", True
    max_tokens = n_tokens = 1_000_000  # no text is too long

    def __init__(self) -> None:
        self.asked: dict[float, tuple[str, str]] = {}
        self._numbers = np.random.default_rng(0)

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        pairs = [(cloze.text, word) for cloze in clozes for word in candidates.words]
        numbers = self._numbers.random(len(pairs))  # of 53 bits, which 32 do not hold
        self.asked |= zip(numbers.tolist(), pairs, strict=True)
        return numbers.reshape(len(clozes), len(candidates))  # type: ignore[return-value]

    def rank(
        self, clozes: Sequence[Cloze], candidates: CandidateSet, gold: Sequence[int | None], k: int
    ) -> Ranking:
        return rank_scores(self.score(clozes, candidates), gold, k)

    def rank_open(
        self, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        """No vocabulary: nothing stands at the top of it."""
        ranking = rank_scores(np.zeros((len(clozes), 1), np.float32), [None] * len(clozes), k)
        return ranking, [[""] for _ in clozes]

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        return list(clozes)

    def words(self) -> list[str]:
        return []

    def token_ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        return [()] * len(texts)

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        return [False] * len(words)

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        return [True] * len(words)

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        return [float("nan")] * len(texts)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind}


def questions_of(of_set: DiagnosticSet, probes: ExportedProbes, article: Article) -> list[Question]:
    """What `zero-shot` or `consistency`, which has an article policy of its own, asks about a
    set."""
    if probes == "zero-shot":
        return zero_shot_questions(of_set, article)
    return consistency_questions(of_set)


def slug(name: str) -> str:
    """A name as it may stand in file and task names; of a path, the file's name."""
    return re.sub(r"[^\w-]+", "-", Path(name).stem if "." in name else name).strip("-")


def zero_shot_questions(of_set: DiagnosticSet, article: Article) -> list[Question]:
    """The questions of the zero-shot probes about a set, controls too, each once.

    Open questions have no candidates and are left out. Texts without a noun, from which PMI is
    computed, come last as `NOUN_FREE`.
    """
    recorder = Recorder()
    table = predict(recorder, of_set, article)
    closed = table[table["probe"] != "open"]
    found: list[Question] = []
    for row, names, numbers in _rows(closed, SCORE):
        gold = names.index(str(row.hypernym))
        found += _questions(recorder, numbers, _probe(row), row.item, row.hypernym, gold)
    for _, _, numbers in _rows(closed, PRIOR):
        found += _questions(recorder, numbers, NOUN_FREE, "", "", None)
    return list(dict.fromkeys(found))


def _rows(table: pd.DataFrame, prefix: str) -> Iterator[tuple[Any, list[str], Numbers]]:
    """(row, categories, numbers) of the columns with a prefix."""
    columns = [c for c in table if str(c).startswith(prefix)]
    names = [str(c).removeprefix(prefix) for c in columns]
    for row, numbers in zip(table.itertuples(), table[columns].to_numpy(float), strict=True):
        yield row, names, numbers


def consistency_questions(of_set: DiagnosticSet) -> list[Question]:
    """The questions of the consistency probes about a set, controls too, each once, of those
    that choose between candidates for one text.

    Direction, negation and inheritance compare or average the scores of several texts, and are
    left out. Made-up nouns are those for a model that has none of them as a token.
    """
    recorder = Recorder()
    found = []
    for row in predict_consistency(recorder, of_set).itertuples():
        gold = list(row.candidates).index(row.gold)
        for one in _questions(recorder, row.scores, _probe(row), row.item, row.hypernym, gold):
            if one.candidates == tuple(row.candidates):
                found.append(replace(one, wording=str(row.question)))
    return list(dict.fromkeys(found))


def _probe(row: Any) -> str:
    return f"{str(row.model).removesuffix(Recorder.name)}{row.probe}"


def _questions(
    recorder: Recorder, numbers: Numbers, probe: str, noun: str, category: str, gold: int | None
) -> Iterator[Question]:
    """The question that scores are of; none for those that were computed from several."""
    asked = [recorder.asked[number] for number in numbers.tolist() if number in recorder.asked]
    if len(asked) == len(numbers) > 0 and len({text for text, _ in asked}) == 1:
        words = tuple(word for _, word in asked)
        yield Question(probe, noun, category, asked[0][0], words, gold)
