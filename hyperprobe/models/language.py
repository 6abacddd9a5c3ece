"""What the families of language models share: questions, batches, checks.

A family says how a block of clozes is scored (`_closed`, `_ranked`, `_open`); the
answers to users' questions are made from those blocks here. It also says how its models
are recognised by their configuration and what it needs of their tokenizer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.heap import keep_freed_memory
from hyperprobe.models.base import Ranking, Scores
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.ranking import Blocks, ranking_of
from hyperprobe.models.spelling import Spelling, boundary
from hyperprobe.options import ModelOptions

# Scores held at once, in numbers: 8 MB of float32, or what one batch gives.
BLOCK_NUMBERS = 2_000_000
CPU_TOKENS, GPU_TOKENS = 2048, 65_536
# Rows of a batch: each costs a row of scores over the whole vocabulary.
CPU_ROWS, GPU_ROWS = 128, 4096


def no_marks(name: str, wanted: str) -> UserError:
    """What to raise for a model whose tokenizer marks no slot."""
    return UserError(
        f"{name} has no {wanted} to mark a slot with: name another model, or repair its "
        "tokenizer files"
    )


class LanguageModel(Spelling, ABC):
    """A language model as a `ClozeModel`: one of Hugging Face, or a network and a tokenizer that
    answer as those do."""

    kind: ClassVar[str]
    # The transformers classes that read its weights, and the table of the types that have one.
    auto_class: ClassVar[str]
    mapping: ClassVar[str]
    reads_text = True
    loaded_by: ModelOptions | None = None  # the options that `load_model` was given

    def __init__(self, name: str, model: Any, tokenizer: Any, source: dict[str, Any]) -> None:
        super().__init__(name, model, tokenizer)
        self.device = model.device
        on_cpu = model.device.type == "cpu"
        if on_cpu:
            keep_freed_memory()
        self.token_budget = CPU_TOKENS if on_cpu else GPU_TOKENS
        self.max_rows = CPU_ROWS if on_cpu else GPU_ROWS
        # Of the scores: half-precision weights still give scores in single precision.
        self.precision = torch.promote_types(model.dtype, torch.float32)
        self._source = source
        self.tokens_read = 0  # padded, in all forward passes

    # -- what a family says of itself -----------------------------------------------------

    @classmethod
    def made(
        cls, name: str, model: Any, tokenizer: Any, source: dict[str, Any], options: ModelOptions
    ) -> LanguageModel:
        """The model, asked as `options` say."""
        return cls(name, model, tokenizer, source)

    @classmethod
    def certainty(cls, config: Any, classes: Sequence[str]) -> int:
        """How sure a configuration, whose type the family's table has, and the names of the
        model's classes are of this family: the most certain family is taken, 0 is none."""
        return 0

    @classmethod
    def slot_marks(cls, name: str, tokenizer: Any) -> Sequence[str]:
        """The tokens that mark a slot. Raises `UserError` for a tokenizer without them."""
        return ()

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            **self._source,
            "architecture": type(self.model).__name__,
            "n_parameters": sum(p.numel() for p in self.model.parameters()),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": str(self.device),
        }

    def again(self, name: str, *asked: object) -> LanguageModel | None:
        """What `load_model` would load, of the network that is here; None if it needs another, or
        `asked` are other things than its options."""
        options = asked[0] if asked else None
        if name != self.name or not self.loaded_by or not isinstance(options, ModelOptions):
            return None
        if not self.loaded_by.loads_as(options):
            return None
        made = self.made(name, self.model, self.tokenizer, self._source, options)
        made.loaded_by, made.max_rows = options, self.max_rows
        return made

    # -- forward passes ---------------------------------------------------------------

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and attention mask [n_rows, longest], filled up on the right."""
        length = max(len(row) for row in rows)
        self.tokens_read += len(rows) * length
        ids = torch.full((len(rows), length), self.tokenizer.pad_token_id or 0)
        attention = torch.zeros((len(rows), length), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            attention[i, : len(row)] = 1
        return ids.to(self.device), attention.to(self.device)

    def _log_probs(self, logits: torch.Tensor) -> torch.Tensor:
        """Log-probabilities over the whole vocabulary."""
        log_probs: torch.Tensor = logits.to(self.device, self.precision)
        return log_probs.sub_(log_probs.logsumexp(dim=-1, keepdim=True))

    def _in_batches(
        self,
        lengths: Sequence[int],
        run: Callable[[list[int]], None],
        advance: Callable[[int], None] = lambda n: None,
    ) -> None:
        """`run_in_batches` under this model's budget, which stays small once it had to shrink."""
        self.token_budget = run_in_batches(lengths, run, self.token_budget, self.max_rows, advance)

    # -- questions --------------------------------------------------------------------

    @abstractmethod
    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        """(indices of clozes, scores [n_indices, n_candidates]), block after block."""

    def _ranked(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        """`_closed` for very many candidates."""
        return self._closed(clozes, candidates)

    def _paired(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Blocks:
        """(indices of clozes, scores [n_indices, 1] of each one's own word), block after block."""
        where: dict[str, list[int]] = {}
        for i, word in enumerate(words):
            where.setdefault(word, []).append(i)
        for word, of_word in where.items():
            asked = self._closed([clozes[i] for i in of_word], CandidateSet((word,)))
            for block, scores in asked:
                yield [of_word[i] for i in block], scores

    def _closed_and_open(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks | None:
        """`_closed` with the scores over the vocabulary behind those of the candidates, each text
        run once for both; None where a family cannot do that."""
        return None

    @abstractmethod
    def _open(self, clozes: Sequence[Cloze]) -> Blocks:
        """Scores over the vocabulary [n_indices, n_tokens], block after block."""

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Natural log-probabilities [n_clozes, n_candidates] over the whole vocabulary."""
        result = np.empty((len(clozes), len(candidates)), dtype=np.float32)
        for indices, scores in self._checked(clozes, self._closed(clozes, candidates)):
            result[indices] = scores.cpu().numpy()
        return result

    def score_pairs(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Scores:
        """`score` of `words[i]` in the slot of `clozes[i]` [n_clozes]: no cloze is asked for
        the words of another."""
        result = np.empty(len(clozes), dtype=np.float32)
        for indices, scores in self._checked(clozes, self._paired(clozes, words)):
            result[indices] = scores[:, 0].cpu().numpy()
        return result

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        """The rank of each gold candidate and the k best, without keeping all scores."""
        blocks = self._checked(clozes, self._ranked(clozes, candidates))
        return ranking_of(blocks, gold, min(k, len(candidates)))

    def rank_open(
        self, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        """`rank` over the model's whole vocabulary, and the k best tokens as text.

        A gold word that is several pieces in this vocabulary cannot be found: rank 0.
        """
        return self._open_ranking(self._checked(clozes, self._open(clozes)), clozes, gold, k)

    def score_and_rank_open(
        self, clozes: Sequence[Cloze], candidates: CandidateSet, gold: Sequence[str], k: int
    ) -> tuple[Scores, Ranking, list[list[str]]]:
        """`score` of all clozes, and `rank_open` of the first of them, which have a gold word."""
        n, opened = len(candidates), clozes[: len(gold)]
        blocks = self._closed_and_open(clozes, candidates)
        if blocks is None:
            return self.score(clozes, candidates), *self.rank_open(opened, gold, k)
        scores = np.empty((len(clozes), n), dtype=np.float32)

        def over_vocabulary(blocks: Blocks) -> Blocks:
            """The scores of clozes with a gold word; those of candidates stay in `scores`."""
            for indices, both in self._checked(clozes, blocks):
                scores[indices] = both[:, :n].cpu().numpy()
                rows = [row for row, i in enumerate(indices) if i < len(gold)]
                of_rows = both if len(rows) == len(indices) else both[rows]
                if rows:
                    yield [indices[row] for row in rows], of_rows[:, n:]

        return scores, *self._open_ranking(over_vocabulary(blocks), opened, gold, k)

    def _open_ranking(
        self, blocks: Blocks, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        """`rank_open` from the scores of the clozes over the vocabulary."""
        asked = [(word, boundary(cloze)) for cloze, word in zip(clozes, gold, strict=True)]
        spelled = {pair: self.pieces(*pair) for pair in dict.fromkeys(asked)}
        pieces = [spelled[pair] for pair in asked]
        ranking = ranking_of(blocks, [ids[0] if len(ids) == 1 else None for ids in pieces], k)
        return ranking, [
            [self.tokenizer.decode([token]).strip() for token in row] for row in ranking.top
        ]

    def _vocabulary(self) -> torch.Tensor:
        """Every token id that the tokenizer knows and the model can say."""
        said = self.model.get_output_embeddings().weight.shape[0]
        return torch.arange(min(len(self.tokenizer), said), device=self.device)

    def _checked(self, clozes: Sequence[Cloze], blocks: Blocks) -> Blocks:
        for indices, scores in blocks:
            self._refuse_nan([clozes[i] for i in indices], scores.isnan().any(dim=1).cpu().numpy())
            yield indices, scores

    def _refuse_nan(self, clozes: Sequence[Cloze], broken: NDArray[np.bool_]) -> None:
        """Raise `UserError` for the first cloze whose scores are `broken`."""
        if broken.any():
            raise UserError(
                f"{self.name} answers {clozes[int(broken.argmax())].id} with NaN: its "
                "weights are damaged, or overflow in this precision (try --dtype fp32)"
            )


@contextmanager
def head_sees(module: Any, rows: Iterable[int], positions: Iterable[int]) -> Iterator[None]:
    """While active, `module` hands on only the hidden states at (row, position), as [1, n, width].

    The head of every architecture follows its stack of layers, so whatever it does
    to logits (transform, scale, cap) is kept.
    """
    index = torch.tensor(list(rows)), torch.tensor(list(positions))
    called = False

    def keep(module: Any, args: Any, output: Any) -> Any:
        nonlocal called
        called = True
        hidden = output.last_hidden_state
        row, position = (side.to(hidden.device) for side in index)
        output["last_hidden_state"] = hidden[row, position].unsqueeze(0)
        return output

    handle = module.register_forward_hook(keep)
    try:
        yield
    finally:
        handle.remove()
    if not called:
        raise UserError(
            f"{type(module).__name__} is built in a way that hyperprobe cannot score: "
            "name a model of another architecture"
        )
