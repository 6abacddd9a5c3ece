"""The baseline `retrieve-read`: DrQA's two steps, asked for the object of each fact."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from hyperprobe.cloze import SLOT, CandidateSet
from hyperprobe.documents import Document, read_json
from hyperprobe.errors import UserError
from hyperprobe.models.base import Scores
from hyperprobe.names import RETRIEVE_READ
from hyperprobe.probes.lama.predictions import answers_frame, rank_facts
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.progress import progress
from hyperprobe.reading.answers import RetrieveRead


class Question(Document):
    """A question of SQuAD."""

    id: str
    question: str


class Paragraph(Document):
    """The questions about a paragraph."""

    qas: list[Question]


class Article(Document):
    """The paragraphs of an article."""

    paragraphs: list[Paragraph]


class Squad(Document):
    """A file of SQuAD."""

    data: list[Article]


def read_questions(path: Path) -> dict[str, str]:
    """Id -> question of a file in SQuAD's layout. Raises `UserError` for another, or an empty
    one."""
    asked = {
        question.id: question.question
        for article in read_json(path, Squad, "questions").data
        for paragraph in article.paragraphs
        for question in paragraph.qas
    }
    if not asked:
        raise UserError(f"{path} has no questions: name a file of SQuAD")
    return asked


def question_of(fact: Fact, relation: Relation, questions: Mapping[str, str]) -> str:
    """The question with the fact's id, which LAMA has followed by `_` and a number; else the
    cloze without its slot."""
    for name in (fact.id, fact.id.rpartition("_")[0]):
        if name in questions:
            return questions[name]
    return " ".join(fact.cloze(relation.template).text.replace(SLOT, " ").split())


class _Answerer:
    """What a predictions frame says of the baseline."""

    name = RETRIEVE_READ

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        return [np.nan] * len(texts)


def predict_retrieve_read(
    found: RetrieveRead,
    relation: Relation,
    facts: Sequence[Fact],
    candidates: CandidateSet,
    questions: Mapping[str, str],
    lowercase: bool,
) -> pd.DataFrame:
    """The candidates ranked by the best score of each as a one-word answer in the documents found.

    A candidate that does not stand there has no rank. `text` is the question as it was asked.
    """
    known = {unicodedata.normalize("NFC", word): i for i, word in enumerate(candidates.words)}
    with progress(f"{RETRIEVE_READ}: {relation.name}", len(facts)) as advance:

        def score(some: Sequence[Fact]) -> Scores:
            scores = np.full((len(some), len(candidates)), -np.inf, dtype=np.float32)
            for row, fact in zip(scores, some, strict=True):
                answers = found.answers(question_of(fact, relation, questions))
                for word, value in answers.items():
                    column = known.get(word.lower() if lowercase else word)
                    if column is not None:
                        row[column] = max(row[column], value)
                advance(1)
            return scores

        gold = [candidates.index[fact.object] for fact in facts]
        ranking = rank_facts(facts, gold, score)
    clozes = [fact.cloze(relation.template) for fact in facts]
    prompt = relation.template or "masked sentence"
    frame = answers_frame(_Answerer(), relation, facts, clozes, candidates, ranking, prompt)
    # What does not stand in the documents is no answer.
    kept = [[value for value in row if value > -np.inf] for row in frame["top_scores"]]
    frame["top"] = [row[: len(some)] for row, some in zip(frame["top"], kept, strict=True)]
    frame["top_scores"] = kept
    frame["text"] = [question_of(fact, relation, questions) for fact in facts]
    return frame
