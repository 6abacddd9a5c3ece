"""What every model can be asked: log-probabilities (or similarities) of candidates at a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Ranking:
    """Where the gold candidate of each cloze stands, and what stands at the top.

    `gold_score` and `gold_rank` have shape [n_clozes]; a cloze without a gold
    candidate, or whose model cannot score it, has NaN and 0. `top` and
    `top_score` have shape [n_clozes, k]: indices into the candidate set, best
    first. A rank is 1 + the number of candidates that score strictly higher.
    """

    gold_score: Scores
    gold_rank: NDArray[np.int64]
    top: NDArray[np.int64]
    top_score: Scores


class ClozeModel(Protocol):
    """A scorer of clozes. Scores of one cloze compare; higher is better."""

    name: str
    kind: str  # "masked", "causal", "seq2seq" or "static"

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Scores [n_clozes, n_candidates]: natural log-probabilities over the whole
        vocabulary for language models, cosines for static vectors (NaN where the
        subject has no vector, minus infinity for a candidate that has none)."""

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        """The `Ranking` of `gold` (indices into `candidates`) and the top k."""

    def words(self) -> list[str]:
        """The words that the model can put into a slot as one token."""

    def describe(self) -> dict[str, Any]:
        """What identifies the model in a run: source, revision or hashes, settings."""


def rank_scores(scores: Scores, gold: Sequence[int | None], k: int) -> Ranking:
    """The `Ranking` of a full score matrix [n_clozes, n_candidates]."""
    n, n_candidates = scores.shape
    k = min(k, n_candidates)
    known = np.array([g is not None for g in gold]) & ~np.isnan(scores).all(axis=1)
    places = np.array([0 if g is None else g for g in gold])
    gold_score = scores[np.arange(n), places]
    gold_rank = 1 + (scores > gold_score[:, None]).sum(axis=1)
    # Stable, so that equal scores stay in candidate order whatever the batch.
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Ranking(
        np.where(known, gold_score, np.nan).astype(np.float32),
        np.where(known, gold_rank, 0).astype(np.int64),
        top.astype(np.int64),
        np.take_along_axis(scores, top, axis=1),
    )
