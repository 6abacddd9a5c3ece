"""What models can be asked: protocols for every model, for those that read prompts, and for
those that gradients reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.statistics.ranks import Stand, stand_of

if TYPE_CHECKING:
    import torch

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
    def gold_list_rank(self) -> NDArray[np.int64]:
        """The rank when equal scores stay in the order of the candidates; 0 without a rank."""
        return self.gold_rank + self.gold_tied_before


class Answerer(Protocol):
    """What answers questions about subjects: a model, or a classifier beside it."""

    @property
    def name(self) -> str:
        """What the rows of its answers call it."""

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """How many word pieces each text is read as; NaN for what reads no pieces."""


class ClozeModel(Answerer, Protocol):
    """A scorer of clozes. Scores of one cloze compare; higher is better."""

    @property
    def kind(self) -> str:
        """The name of its family (`hyperprobe.families`)."""

    @property
    def reads_text(self) -> bool:
        """Whether the text of a cloze plays a part; static vectors see the subject alone."""

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        """The clozes; those too long for the model lose the words farthest from the slot."""

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Scores [n_clozes, n_candidates]: natural log-probabilities over the whole
        vocabulary for language models, cosines for static vectors (NaN where the
        subject has no vector); minus infinity for a candidate that has no vector, or
        is no word of a word-level vocabulary."""

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


