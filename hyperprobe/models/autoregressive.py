"""Models that write the slot from left to right: causal LMs, and the decoders of seq2seq LMs.

By the chain rule, log P(continuation | prefix) is the sum over its tokens of
log P(token | prefix and the tokens before it). The prefix of a cloze is run once;
its last state gives the first token of every candidate, and what follows is fed in
batches against its keys and values.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Self

import torch

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.language import BLOCK_NUMBERS, LanguageModel
from hyperprobe.models.plans import Plan, Start, Tokens, Unit
from hyperprobe.models.ranking import Blocks
from hyperprobe.models.spelling import Boundary, boundary
from hyperprobe.options import CausalScoring, ModelOptions
from hyperprobe.progress import progress

END_OF_LINE = "\n</w>"


class AutoregressiveModel(LanguageModel):
    """A language model that scores what continues a prefix.

    With `scoring` `full`, a candidate's score counts what follows it as well (the rest
    of the text, or the mark that closes the slot); with `continuation`, the candidate
    alone. Rankings over a vocabulary (`rank`, `rank_open`) are always by continuation:
    anything else needs a pass for every word.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        source: dict[str, Any],
        scoring: CausalScoring = "full",
    ) -> None:
        super().__init__(name, model, tokenizer, source)
        self.scoring: CausalScoring = scoring
        self._plans: dict[tuple[CandidateSet, Boundary, Tokens], Plan] = {}

    @classmethod
    def made(
        cls, name: str, model: Any, tokenizer: Any, source: dict[str, Any], options: ModelOptions
    ) -> Self:
        return cls(name, model, tokenizer, source, options.causal_scoring)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scoring": self.scoring, "ranking": "continuation"}

    # -- what a family says ---------------------------------------------------------

    @abstractmethod
    def _units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        """One unit for each cloze, with candidates scored as `self.scoring` says."""

    @abstractmethod
    def _starts(self, clozes: Sequence[Cloze]) -> list[Start]:
        """What comes before each slot."""

    @abstractmethod
    def _read(self, units: Sequence[Unit]) -> tuple[torch.Tensor, Any]:
        """Log-probabilities [n_units, vocabulary] after prefixes of one length, and a state."""

    @abstractmethod
    def _continue(
        self, units: Sequence[Unit], state: Any, chosen: list[int], rows: Sequence[Tokens]
    ) -> torch.Tensor:
        """Log-probabilities [n_tokens, vocabulary] after each token of each row, row after row,
        where row i stands behind unit `chosen[i]`."""

    # -- plans ------------------------------------------------------------------------

    def _plan(self, candidates: CandidateSet, at: Boundary, closing: Tokens) -> Plan:
        key = (candidates, at, closing)
        if key not in self._plans:
            spelled = self.spell(candidates.words, at)
            self._plans[key] = Plan.of([ids + closing for ids in spelled], self.device)
        return self._plans[key]

    def _text_units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        """Units whose continuations are the candidate and the text after the slot.

        The whole text is tokenised with each candidate in it, so that the tokens are
        those of the sentence and not of its parts. The prefix is what all of a
        cloze's texts have in common with its left side.
        """
        for at in {boundary(cloze) for cloze in clozes}:
            self.spell(candidates.words, at)  # names a word that cannot be spelled
        # (up to the next slot, should the text have another one)
        rights = [cloze.right.split(SLOT)[0] for cloze in clozes]
        texts = iter(
            self.token_ids(
                [
                    f"{cloze.left}{word}{right}"
                    for cloze, right in zip(clozes, rights, strict=True)
                    for word in candidates.words
                ]
            )
        )
        plans: dict[tuple[Tokens, ...], Plan] = {}
        units = []
        for start in self._starts(clozes):
            filled = [next(texts) for _ in candidates.words]
            # (a piece that joins left side and candidate is scored as part of the candidate)
            shared = min(_n_shared(start.left, text) for text in filled)
            continuations = tuple(text[shared:] for text in filled)
            if continuations not in plans:
                plans[continuations] = Plan.of(continuations, self.device)
            units.append(self._unit(start, plans[continuations], shared))
        return units

    def _unit(self, start: Start, plan: Plan, n_left: int | None = None) -> Unit:
        """A unit behind the first `n_left` tokens of the left side (default: all)."""
        prefix = start.opening + start.left[:n_left]
        return Unit(prefix or self._first_token(), start.source, plan)

    def _first_token(self) -> Tokens:
        """What a text begins with that has nothing before its slot: as in pre-training, the
        mark between documents."""
        # (GPT-1 has neither; in LAMA's program its texts begin with the end of a line)
        line = self.tokenizer.get_vocab().get(END_OF_LINE)
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, line):
            if token is not None:
                return (token,)
        raise UserError(
            f"{self.name} has no token to begin a text with (bos_token, eos_token): "
            "put a word before the slot"
        )

    # -- questions ----------------------------------------------------------------------

    def _closed(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        units = self._units(clozes, candidates)
        return self._blocks(clozes, units, len(candidates))

    def _paired(self, clozes: Sequence[Cloze], words: Sequence[str]) -> Blocks:
        where: dict[str, list[int]] = defaultdict(list)
        for i, word in enumerate(words):
            where[word].append(i)
        units: dict[int, Unit] = {}
        for word, rows in where.items():
            made = self._units([clozes[i] for i in rows], CandidateSet((word,)))
            units |= dict(zip(rows, made, strict=True))
        return self._blocks(clozes, [units[i] for i in range(len(clozes))], 1)

    def _ranked(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks:
        return self._blocks(clozes, self._word_units(clozes, candidates), len(candidates))

    def _word_units(
        self, clozes: Sequence[Cloze], candidates: CandidateSet, closing: Tokens = ()
    ) -> list[Unit]:
        """Units whose continuations are the candidates' pieces and what closes them."""
        boundaries = [boundary(cloze) for cloze in clozes]
        plans = {at: self._plan(candidates, at, closing) for at in set(boundaries)}
        starts = self._starts(clozes)
        return [self._unit(start, plans[at]) for start, at in zip(starts, boundaries, strict=True)]

    def _open(self, clozes: Sequence[Cloze]) -> Blocks:
        plan = Plan(self._vocabulary())
        units = [self._unit(start, plan) for start in self._starts(clozes)]
        return self._blocks(clozes, units, len(plan.first))

    def _closed_and_open(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Blocks | None:
        units = self._units(clozes, candidates)
        for unit, start in zip(units, self._starts(clozes), strict=True):
            if unit.prefix != self._unit(start, unit.plan).prefix:
                return None  # a piece joins left side and candidate: the slot begins before it
        vocabulary = self._vocabulary()
        wider = {plan: replace(plan, others=vocabulary) for plan in {unit.plan for unit in units}}
        both = [replace(unit, plan=wider[unit.plan]) for unit in units]
        return self._blocks(clozes, both, len(candidates) + len(vocabulary))

    # -- passes ---------------------------------------------------------------------------

    def _blocks(self, clozes: Sequence[Cloze], units: list[Unit], n_candidates: int) -> Blocks:
        """(indices of clozes, scores [n_indices, n_candidates]), block after block."""
        limit = self.max_tokens
        for cloze, unit in zip(clozes, units, strict=True):
            written = len(unit.prefix) + max((len(row) for row in unit.plan.rows), default=0)
            if (n_tokens := max(len(unit.source), written)) > limit:
                raise UserError(
                    f"{cloze.id}: {n_tokens} tokens are more than {self.name} reads: shorten it"
                )
        order = sorted(range(len(units)), key=lambda i: (-len(units[i].prefix), units[i].prefix))
        size = max(self.max_rows, BLOCK_NUMBERS // n_candidates)
        with progress(f"scoring with {self.name}", len(units)) as advance, torch.inference_mode():
            for start in range(0, len(order), size):
                block = order[start : start + size]
                scores = torch.zeros(
                    len(block), n_candidates, dtype=self.precision, device=self.device
                )
                self._fill([units[i] for i in block], scores, advance)
                yield block, scores

    def _fill(
        self, units: list[Unit], scores: torch.Tensor, advance: Callable[[int], None]
    ) -> None:
        """The scores of each unit; equal ones are run once. Prefixes of one length go together:
        without padding before them, the continuations stand where they would stand alone."""
        where: dict[Unit, list[int]] = {}
        for i, unit in enumerate(units):
            where.setdefault(unit, []).append(i)
        distinct = sorted(where, key=lambda unit: -len(unit.prefix))
        for _, group in groupby(distinct, key=lambda unit: len(unit.prefix)):
            alike = list(group)
            lengths = [len(unit.prefix) + len(unit.source) for unit in alike]

            def run(batch: list[int], alike: list[Unit] = alike) -> None:
                of_batch = self._score_together([alike[i] for i in batch])
                rows = [(j, row) for j, i in enumerate(batch) for row in where[alike[i]]]
                source, target = (torch.tensor(side) for side in zip(*rows, strict=True))
                scores[target] = of_batch[source]
                advance(len(rows))

            self._in_batches(lengths, run)

    def _score_together(self, units: list[Unit]) -> torch.Tensor:
        """Scores [n_units, n_candidates] of units whose prefixes are of one length."""
        log_probs, state = self._read(units)
        if all(unit.plan is units[0].plan for unit in units):
            scores = log_probs.index_select(1, units[0].plan.first)
        else:
            scores = log_probs.gather(1, torch.stack([unit.plan.first for unit in units]))
        n_candidates, others = scores.shape[1], units[0].plan.others
        if others is not None:
            scores = torch.cat([scores, log_probs.index_select(1, others)], dim=1)
        del log_probs
        if not any(unit.plan.rows for unit in units):
            return scores
        rows = [
            (i, row, questions)
            for i, unit in enumerate(units)
            for row, questions in zip(unit.plan.rows, unit.plan.questions, strict=True)
        ]

        total = scores[:, :n_candidates].cpu().double()  # many small terms add up here

        def run(batch: list[int]) -> None:
            chosen = [rows[i][0] for i in batch]
            log_probs = self._continue(units, state, chosen, [rows[i][1] for i in batch])
            asked: list[tuple[int, int, int, int]] = []
            start = 0
            for i in batch:
                unit, row, questions = rows[i]
                asked += [(start + q.position, q.target, unit, q.column) for q in questions]
                start += len(row)
            at, target, unit_of, column = torch.tensor(asked).T
            total.index_put_(
                (unit_of, column), log_probs[at, target].cpu().double(), accumulate=True
            )

        self._in_batches([len(units[0].prefix) + len(row) for _, row, _ in rows], run)
        scores[:, :n_candidates] = total.to(self.device, self.precision)
        return scores


def _n_shared(left: Tokens, text: Tokens) -> int:
    """How many tokens two texts have in common from their start."""
    n = 0
    for a, b in zip(left, text, strict=False):
        if a != b:
            break
        n += 1
    return n


def rows_of_cache(cache: Any, rows: list[int]) -> Any:
    """A copy of keys and values for the given rows of a batch, or None for a cache of another
    kind (recurrent states)."""
    chosen = copy.copy(cache)
    if hasattr(cache, "self_attention_cache"):
        chosen.self_attention_cache = rows_of_cache(cache.self_attention_cache, rows)
        chosen.cross_attention_cache = rows_of_cache(cache.cross_attention_cache, rows)
        chosen.is_updated = dict(cache.is_updated)
        return chosen
    if not all(getattr(layer, "keys", None) is not None for layer in cache.layers):
        return None
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in chosen.layers:
        index = torch.tensor(rows, device=layer.keys.device)
        layer.keys = layer.keys.index_select(0, index)
        layer.values = layer.values.index_select(0, index)
    return chosen
