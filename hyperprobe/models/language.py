"""What the families of language models share: spelling, questions, batches, checks.

A family says how a block of clozes is scored (`_closed`, `_ranked`, `_open`); the
answers to users' questions are made from those blocks here. It also says how its models
are recognised by their configuration and what it needs of their tokenizer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import Ranking, Scores, gold_arrays
from hyperprobe.models.batching import keep_freed_memory, run_in_batches
from hyperprobe.models.folders import check_rows, embedding_rows
from hyperprobe.options import ModelOptions
from hyperprobe.statistics.ranks import Stand, stand_of

# Scores held at once, in numbers: 8 MB of float32, or what one batch gives.
BLOCK_NUMBERS = 2_000_000
CPU_TOKENS, GPU_TOKENS = 2048, 65_536
# Rows of a batch: each costs a row of scores over the whole vocabulary.
CPU_ROWS, GPU_ROWS = 128, 4096

Boundary = Literal["start", "space", "inside"]
Blocks = Iterator[tuple[list[int], torch.Tensor]]
# What stands before the slot decides how tokenizers spell the word in it.
ANCHORS: dict[Boundary, str] = {"start": "", "space": "a ", "inside": "("}


def no_marks(name: str, wanted: str) -> UserError:
    """What to raise for a model whose tokenizer marks no slot."""
    return UserError(
        f"{name} has no {wanted} to mark a slot with: name another model, or repair its "
        "tokenizer files"
    )


def boundary(cloze: Cloze) -> Boundary:
    """What the slot follows: nothing, a space, or any other character."""
    if not cloze.left:
        return "start"
    return "space" if cloze.left.endswith(" ") else "inside"


class LanguageModel(ABC):
    """A language model as a `ClozeModel`: one of Hugging Face, or a network and a tokenizer that
    answer as those do."""

    kind: ClassVar[str]
    # The transformers classes that read its weights, and the table of the types that have one.
    auto_class: ClassVar[str]
    mapping: ClassVar[str]
    reads_text = True
    loaded_by: ModelOptions | None = None  # the options that `load_model` was given

    def __init__(self, name: str, model: Any, tokenizer: Any, source: dict[str, Any]) -> None:
        self.name = name
        self.model = model.eval()
        self.tokenizer = tokenizer
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

    @property
    def max_tokens(self) -> int:
        """The longest input, special tokens included."""
        return longest_input(self.model, self.tokenizer)

    @property
    def n_tokens(self) -> int:
        """How many tokens the tokenizer knows."""
        return len(self.tokenizer)

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

    # -- words and pieces -------------------------------------------------------------

    def token_ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of each text, without special tokens."""
        return self._known(self.tokenizer(list(texts), add_special_tokens=False)["input_ids"])

    def _whole_ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of each text, with the tokenizer's own special tokens."""
        return self._known(self.tokenizer(list(texts))["input_ids"])

    @cached_property
    def _text_opening(self) -> tuple[int, ...]:
        """The tokens that the tokenizer itself puts before every text ([CLS], BOS)."""
        (bare,), (whole,) = self.token_ids(["a"]), self._whole_ids(["a"])
        return whole[: whole.index(bare[0])]

    def _known(self, encoded: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """The ids as they are, each of which the embedding table has."""
        texts = [tuple(ids) for ids in encoded]
        check_rows(self.name, embedding_rows(self.model), texts)
        return texts

    def n_pieces(self, texts: Sequence[str]) -> list[float]:
        """How many word pieces each text is read as."""
        return [float(len(ids)) for ids in self.token_ids(texts)]

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        """The clozes; those too long for the model lose the words farthest from the slot."""
        limit = self.max_tokens - 3  # room for special tokens
        lengths = [len(ids) for ids in self._marked_ids([cloze.text for cloze in clozes])]
        return [
            self._shortened(cloze, limit) if length > limit else cloze
            for cloze, length in zip(clozes, lengths, strict=True)
        ]

    def _shortened(self, cloze: Cloze, limit: int) -> Cloze:
        left, right = cloze.left, cloze.right
        while len(self._marked_ids([f"{left}{SLOT}{right}"])[0]) > limit:
            if len(left) >= len(right) and " " in left.strip():
                left = left.lstrip().split(" ", 1)[1]
            elif " " in right.strip():
                right = right.rstrip().rsplit(" ", 1)[0]
            else:
                break
        return cloze.shortened(left, right)

    def _marked_ids(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """The tokens of texts as they stand, the mark of the slot in letters; for lengths alone."""
        encoded: Sequence[Sequence[int]] = self.tokenizer(list(texts))["input_ids"] if texts else []
        return encoded

    def split(self, words: Sequence[str], at: Boundary = "space") -> list[tuple[int, ...]]:
        """The token ids of each word in a slot that follows nothing, a space, or a bracket.

        Each is read off behind an anchor, since tokenizers treat the start of a
        text in ways of their own: byte-level BPE spells " bird" and "bird"
        differently, SentencePiece puts a space before the first word.
        """
        anchor = ANCHORS[at]
        if not anchor:
            return self.token_ids(words)
        (head,) = self.token_ids([anchor.rstrip()])
        behind = self.token_ids([anchor + word for word in words])
        # (where anchor and word share a piece, the word by itself)
        return [
            ids[len(head) :] if ids[: len(head)] == head else self.token_ids([word])[0]
            for word, ids in zip(words, behind, strict=True)
        ]

    def spell(self, words: Sequence[str], at: Boundary = "space") -> list[tuple[int, ...]]:
        """`split`, of words that all can be. Raises `UserError` for one of unknown letters."""
        spelled = self.split(words, at)
        for word, pieces in zip(words, spelled, strict=True):
            if not pieces or self.tokenizer.unk_token_id in pieces:
                raise UserError(f"{self.name} cannot spell {word!r}: take it out of the candidates")
        return spelled

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        """Whether the tokenizer knows all the letters of each word."""
        unknown = self.tokenizer.unk_token_id
        return [bool(ids) and (unknown is None or unknown not in ids) for ids in self.split(words)]

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        """Whether the model has each word, in its very spelling, as one token after a space."""
        unknown = self.tokenizer.unk_token_id
        return [
            len(ids) == 1 and ids[0] != unknown and self.tokenizer.decode(ids).strip() == word
            for word, ids in zip(words, self.split(words), strict=True)
        ]

    def pieces(self, word: str, at: Boundary = "space") -> tuple[int, ...]:
        """The token ids of one word; see `spell`."""
        return self.spell([word], at)[0]

    def words(self) -> list[str]:
        """The whole words of the vocabulary, without markers and word-internal pieces."""
        special = set(self.tokenizer.all_special_ids)
        tokens = self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))
        starts = [token[:1] in "Ġ▁" for token in tokens if token]
        marked = sum(starts) > len(tokens) / 10  # byte-level BPE or SentencePiece
        ends = [token.removesuffix("</w>") for token in tokens if token and token[-4:] == "</w>"]
        if len(ends) > len(tokens) / 10:  # GPT-1 marks the last piece of a word
            return list(dict.fromkeys(word for word in ends if word.isalnum()))
        words = (
            # (byte-level tokens write other letters than a-z as bytes: let it decode them)
            self.tokenizer.convert_tokens_to_string([token]).strip() if marked else token
            for i, token in enumerate(tokens)
            if token
            and i not in special
            and (token[:1] in ("Ġ", "▁") if marked else token[:2] != "##")
        )
        return list(dict.fromkeys(word for word in words if word.isalnum()))

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
        spelled = {
            pair: self.pieces(*pair)
            for pair in {(word, boundary(c)) for c, word in zip(clozes, gold, strict=True)}
        }
        pieces = [spelled[word, boundary(c)] for c, word in zip(clozes, gold, strict=True)]
        tokens = [ids[0] if len(ids) == 1 else None for ids in pieces]
        ranking = ranking_of(self._checked(clozes, self._open(clozes)), tokens, k)
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