@runtime_checkable
class TextModel(ClozeModel, Protocol):
    """A language model: it reads prompts, piece by piece."""

    @property
    def max_tokens(self) -> int:
        """The longest input, special tokens included."""

    @property
    def n_tokens(self) -> int:
        """How many tokens its tokenizer knows."""

    def token_ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of each text, without special tokens."""

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        """Whether the model has each word, in its very spelling, as one token after a space."""

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        """Whether the tokenizer knows all the letters of each word."""

    def rank_open(
        self, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        """`rank` over the whole vocabulary, and the k best tokens as text."""


@runtime_checkable
class PairScorer(Protocol):
    """A model that scores one candidate of each cloze at less cost than all of every one."""

    def score_pairs(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Scores:
        """Scores [n_clozes], as `ClozeModel.score` gives them, of `words[i]` in `clozes[i]`."""


@runtime_checkable
class OpenScorer(Protocol):
    """A model that answers a cloze among candidates and from its vocabulary in one pass."""

    def score_and_rank_open(
        self, clozes: Sequence[Cloze], candidates: CandidateSet, gold: Sequence[str], k: int
    ) -> tuple[Scores, Ranking, list[list[str]]]:
        """`ClozeModel.score` of all clozes, and `TextModel.rank_open` of the first of them, which
        have a gold word."""


@runtime_checkable
class GradientModel(TextModel, Protocol):
    """A masked language model whose weights and input vectors gradients reach.

    What prompts of vectors need of it is in `hyperprobe.models.prompt_vectors`.
    """

    token_budget: int  # padded tokens of a batch
    max_rows: int  # texts of a batch

    @property
    def model(self) -> torch.nn.Module:
        """The network: its weights, and whether dropout is on."""

    @property
    def device(self) -> torch.device:
        """Where the network is."""

    @property
    def tokenizer(self) -> Any:
        """Its Hugging Face tokenizer."""

    def tokenise(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """The token ids of each text, special ones included, as scores are computed from them."""

    def input_embeddings(self) -> torch.nn.Embedding:
        """The table of input vectors [n_rows, dimension], a row for each token."""


def as_text_model(model: ClozeModel) -> TextModel:
    """The model, if it reads prompts. Raises `UserError` for static vectors."""
    if not isinstance(model, TextModel):
        raise UserError(
            f"{model.name} holds static vectors, which read no prompt: name a language model"
        )
    return model


def ranks_vocabulary(model: ClozeModel) -> bool:
    """Whether the model can be asked for the best of all its tokens: static vectors have none, and
    not every server tells."""
    return isinstance(model, TextModel) and getattr(model, "ranks_vocabulary", True)


def as_masked_model(model: ClozeModel, what: str) -> GradientModel:
    """The model, if it is a masked language model, which `what` needs. Raises `UserError`."""
    if not isinstance(model, GradientModel):
        raise UserError(
            f"{what} needs a masked language model, and {model.name} is a {model.kind} one: "
            "name another --model, or another --method"
        )
    return model


def score_pairs(model: ClozeModel, clozes: Sequence[Cloze], words: Sequence[str]) -> Scores:
    """Scores [n_clozes] of `words[i]` in the slot of `clozes[i]`, of any model.

    A model that is no `PairScorer` is asked once for each distinct cloze.
    """
    if isinstance(model, PairScorer):
        return model.score_pairs(clozes, words)
    where: dict[Cloze, list[int]] = {}
    for i, cloze in enumerate(clozes):
        where.setdefault(cloze, []).append(i)
    result = np.empty(len(clozes), dtype=np.float32)
    for cloze, rows in where.items():
        candidates = CandidateSet.of(words[i] for i in rows)
        scores = model.score([cloze], candidates)[0]
        result[rows] = scores[[candidates.index[words[i]] for i in rows]]
    return result


def score_and_rank_open(
    model: ClozeModel,
    clozes: Sequence[Cloze],
    candidates: CandidateSet,
    gold: Sequence[str],
    k: int,
) -> tuple[Scores, Ranking, list[list[str]]]:
    """What an `OpenScorer` gives, of any model that ranks its vocabulary."""
    if isinstance(model, OpenScorer):
        return model.score_and_rank_open(clozes, candidates, gold, k)
    scores = model.score(clozes, candidates)
    return scores, *as_text_model(model).rank_open(clozes[: len(gold)], gold, k)


def shared_words(models: Iterable[ClozeModel]) -> list[str]:
    """The words that every one of the models has as one token, sorted."""
    words = [set(model.words()) for model in models]
    if not words:
        raise UserError("no model: name at least one language model")
    common = set.intersection(*words)
    if not common:
        raise UserError("these models share no word: name --vocab FILE or fewer models")
    return sorted(common)


def rank_scores(scores: Scores, gold: Sequence[int | None], k: int) -> Ranking:
    """The `Ranking` of a full score matrix [n_clozes, n_candidates]."""
    k = min(k, scores.shape[1])
    index = np.array([0 if g is None else g for g in gold], dtype=np.int64)
    stand = stand_of(scores, index)
    top = _top_of(scores, k)
    return Ranking(*gold_arrays(stand, gold), top, np.take_along_axis(scores, top, axis=1))


def rank_in_parts(
    score: Callable[[slice], Scores], gold: Sequence[int | None], k: int, rows: int
) -> Ranking:
    """`rank_scores` of the scores of so many `rows` at a time, which `score` gives."""
    starts = range(0, max(len(gold), 1), rows)
    slices = [slice(start, start + rows) for start in starts]
    parts = [rank_scores(score(some), gold[some], k) for some in slices]
    names = [field.name for field in fields(Ranking)]
    return Ranking(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _top_of(scores: Scores, k: int) -> NDArray[np.int64]:
    """The columns [n, k] of the best scores of each row, equal scores in the order of columns."""
    best = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(scores, best, axis=1)
    # Where several could be the last one, and where there are no scores, all are sorted.
    last = values.min(axis=1, keepdims=True)
    clear = (scores >= last).sum(axis=1) == k
    order = np.argsort(-values, axis=1, kind="stable")
    top: NDArray[np.int64] = np.take_along_axis(best, order, axis=1).astype(np.int64)
    blank: NDArray[np.bool_] = np.asarray(np.isnan(scores).all(axis=1))
    top[blank] = np.arange(k)
    clear |= blank
    top[~clear] = np.argsort(-scores[~clear], axis=1, kind="stable")[:, :k]
    return top


def gold_arrays(
    stand: Stand, gold: Sequence[int | None]
) -> tuple[Scores, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The first four arrays of a `Ranking`, from the numpy arrays of a `Stand`."""
    known = np.array([g is not None for g in gold], dtype=bool) & np.isfinite(stand.score)
    counts = (1 + stand.above, stand.tied, stand.tied_before)
    rank, tied, before = (np.where(known, count, 0).astype(np.int64) for count in counts)
    return np.where(known, stand.score, np.nan).astype(np.float32), rank, tied, before
