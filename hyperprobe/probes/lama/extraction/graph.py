"""The graph of extracted triples, and the objects that it ranks for a fact.

A triple is `sentence, relation, subject, object, confidence`: the number of its sentence, names
as they stand there, and the extractor's probability. Petroni et al. (2019, section 4.3) link
names to the facts asked in two ways:

- naive: a name is the entity whose label is the same string;
- oracle: a triple from a sentence that states a fact of its relation is that fact, whatever its
  own subject and object; any other triple is linked as in naive.

The objects of a subject are ranked by the highest confidence of a triple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import Scores, rank_scores
from hyperprobe.names import RE_NAIVE, RE_ORACLE
from hyperprobe.probes.lama.extraction.sentences import Sentence, relation_key, spaced
from hyperprobe.probes.lama.predictions import TOP_K, answers_frame
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation

Graph = dict[tuple[str, str], dict[str, float]]  # (relation, subject) -> object -> confidence


def naive_graph(triples: pd.DataFrame) -> Graph:
    """Names as they stand in the sentences."""
    graph: Graph = {}
    for row in triples.itertuples():
        _add(graph, row.relation, row.subject, row.object, row.confidence)
    return graph


def oracle_graph(triples: pd.DataFrame, sentences: Sequence[Sentence]) -> Graph:
    """Triples of a sentence that states facts of their relation are these facts."""
    graph: Graph = {}
    for row in triples.itertuples():
        said = sentences[row.sentence].statements
        linked = [one for one in said if one.relation == row.relation]
        for one in linked:
            names = spaced(one.subject), spaced(one.object)
            _add(graph, row.relation, *names, row.confidence)
        if not linked:
            _add(graph, row.relation, row.subject, row.object, row.confidence)
    return graph


def _add(graph: Graph, relation: str, subject: str, answer: str, confidence: float) -> None:
    objects = graph.setdefault((relation, subject), {})
    objects[answer] = max(confidence, objects.get(answer, 0.0))


def lowered(graph: Graph) -> Graph:
    """The graph with all names in lower case."""
    lower: Graph = {}
    for (relation, subject), objects in graph.items():
        for answer, confidence in objects.items():
            _add(lower, relation, subject.lower(), answer.lower(), confidence)
    return lower


@dataclass(frozen=True)
class Linked:
    """The graphs of the folds under one way of linking; answers facts as a model does."""

    name: str
    graphs: Sequence[Graph]
    folds: Mapping[str, int]  # subject in lower case -> the fold whose graph answers for it

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """NaN for each text: it reads no pieces."""
        return [float("nan")] * len(texts)

    def score(self, relation: Relation, facts: Sequence[Fact], candidates: CandidateSet) -> Scores:
        """Log confidences [n_facts, n_candidates], minus infinity for what was not extracted."""
        column: dict[str, list[int]] = {}
        for i, word in enumerate(candidates.words):
            column.setdefault(spaced(word), []).append(i)
        scores: Scores = np.full((len(facts), len(candidates)), -np.inf, dtype=np.float32)
        for i, fact in enumerate(facts):
            fold = self.folds.get(fact.subject.lower())
            if fold is not None:
                key = relation_key(relation), spaced(fact.subject)
                for answer, confidence in self.graphs[fold].get(key, {}).items():
                    scores[i, column.get(answer, [])] = np.log(confidence)
        return scores


def link(
    triples: Sequence[pd.DataFrame],
    sentences: Sequence[Sentence],
    folds: Mapping[str, int],
    lowercase: bool,
) -> list[Linked]:
    """The two baselines, from the triples of each fold."""
    naive = [naive_graph(of_fold) for of_fold in triples]
    oracle = [oracle_graph(of_fold, sentences) for of_fold in triples]
    if lowercase:
        naive, oracle = list(map(lowered, naive)), list(map(lowered, oracle))
    return [Linked(RE_NAIVE, naive, folds), Linked(RE_ORACLE, oracle, folds)]


def predict_extracted(
    linked: Linked, relation: Relation, facts: Sequence[Fact], candidates: CandidateSet
) -> pd.DataFrame:
    """The predictions frame of one baseline; a gold object that was not extracted has rank 0."""
    gold = [candidates.index[fact.object] for fact in facts]
    ranking = rank_scores(linked.score(relation, facts, candidates), gold, TOP_K)
    clozes = [fact.cloze(relation.template) for fact in facts]
    prompt = relation.template or "masked sentence"
    frame = answers_frame(linked, relation, facts, clozes, candidates, ranking, prompt)
    n_extracted = np.isfinite(ranking.top_score).sum(axis=1)
    for column in ("top", "top_scores"):
        frame[column] = [row[:n] for row, n in zip(frame[column], n_extracted, strict=True)]
    return frame
