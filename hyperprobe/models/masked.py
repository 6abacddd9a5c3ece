"""Masked language models, asked the fast way.

Tokenise once; run each distinct text once, in length-sorted batches; gather the
hidden states at the slot and put only those through the head. A candidate of
several word pieces is scored by pseudo-log-likelihood: the sum over its pieces of
log P(piece | the text with that piece masked), where `pll` says what stands for
the candidate's other pieces:

- `within-word`: the earlier ones shown, the later ones masked too (Kauf & Ivanova
  2023, section 3);
- `original`: all shown (Salazar et al. 2020);
- `all-masked`: all masked, so each piece is predicted on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import torch

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.heap import return_freed_memory
from hyperprobe.models.base import Scores
from hyperprobe.models.blocks import Block
from hyperprobe.models.language import BLOCK_NUMBERS, no_marks
from hyperprobe.models.masked_texts import MaskedTexts, Row, Text, shown_in
from hyperprobe.models.ranking import Blocks
from hyperprobe.models.spelling import Boundary, boundary
from hyperprobe.options import ModelOptions, Pll
from hyperprobe.progress import progress

TRIM_EVERY = 8  # blocks
PAIRS = 100_000  # of a cloze and its word, in one block
# Text -> position -> [(token that is asked there, row of the score that it adds to)]
Asked = dict[Text, dict[int, list[tuple[int, int]]]]


@dataclass(frozen=True)
class Step:
    """One text in a plan: with `slot` in the slot (None is a mask), how probable is
    `targets[i]` at the slot's piece `at[i]`? Adds to the candidates `columns[i]`.

    A piece may be asked twice: for candidates, and for the whole vocabulary.
    """

    slot: tuple[int | None, ...]
    at: tuple[int, ...]
    targets: tuple[torch.Tensor, ...]
    columns: tuple[torch.Tensor, ...]


class MaskedModel(MaskedTexts):
    """A Hugging Face masked LM as a `ClozeModel`."""

    kind = "masked"
    auto_class = "AutoModelForMaskedLM"
    mapping = "MODEL_FOR_MASKED_LM_MAPPING_NAMES"

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        source: dict[str, Any],
        pll: Pll = "within-word",
    ) -> None:
        super().__init__(name, model, tokenizer, source)
        self.pll = pll
        self._plans: dict[tuple[CandidateSet, Boundary], list[Step]] = {}

    @classmethod
    def made(
        cls, name: str, model: Any, tokenizer: Any, source: dict[str, Any], options: ModelOptions
    ) -> MaskedModel:
        return cls(name, model, tokenizer, source, options.pll)

    @classmethod
    def certainty(cls, config: Any, classes: Sequence[str]) -> int:
        return 2

    @classmethod
    def slot_marks(cls, name: str, tokenizer: Any) -> Sequence[str]:
        if tokenizer.mask_token is None:
            raise no_marks(name, "mask token")
        return (tokenizer.mask_token,)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "pll": self.pll}

    def input_embeddings(self) -> torch.nn.Embedding:
        """The table of input vectors [n_rows, dimension], a row for each token."""
        table: torch.nn.Embedding = self.model.get_input_embeddings()
        return table

    # -- candidates -----------------------------------------------------------------

    def _plan(self, candidates: CandidateSet, at: Boundary) -> list[Step]:
        key = (candidates, at)
        if key not in self._plans:
            asked: dict[tuple[int | None, ...], dict[int, list[tuple[int, int]]]] = {}
            for column, ids in enumerate(self.spell(candidates.words, at)):
                for i, token in enumerate(ids):
                    slot = self._slot(ids, i)
                    asked.setdefault(slot, {}).setdefault(i, []).append((token, column))
            self._plans[key] = [
                Step(
                    slot,
                    tuple(questions),
                    tuple(self._column(pairs, 0) for pairs in questions.values()),
                    tuple(self._column(pairs, 1) for pairs in questions.values()),
                )
                for slot, questions in asked.items()
            ]
        return self._plans[key]

    def _slot(self, ids: tuple[int, ...], i: int) -> tuple[int | None, ...]:
        """What stands in the slot while piece `i` of `ids` is predicted."""
        masks = (None,) * len(ids)
        before = masks if self.pll == "all-masked" else ids
        after = ids if self.pll == "original" else masks
        return (*before[:i], None, *after[i + 1 :])

    def _column(self, pairs: list[tuple[int, int]], side: int) -> torch.Tensor:
        return torch.tensor([pair[side] for pair in pairs], device=self.device)

    def _blocks(self, clozes: Sequence[Cloze], steps: list[Step], n_candidates: int) -> Blocks:
        """(indices of clozes, scores [n_indices, n_candidates]), block after block."""
        encoded = {size: self._encode(clozes, size) for size in {len(s.slot) for s in steps}}
        shortest = encoded[min(encoded)]
        # Longest first; equal texts side by side, so that one block runs them once.
        order = sorted(range(len(clozes)), key=lambda i: (-len(shortest[i].ids), shortest[i]))
        size = max(self.max_rows, BLOCK_NUMBERS // n_candidates)
        with progress(f"scoring with {self.name}", len(clozes) * len(steps)) as advance:
            for start in range(0, len(order), size):
                block = order[start : start + size]
                scores = torch.zeros(
                    len(block), n_candidates, dtype=self.precision, device=self.device
                )
                for step in steps:
                    self._add(step, [encoded[len(step.slot)][i] for i in block], scores, advance)
                yield block, scores
                if start // size % TRIM_EVERY == TRIM_EVERY - 1:
                    return_freed_memory()

    def _add(
        self, step: Step, rows: list[Row], scores: torch.Tensor, advance: Callable[[int], None]
    ) -> None:
        """Add to `scores` what `step` says about each row; equal rows are run once."""
        where: dict[Row, list[int]] = {}
        pieces = list(dict.fromkeys(step.at))
        for i, (ids, n_first, positions) in enumerate(rows):
            shown = shown_in(ids, positions, step.slot)
            row = Row(shown, n_first, tuple(positions[j] for j in pieces))
            where.setdefault(row, []).append(i)
        distinct = list(where)

        def run(batch: list[int]) -> None:
            log_probs = self._slot_log_probs([distinct[i] for i in batch])
            rows_of = [(j, target) for j, i in enumerate(batch) for target in where[distinct[i]]]
            source, target = (
                torch.tensor(side, device=self.device) for side in zip(*rows_of, strict=True)
            )
            # Nothing is added before all is there: a batch that fails may be run again.
            picked = [
                log_probs[:, pieces.index(at)].index_select(1, targets)[source]
                for at, targets in zip(step.at, step.targets, strict=True)
            ]
            for columns, values in zip(step.columns, picked, strict=True):
                first, last = int(columns[0]), int(columns[-1])
                if last - first + 1 == len(columns):  # one after the other: 25 times as fast
                    scores[:, first : last + 1].index_add_(0, target, values)
                else:
                    scores[target[:, None], columns[None, :]] += values
            advance(len(rows_of))

        with torch.inference_mode():
            self._in_batches([len(row.ids) for row in distinct], run)

    # -- questions ------------------------------------------------------------------

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._asked(clozes, candidates, opened=False)

    def _asked(self, clozes: Sequence[Cloze], candidates: CandidateSet, opened: bool) -> Blocks:
        """Scores of the candidates, and behind them those of the vocabulary if it is `opened`."""
        n = len(candidates)
        order = sorted(range(len(clozes)), key=lambda i: boundary(clozes[i]))
        for at, group in groupby(order, key=lambda i: boundary(clozes[i])):
            alike = list(group)
            steps = self._plan(candidates, at)
            if opened:
                steps = self._with_vocabulary(steps, n)
            n_columns = n + (len(self._vocabulary()) if opened else 0)
            for block, scores in self._blocks([clozes[i] for i in alike], steps, n_columns):
                yield [alike[i] for i in block], scores

    def _with_vocabulary(self, steps: Sequence[Step], n: int) -> list[Step]:
        """The steps, of which one asks for each word of the vocabulary too: columns from n on."""
        vocabulary = self._vocabulary()
        one = next((step for step in steps if step.slot == (None,)), Step((None,), (), (), ()))
        both = Step(
            one.slot,
            (*one.at, 0),
            (*one.targets, vocabulary),
            (*one.columns, n + torch.arange(len(vocabulary), device=self.device)),
        )
        return [both, *(step for step in steps if step is not one)]

    def _closed_and_open(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._asked(clozes, candidates, opened=True)

    # -- candidates of its own for each cloze ------------------------------------------

    def score_blocks(self, blocks: Sequence[Block]) -> list[Scores]:
        """`score` of each block; a text that several of them need is run once."""
        pairs = [
            (cloze, word)
            for block in blocks
            for cloze in block.clozes
            for word in block.candidates.words
        ]
        scores = self.score_pairs([cloze for cloze, _ in pairs], [word for _, word in pairs])
        shapes = [(len(block.clozes), len(block.candidates)) for block in blocks]
        ends = np.cumsum([n * m for n, m in shapes]).tolist()
        return [
            scores[end - n * m : end].reshape(n, m)
            for end, (n, m) in zip(ends, shapes, strict=True)
        ]

    def _paired(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Blocks:
        asked = [(boundary(cloze), word) for cloze, word in zip(clozes, words, strict=True)]
        spelled: dict[tuple[Boundary, str], tuple[int, ...]] = {}
        for at in dict.fromkeys(at for at, _ in asked):
            distinct = list(dict.fromkeys(word for where, word in asked if where == at))
            pieces = self.spell(distinct, at)
            spelled |= {(at, word): ids for word, ids in zip(distinct, pieces, strict=True)}
        ids = [spelled[pair] for pair in asked]
        # Words of one text and length side by side, so that they share what is run.
        order = sorted(range(len(clozes)), key=lambda i: (len(ids[i]), clozes[i].text))
        with progress(f"scoring with {self.name}", sum(map(len, ids))) as advance:
            for start in range(0, len(order), PAIRS):
                block = order[start : start + PAIRS]
                yield (
                    block,
                    self._pair_scores([clozes[i] for i in block], [ids[i] for i in block], advance),
                )

    def _pair_scores(
        self,
        clozes: Sequence[Cloze],
        ids: Sequence[tuple[int, ...]],
        advance: Callable[[int], None],
    ) -> torch.Tensor:
        """Scores [n_clozes, 1] of the pieces `ids` of each cloze's own word."""
        asked: Asked = {}
        for size in dict.fromkeys(map(len, ids)):
            rows = [i for i, pieces in enumerate(ids) if len(pieces) == size]
            distinct = list(dict.fromkeys(clozes[i] for i in rows))
            encoded = dict(zip(distinct, self._encode(distinct, size), strict=True))
            for i in rows:
                text, n_first, positions = encoded[clozes[i]]
                for at, piece in enumerate(ids[i]):
                    shown = shown_in(text, positions, self._slot(ids[i], at)), n_first
                    asked.setdefault(shown, {}).setdefault(positions[at], []).append((piece, i))
        scores = torch.zeros(len(clozes), 1, dtype=self.precision, device=self.device)
        # The texts of one batch are asked at equally many positions.
        texts = sorted(asked, key=lambda text: len(asked[text]))
        with torch.inference_mode():
            for _, alike in groupby(texts, key=lambda text: len(asked[text])):
                self._add_texts([(text, asked[text]) for text in alike], scores, advance)
        return scores

    def _add_texts(
        self,
        texts: Sequence[tuple[Text, dict[int, list[tuple[int, int]]]]],
        scores: torch.Tensor,
        advance: Callable[[int], None],
    ) -> None:
        """Add to `scores` what the model says in each text at the positions that are asked."""

        def run(batch: list[int]) -> None:
            rows = [Row(*texts[i][0], tuple(texts[i][1])) for i in batch]
            log_probs = self._slot_log_probs(rows)
            found = [
                (k, j, piece, row)
                for k, i in enumerate(batch)
                for j, questions in enumerate(texts[i][1].values())
                for piece, row in questions
            ]
            text, at, piece, row = torch.tensor(found, device=self.device).unbind(1)
            said = log_probs[text, at, piece]
            scores.index_put_((row, torch.zeros_like(row)), said, accumulate=True)
            advance(len(found))

        self._in_batches([len(ids) for (ids, _), _ in texts], run)

    def _open(self, clozes: Sequence[Cloze]) -> Blocks:
        return self._blocks(clozes, self._with_vocabulary([], 0), len(self._vocabulary()))
