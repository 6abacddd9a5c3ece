"""What can be guessed from the training facts without any network (Zhong et al. 2021, B.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import TextModel, rank_scores
from hyperprobe.probes.lama.predictions import TOP_K, answers_frame
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.prompts.splits import Split

CLASS_PRIOR, NAIVE_BAYES = "class-prior", "naive-bayes"


@dataclass(frozen=True)
class _Classifier:
    """What a predictions frame says of what answered."""

    name: str

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """NaN for each text: what a subject's pieces are is the tokenizer's matter."""
        return [float("nan")] * len(texts)


def majority(facts: Sequence[Fact]) -> str:
    """The most frequent object; of equally frequent ones the first in the alphabet."""
    counts = Counter(fact.object for fact in facts)
    return min(counts, key=lambda word: (-counts[word], word))


def predict_class_prior(split: Split, facts: Sequence[Fact]) -> pd.DataFrame:
    """The predictions frame of P(o | r): objects by how often train has them, then by letter."""
    counts = Counter(fact.object for fact in split.train)
    classes = CandidateSet(tuple(sorted(counts, key=lambda word: (-counts[word], word))))
    row = np.log([counts[word] / len(split.train) for word in classes.words])
    return _frame(CLASS_PRIOR, split, facts, classes, np.tile(row, (len(facts), 1)))


def predict_naive_bayes(split: Split, facts: Sequence[Fact], model: TextModel) -> pd.DataFrame:
    """The predictions frame of P(o | r) times the product of P(w | o) over the word pieces w
    of the subject, with add-one smoothing over the whole vocabulary of `model`'s tokenizer.

    The appendix writes P(o | w_i), with the sum over w in V below the line: as it
    stands that is the share of w among the pieces of o's subjects, which is what a
    multinomial naive Bayes classifier estimates.
    """
    from sklearn.naive_bayes import MultinomialNB

    classifier = MultinomialNB(alpha=1.0)
    classifier.fit(_pieces(model, split.train), [fact.object for fact in split.train])
    classes = CandidateSet(tuple(str(word) for word in classifier.classes_))
    scores = classifier.predict_joint_log_proba(_pieces(model, facts))
    return _frame(NAIVE_BAYES, split, facts, classes, scores)


def _pieces(model: TextModel, facts: Sequence[Fact]) -> Any:
    """How often each token is in each subject: a sparse table [n_facts, vocabulary]."""
    from scipy.sparse import csr_matrix

    texts = [fact.subject for fact in facts]
    encoded = model.token_ids(texts)
    rows = np.repeat(np.arange(len(facts)), [len(ids) for ids in encoded])
    columns = np.array([token for ids in encoded for token in ids], dtype=int)
    shape = (len(facts), model.n_tokens)
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


def _frame(
    name: str, split: Split, facts: Sequence[Fact], classes: CandidateSet, scores: Any
) -> pd.DataFrame:
    """An object that train never has cannot be found: rank 0."""
    gold = [classes.index.get(fact.object) for fact in facts]
    ranking = rank_scores(scores, gold, TOP_K)
    clozes = [fact.cloze(split.template) for fact in facts]
    return answers_frame(_Classifier(name), split.relation, facts, clozes, classes, ranking, name)