def longest_input(model: Any, tokenizer: Any) -> int:
    """How many tokens a transformer reads at most, special tokens included."""
    limits = [tokenizer.model_max_length]
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding):
        # RoBERTa and its kin count positions from after the padding token's id.
        skipped = 0 if table.padding_idx is None else table.padding_idx + 1
        limits.append(table.num_embeddings - skipped)
    elif limit := getattr(model.config, "max_position_embeddings", None):
        limits.append(limit)
    return int(min(limits))


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


def ranking_of(blocks: Blocks, gold: Sequence[int | None], k: int) -> Ranking:
    """The `Ranking` over blocks of scores that are dropped as soon as they are read."""
    n = len(gold)
    result = Ranking(
        np.full(n, np.nan, dtype=np.float32),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, k), dtype=np.float32),
    )
    for indices, scores in blocks:
        gold_of_block = [gold[i] for i in indices]
        index = torch.tensor([i or 0 for i in gold_of_block], device=scores.device)
        arange = partial(torch.arange, device=scores.device)
        stand = Stand(*(part.cpu().numpy() for part in stand_of(scores, index, arange)))
        top = top_of(scores, k)
        parts = (
            *gold_arrays(stand, gold_of_block),
            top.cpu().numpy(),
            scores.gather(1, top).cpu().numpy(),
        )
        for field, part in zip(fields(result), parts, strict=True):
            getattr(result, field.name)[indices] = part
    return result


def top_of(scores: torch.Tensor, k: int) -> torch.Tensor:
    """The columns [n, k] of the best scores of each row, equal scores in the order of columns.

    `torch.topk` leaves the order of equal scores open, and which of them it takes.
    """
    best, top = scores.topk(min(k + 1, scores.shape[1]), dim=1)
    crowded = (best[:, k - 1 : k] == best[:, k:]).any(dim=1)
    top = top[:, :k]
    if crowded.any():  # several could be the last one
        order = scores[crowded].sort(dim=1, descending=True, stable=True).indices
        top[crowded] = order[:, :k]
    top = top.sort(dim=1).values
    order = scores.gather(1, top).sort(dim=1, descending=True, stable=True).indices
    return top.gather(1, order)
