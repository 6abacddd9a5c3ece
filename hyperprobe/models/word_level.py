"""Language models whose tokens are words: their vocabulary, and those that read left to right.

A candidate that is no word of the vocabulary (or holds one that is not) has no score: minus
infinity, as a word without a vector. Any other unknown word is read as the model's unknown word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.autoregressive import AutoregressiveModel
from hyperprobe.models.language import LanguageModel
from hyperprobe.models.plans import Plan, Start, Tokens, Unit
from hyperprobe.models.ranking import Blocks
from hyperprobe.models.spelling import Boundary
from hyperprobe.options import CausalScoring

# Of a text; the networks have no limit, and no probe asks for more.
MAX_TOKENS = 2048
# Log-probabilities held at once: vocabularies of words are large.
HELD_NUMBERS = 100_000_000


def lama_tokens(text: str) -> list[str]:
    """The words of a text by LAMA's default tokenizer: split at white space and around
    brackets, commas and double hyphens; other punctuation stays with its word."""
    for mark in ("(", ")", ",", "--"):
        text = text.replace(mark, f" {mark} ")
    return text.split()


class Words:
    """A vocabulary of words and how texts are split into them, where transformers has a tokenizer.

    `special` are ids that stand for no word. A word that comes twice has its last id. Raises
    `UserError` unless `unknown` is there.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        unknown: str,
        special: Iterable[str],
        split: Callable[[str], list[str]],
    ) -> None:
        self.words = list(words)
        self.ids = {word: i for i, word in enumerate(words)}
        if missing := [word for word in (unknown, *special) if word not in self.ids]:
            raise UserError(f"{name}: no {missing[0]} in the vocabulary: fetch its file again")
        self.unk_token_id = self.ids[unknown]
        self.pad_token_id = 0
        self.special = {self.unk_token_id, *(self.ids[word] for word in special)}
        self._split, self._unknown = split, unknown

    def __len__(self) -> int:
        return len(self.words)

    def split(self, text: str) -> list[str]:
        """The words of a text; slots are the unknown word."""
        return self._split(text.replace(SLOT, f" {self._unknown} "))

    def __call__(self, text: str) -> Tokens:
        """The ids of a text."""
        return tuple(self.ids.get(word, self.unk_token_id) for word in self.split(text))

    def known(self, word: str) -> Tokens:
        """The ids of a word or of several, none if one of them is unknown."""
        ids = self(word)
        return () if self.unk_token_id in ids else ids

    def decode(self, ids: Sequence[int]) -> str:
        """The words of some ids."""
        return " ".join(self.words[i] for i in ids)


class WordModel(LanguageModel):
    """A language model over words. `tokenizer` is its `Words`; what stands between the sentences
    of one text is `between_sentences`."""

    tokenizer: Words
    between_sentences: str

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def token_ids(self, texts: Sequence[str]) -> list[Tokens]:
        return [self.tokenizer(text) for text in texts]

    def _marked_ids(self, texts: Sequence[str]) -> list[Tokens]:
        return self.token_ids(texts)

    def fit(self, clozes: Sequence[Cloze]) -> list[Cloze]:
        """The clozes, of two sentences as LAMA gives them to the model, and not too long."""
        return super().fit([cloze.joined(self.between_sentences) for cloze in clozes])

    def split(self, words: Sequence[str], at: Boundary = "space") -> list[Tokens]:
        """The ids of each word, wherever it stands; none of a word that is not known."""
        return [self.tokenizer.known(word) for word in words]

    def spell(self, words: Sequence[str], at: Boundary = "space") -> list[Tokens]:
        return self.split(words, at)

    def can_spell(self, words: Sequence[str]) -> list[bool]:
        return [bool(ids) for ids in self.split(words)]

    def single_tokens(self, words: Sequence[str]) -> list[bool]:
        return [
            len(ids) == 1 and self.tokenizer.decode(ids) == word
            for word, ids in zip(words, self.split(words), strict=True)
        ]

    def words(self) -> list[str]:
        kept = (w for i, w in enumerate(self.tokenizer.words) if i not in self.tokenizer.special)
        return list(dict.fromkeys(word for word in kept if word.isalnum()))

    def _vocabulary(self) -> torch.Tensor:
        return torch.arange(len(self.tokenizer), device=self.device)

    def _without_unknown(self, blocks: Blocks, candidates: CandidateSet) -> Blocks:
        """The blocks; a candidate that is not known scores minus infinity."""
        known = self.can_spell(candidates.words)
        unknown = ~torch.tensor(known, device=self.device)
        for indices, scores in blocks:
            scores[:, : len(unknown)].masked_fill_(unknown, -torch.inf)
            yield indices, scores


