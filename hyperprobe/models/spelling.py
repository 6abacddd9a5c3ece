"""What a model's tokenizer makes of texts and words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import torch

from hyperprobe.cloze import SLOT, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.folders import check_rows, embedding_rows

Boundary = Literal["start", "space", "inside"]
# What stands before the slot decides how tokenizers spell the word in it.
ANCHORS: dict[Boundary, str] = {"start": "", "space": "a ", "inside": "("}


def boundary(cloze: Cloze) -> Boundary:
    """What the slot follows: nothing, a space, or any other character."""
    if not cloze.left:
        return "start"
    return "space" if cloze.left.endswith(" ") else "inside"


class Spelling:
    """A model as a reader of texts and a writer of words, piece by piece."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self.model = model.eval()
        self.tokenizer = tokenizer

    @property
    def max_tokens(self) -> int:
        """The longest input, special tokens included."""
        return longest_input(self.model, self.tokenizer)

    @property
    def n_tokens(self) -> int:
        """How many tokens the tokenizer knows."""
        return len(self.tokenizer)

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
