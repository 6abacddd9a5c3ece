"""Relation extraction as a baseline: nets of two folds -> triples -> answers.

The net of a fold is trained on the sentences about the subjects of the other, by distant
supervision: a pair of mentions is in the relation of the fact that the sentence is evidence of,
or of any training fact that names both; other pairs are in none. It then reads the sentences of
its fold, and only what it finds there answers for the fold's subjects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.load import load_static
from hyperprobe.names import EMBEDDED_VECTORS
from hyperprobe.probes.lama.extraction.graph import link, predict_extracted
from hyperprobe.probes.lama.extraction.net import NONE, Example, extract, train
from hyperprobe.probes.lama.extraction.sentences import (
    N_FOLDS,
    Sentence,
    Span,
    Words,
    find_mentions,
    folds_of_subjects,
    names_in,
    relation_key,
    spaced,
    split,
)
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.runs.jobs import Answers, Cell

RE = "re"
TRIPLE = ("sentence", "relation", "subject", "object", "confidence")
Known = Mapping[tuple[str, str], int]  # (subject, object) -> label
Asked = Sequence[tuple[Relation, list[Fact], CandidateSet]]


def cells_of_re(sentences: Sequence[Sentence], files: Mapping[str, str], seed: int) -> list[Cell]:
    """The triples of each fold, a cell. `files` are the digests of those with the sentences."""
    folds = folds_of_subjects(sentences, seed)
    return [
        Cell(
            f"{RE}: fold {fold}",
            "",
            [fold, dict(files), seed],
            lambda models, fold=fold: _extract(sentences, folds, fold, seed),  # type: ignore[misc]
            len(sentences),
            one_thread=True,
        )
        for fold in range(N_FOLDS)
    ]


def predict_re(
    triples: Sequence[pd.DataFrame],
    sentences: Sequence[Sentence],
    asked: Asked,
    lowercase: bool,
    seed: int,
) -> list[pd.DataFrame]:
    """The answers of both baselines to the facts of each relation that has sentences.

    `triples` are the frames of `cells_of_re`.
    """
    baselines = link(triples, sentences, folds_of_subjects(sentences, seed), lowercase)
    evidenced = relations_in(sentences)
    return [
        predict_extracted(baseline, relation, facts, candidates)
        for baseline in baselines
        for relation, facts, candidates in asked
        if relation_key(relation) in evidenced
    ]


def relations_in(sentences: Sequence[Sentence]) -> list[str]:
    """The relations that have sentences, in order."""
    return sorted({said.relation for one in sentences for said in one.statements})


def _extract(
    sentences: Sequence[Sentence],
    folds: Mapping[str, int],
    fold: int,
    seed: int,
) -> Answers:
    """The triples in the sentences of a fold, and what its net was trained on."""
    vectors = load_static(EMBEDDED_VECTORS[0])
    index: Mapping[str, int] = vectors.vectors.key_to_index
    relations = relations_in(sentences)
    training, tested = split(sentences, folds, fold)
    names = names_in(training)
    known = _known_facts(training, relations)
    examples = [_training_example(one, names, known, relations, index) for one in training]
    net = train(examples, vectors.vectors.vectors, 1 + len(relations), seed + fold)
    asked = [
        _example(sentences[i], find_mentions(sentences[i].words, names), index) for i in tested
    ]
    rows = [
        (i, relations[label - 1], *map(sentences[i].text, pair), float(confidence))
        for i, example, found in zip(tested, asked, extract(net, asked), strict=True)
        for pair, label, confidence in zip(example.pairs, *found, strict=True)
        if label != NONE
    ]
    about = {
        "name": RE,
        "kind": "relation extractor",
        "vectors": EMBEDDED_VECTORS[0],
        "relations": relations,
        "training_sentences": len(training),
        "sentences": len(tested),
        "triples": len(rows),
    }
    return pd.DataFrame(rows, columns=list(TRIPLE)), about


def _known_facts(training: Sequence[Sentence], relations: Sequence[str]) -> Known:
    """The training facts by the names of subject and object: labels, and surfaces in sentences."""
    known: dict[tuple[str, str], int] = {}
    for one in training:
        for said in one.statements:
            label = 1 + relations.index(said.relation)
            known.setdefault((spaced(said.subject), spaced(said.object)), label)
            if said.spans is not None:
                subject, answer = map(one.text, said.spans)
                known.setdefault((subject, answer), label)
    return known


def _training_example(
    sentence: Sentence,
    names: frozenset[Words],
    known: Known,
    relations: Sequence[str],
    index: Mapping[str, int],
) -> Example:
    stated = {
        said.spans: 1 + relations.index(said.relation)
        for said in reversed(sentence.statements)
        if said.spans is not None
    }
    spans = [span for pair in reversed(stated) for span in pair]
    example = _example(sentence, find_mentions(sentence.words, names, spans), index)
    labels = [
        stated.get(pair) or known.get((sentence.text(pair[0]), sentence.text(pair[1])), NONE)
        for pair in example.pairs
    ]
    return Example(example.words, example.pairs, tuple(labels))


def _example(sentence: Sentence, mentions: Sequence[Span], index: Mapping[str, int]) -> Example:
    """The sentence with all ordered pairs of its mentions; word 0 has no vector."""
    words: NDArray[np.int64] = np.array([1 + index.get(w.lower(), -1) for w in sentence.words])
    return Example(words, tuple(permutations(mentions, 2)))
