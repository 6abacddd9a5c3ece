"""What every model can be asked: log-probabilities (or similarities) of candidates at a slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.statistics.ranks import Stand, stand_of

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Ranking:
    """Where the gold candidate of each cloze stands, and what stands at the top.

    The arrays of gold have shape [n_clozes]. `gold_rank` is 1 + the number of
    candidates that score strictly higher, `gold_tied` the number of others that
    score exactly the same, and `gold_tied_before` how many of those come earlier
    among the candidates. A cloze without a gold candidate, or whose gold has no
    finite score (a word without a vector), has the score NaN, rank 0 and no ties.
    `top` and `top_score` have shape [n_clozes, k]: indices into the candidate set,
    best first, equal scores in the order of the candidates.
    """

    gold_score: Scores
    gold_rank: NDArray[np.int64]
    gold_tied: NDArray[np.int64]
    gold_tied_before: NDArray[np.int64]
    top: NDArray[np.int64]
    top_score: Scores

    @property
    def gold_place(self) -> NDArray[np.int64]:
        """The rank when equal scores stay in the order of the candidates; 0 without a rank."""
        return self.gold_rank + self.gold_tied_before


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
    k = min(k, scores.shape[1])
    places = np.array([0 if g is None else g for g in gold], dtype=np.int64)
    stand = stand_of(scores, places)
    # Stable, so that equal scores stay in candidate order whatever the batch.
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int64)
    return Ranking(*gold_arrays(stand, gold), top, np.take_along_axis(scores, top, axis=1))


def gold_arrays(
    stand: Stand, gold: Sequence[int | None]
) -> tuple[Scores, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The first four arrays of a `Ranking`, from the numpy arrays of a `Stand`."""
    known = np.array([g is not None for g in gold], dtype=bool) & np.isfinite(stand.score)
    counts = (1 + stand.above, stand.tied, stand.tied_before)
    rank, tied, before = (np.where(known, count, 0).astype(np.int64) for count in counts)
    return np.where(known, stand.score, np.nan).astype(np.float32), rank, tied, before