class WordCausalModel(WordModel, AutoregressiveModel):
    """A word-level model that reads from left to right, scored as other causal models are.

    Its network has `hidden(ids, n)`, the states [n_texts, n, width] at the last n words of texts
    [n_texts, length], and `log_probs(states)`, [n_states, vocabulary] of states [n_states, width].
    Every text begins with the word `opening`; slot, candidate and what follows are words of their
    own, whatever stands between them.
    """

    opening: str

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Words,
        source: dict[str, Any],
        causal_scoring: CausalScoring = "full",
    ) -> None:
        super().__init__(name, model, tokenizer, source)
        self.scoring = causal_scoring
        self.token_budget = min(self.token_budget, max(64, HELD_NUMBERS // len(tokenizer)))
        self._opening = (tokenizer.ids[self.opening],)

    # -- texts ------------------------------------------------------------------------------

    def _starts(self, clozes: Sequence[Cloze]) -> list[Start]:
        return [Start(self._opening, self.tokenizer(cloze.left)) for cloze in clozes]

    def _units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        if self.scoring == "full":
            return self._text_units(clozes, candidates)
        return self._word_units(clozes, candidates)

    def _text_units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        # (up to the next slot, should the text have another one)
        rights = [self.tokenizer(cloze.right.split(SLOT)[0]) for cloze in clozes]
        plans = {right: self._plan(candidates, "space", right) for right in set(rights)}
        starts = self._starts(clozes)
        return [self._unit(start, plans[r]) for start, r in zip(starts, rights, strict=True)]

    def _plan(self, candidates: CandidateSet, at: Boundary, closing: Tokens) -> Plan:
        key = (candidates, at, closing)
        if key not in self._plans:
            # (an unknown candidate needs a column, which has no score in the end)
            nothing = (self.tokenizer.unk_token_id,)
            known = self.split(candidates.words)
            self._plans[key] = Plan.of(
                [ids + closing if ids else nothing for ids in known], self.device
            )
        return self._plans[key]

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._without_unknown(super()._closed(clozes, candidates), candidates)

    def _closed_and_open(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks | None:
        blocks = super()._closed_and_open(clozes, candidates)
        return blocks and self._without_unknown(blocks, candidates)

    def _ranked(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._without_unknown(super()._ranked(clozes, candidates), candidates)

    # -- passes -----------------------------------------------------------------------------

    def _read(self, units: Sequence[Unit]) -> tuple[torch.Tensor, None]:
        ids = torch.tensor([unit.prefix for unit in units], device=self.device)
        return self.model.log_probs(self.model.hidden(ids, 1)[:, 0]), None

    def _continue(
        self, units: Sequence[Unit], state: Any, chosen: list[int], rows: Sequence[Tokens]
    ) -> torch.Tensor:
        ids, _ = self._padded(
            [units[i].prefix + row for i, row in zip(chosen, rows, strict=True)]
        )  # on the right, where the network does not look
        states = self.model.hidden(ids, max(map(len, rows)))
        asked = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        of_rows, positions = torch.tensor(asked, device=self.device).T
        log_probs: torch.Tensor = self.model.log_probs(states[of_rows, positions])
        return log_probs
