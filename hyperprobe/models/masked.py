"""Masked language models, asked the fast way.

Tokenise once; run each distinct text once, in length-sorted batches; gather the
hidden state at the slot and put only that through the head. A candidate of
several word pieces is scored by pseudo-log-likelihood with within-word
left-to-right masking (Kauf & Ivanova 2023, section 3): piece i is predicted
with the pieces before it shown and it and the later ones masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.base import Ranking, Scores
from hyperprobe.models.batching import return_freed_memory, run_in_batches
from hyperprobe.progress import progress

# Scores held at once, in numbers: 8 MB of float32, or what one batch gives.
BLOCK_NUMBERS = 2_000_000
TRIM_EVERY = 8  # blocks
CPU_TOKENS, GPU_TOKENS = 2048, 65_536
# Rows of a batch: each costs a row of scores over the whole vocabulary.
CPU_ROWS, GPU_ROWS = 64, 4096

Row = tuple[tuple[int, ...], tuple[int, ...]]  # token ids, places of the masks


@dataclass(frozen=True)
class Step:
    """One question in a plan: with `shown` pieces in the slot and then `n_masks` masks,
    how probable is each of `targets` at the first mask? Adds to candidates `places`."""

    shown: tuple[int, ...]
    n_masks: int
    targets: torch.Tensor
    places: torch.Tensor

    @property
    def n_slot(self) -> int:
        """How many word pieces the slot has in this step."""
        return len(self.shown) + self.n_masks


class MaskedModel:
    """A Hugging Face masked LM as a `ClozeModel`."""

    kind = "masked"

    def __init__(self, name: str, model: Any, tokenizer: Any, source: dict[str, Any]) -> None:
        self.name = name
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.device = model.device
        on_cpu = model.device.type == "cpu"
        self.token_budget = CPU_TOKENS if on_cpu else GPU_TOKENS
        self.max_rows = CPU_ROWS if on_cpu else GPU_ROWS
        # A protocol may put its own rules in place: texts -> token ids, special ones included.
        self.tokenise: Callable[[Sequence[str]], list[list[int]]] = lambda texts: self.tokenizer(
            list(texts)
        )["input_ids"]
        # Of the scores: half-precision weights still give scores in single precision.
        self.precision = torch.promote_types(model.dtype, torch.float32)
        self._source = source
        self._plans: dict[tuple[CandidateSet, bool], list[Step]] = {}
        self._check_mask_token()

    def _check_mask_token(self) -> None:
        mask = self.tokenizer.mask_token
        if self.tokenizer(mask, add_special_tokens=False)["input_ids"] != [
            self.tokenizer.mask_token_id
        ]:
            raise UserError(
                f"the tokenizer of {self.name} splits its own mask token {mask}: "
                "repair its tokenizer files"
            )

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

    # -- candidates -----------------------------------------------------------------

    def pieces(self, word: str, after_space: bool = True) -> tuple[int, ...]:
        """The token ids of `word` in a slot that follows a space, or does not."""
        text = f" {word}" if after_space else word
        ids = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        if not ids or self.tokenizer.unk_token_id in ids:
            raise UserError(f"{self.name} cannot spell {word!r}: take it out of the candidates")
        return ids

    def _plan(self, candidates: CandidateSet, after_space: bool) -> list[Step]:
        key = (candidates, after_space)
        if key not in self._plans:
            asked: dict[tuple[tuple[int, ...], int], list[tuple[int, int]]] = {}
            for place, word in enumerate(candidates.words):
                ids = self.pieces(word, after_space)
                for i, token in enumerate(ids):
                    asked.setdefault((ids[:i], len(ids) - i), []).append((token, place))
            self._plans[key] = [
                Step(
                    shown,
                    n_masks,
                    torch.tensor([token for token, _ in pairs], device=self.device),
                    torch.tensor([place for _, place in pairs], device=self.device),
                )
                for (shown, n_masks), pairs in asked.items()
            ]
        return self._plans[key]

    def words(self) -> list[str]:
        """The whole words of the vocabulary, without markers and word-internal pieces."""
        special = set(self.tokenizer.all_special_ids)
        tokens = self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))
        starts = [token[:1] in "Ġ▁" for token in tokens if token]
        marked = sum(starts) > len(tokens) / 10  # byte-level BPE or SentencePiece
        words = (
            token[1:] if marked else token
            for i, token in enumerate(tokens)
            if i not in special and (token[:1] in ("Ġ", "▁") if marked else token[:2] != "##")
        )
        return list(dict.fromkeys(word for word in words if word.isalnum()))

    # -- texts ----------------------------------------------------------------------

    def _encode(self, clozes: Sequence[Cloze], n_slot: int) -> list[Row]:
        """For each cloze its token ids with `n_slot` masks, and where these stand.

        Further slots after the first one are shown as masks and not asked.
        """
        mask, mask_id = self.tokenizer.mask_token, self.tokenizer.mask_token_id
        limit = self.max_tokens
        rows = []
        encoded = self.tokenise([cloze.fill(mask * n_slot).replace(SLOT, mask) for cloze in clozes])
        for cloze, ids in zip(clozes, encoded, strict=True):
            places = tuple(i for i, token in enumerate(ids) if token == mask_id)
            if len(places) != n_slot + cloze.right.count(SLOT):
                raise UserError(f"{cloze.id}: the text itself holds {mask}: take it out")
            if len(ids) > limit:
                raise UserError(
                    f"{cloze.id}: {len(ids)} tokens are more than {self.name} reads: shorten it"
                )
            rows.append((tuple(ids), places[:n_slot]))
        return rows

    def _slot_log_probs(self, rows: Sequence[tuple[tuple[int, ...], int]]) -> torch.Tensor:
        """Log-probabilities [n_rows, vocabulary] at the slots."""
        length = max(len(ids) for ids, _ in rows)
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.full((len(rows), length), padding)
        attention = torch.zeros((len(rows), length), dtype=torch.long)
        for i, (row, _) in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            attention[i, : len(row)] = 1
        slots = torch.tensor([slot for _, slot in rows], device=self.device)
        rows_index = torch.arange(len(rows), device=self.device)

        def keep_slot(module: Any, args: Any, output: Any) -> Any:
            hidden = output[0][rows_index, slots].unsqueeze(1)
            return type(output)(last_hidden_state=hidden)

        # The head of every architecture follows its encoder: it sees the slots alone.
        handle = self.model.base_model.register_forward_hook(keep_slot)
        try:
            logits = self.model(
                input_ids=ids.to(self.device), attention_mask=attention.to(self.device)
            ).logits[:, 0]
        finally:
            handle.remove()
        log_probs: torch.Tensor = logits.to(self.precision)
        return log_probs.sub_(log_probs.logsumexp(dim=1, keepdim=True))

    def _blocks(
        self, clozes: Sequence[Cloze], steps: list[Step], n_candidates: int
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """(places in `clozes`, scores [n_places, n_candidates]), block after block."""
        sizes = dict.fromkeys(step.n_slot for step in steps)
        encoded = {n_slot: self._encode(clozes, n_slot) for n_slot in sizes}
        shortest = encoded[min(sizes)]
        # Longest first; equal texts side by side, so that one block runs them once.
        order = sorted(range(len(clozes)), key=lambda i: (-len(shortest[i][0]), shortest[i]))
        size = max(self.max_rows, BLOCK_NUMBERS // n_candidates)
        with progress(f"scoring with {self.name}", len(clozes) * len(steps)) as advance:
            for start in range(0, len(order), size):
                block = order[start : start + size]
                scores = torch.zeros(
                    len(block), n_candidates, dtype=self.precision, device=self.device
                )
                for step in steps:
                    self._add(step, [encoded[step.n_slot][i] for i in block], scores, advance)
                yield block, scores
                if start // size % TRIM_EVERY == TRIM_EVERY - 1:
                    return_freed_memory()

    def _add(
        self, step: Step, rows: list[Row], scores: torch.Tensor, advance: Callable[[int], None]
    ) -> None:
        """Add to `scores` what `step` says about each row; equal rows are run once."""
        where: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for i, (ids, places) in enumerate(rows):
            shown = list(ids)
            for place, token in zip(places, step.shown, strict=False):
                shown[place] = token
            where.setdefault((tuple(shown), places[len(step.shown)]), []).append(i)
        distinct = list(where)

        def run(batch: list[int]) -> None:
            log_probs = self._slot_log_probs([distinct[i] for i in batch])
            picked = log_probs.index_select(1, step.targets)
            rows_of = [(j, target) for j, i in enumerate(batch) for target in where[distinct[i]]]
            source, target = (torch.tensor(side) for side in zip(*rows_of, strict=True))
            scores[target[:, None], step.places[None, :]] += picked[source]
            advance(len(rows_of))

        with torch.inference_mode():
            run_in_batches([len(ids) for ids, _ in distinct], run, self.token_budget, self.max_rows)

    # -- questions ------------------------------------------------------------------

    def _asked(
        self, clozes: Sequence[Cloze], candidates: CandidateSet
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """`_blocks` for slots after a space and for the others (byte-level BPE minds)."""
        for after_space in (True, False):
            places = [i for i, c in enumerate(clozes) if c.left.endswith(" ") == after_space]
            if places:
                steps = self._plan(candidates, after_space)
                chosen = [clozes[i] for i in places]
                for block, scores in self._blocks(chosen, steps, len(candidates)):
                    yield [places[i] for i in block], scores

    def score(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> Scores:
        """Natural log-probabilities [n_clozes, n_candidates] over the whole vocabulary."""
        result = np.empty((len(clozes), len(candidates)), dtype=np.float32)
        for places, scores in self._asked(clozes, candidates):
            result[places] = scores.cpu().numpy()
        return result

    def rank(
        self,
        clozes: Sequence[Cloze],
        candidates: CandidateSet,
        gold: Sequence[int | None],
        k: int,
    ) -> Ranking:
        """The rank of each gold candidate and the k best, without keeping all scores."""
        return _ranking(self._asked(clozes, candidates), gold, min(k, len(candidates)))

    def rank_open(
        self, clozes: Sequence[Cloze], gold: Sequence[str], k: int
    ) -> tuple[Ranking, list[list[str]]]:
        """`rank` over the model's whole vocabulary, and the k best tokens as text.

        A gold word that is several pieces in this vocabulary cannot be found: rank 0.
        """
        vocabulary = torch.arange(len(self.tokenizer), device=self.device)
        steps = [Step((), 1, vocabulary, vocabulary)]
        places = []
        for cloze, word in zip(clozes, gold, strict=True):
            ids = self.pieces(word, cloze.left.endswith(" "))
            places.append(ids[0] if len(ids) == 1 else None)
        ranking = _ranking(self._blocks(clozes, steps, len(vocabulary)), places, k)
        return ranking, [
            [self.tokenizer.decode([token]).strip() for token in row] for row in ranking.top
        ]


def longest_input(model: Any, tokenizer: Any) -> int:
    """How many tokens a transformer reads at most, special tokens included."""
    limits = [tokenizer.model_max_length]
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding):
        # RoBERTa and its kin count places from after the padding token's id.
        skipped = 0 if table.padding_idx is None else table.padding_idx + 1
        limits.append(table.num_embeddings - skipped)
    elif limit := getattr(model.config, "max_position_embeddings", None):
        limits.append(limit)
    return int(min(limits))


def _ranking(
    blocks: Iterator[tuple[list[int], torch.Tensor]], gold: Sequence[int | None], k: int
) -> Ranking:
    """The `Ranking` over blocks of scores that are dropped as soon as they are read."""
    n = len(gold)
    result = Ranking(
        np.full(n, np.nan, dtype=np.float32),
        np.zeros(n, dtype=np.int64),
        np.zeros((n, k), dtype=np.int64),
        np.zeros((n, k), dtype=np.float32),
    )
    for places, scores in blocks:
        known = np.array([gold[i] is not None for i in places])
        index = torch.tensor([gold[i] or 0 for i in places], device=scores.device)
        gold_score = scores.gather(1, index[:, None])
        rank = 1 + (scores > gold_score).sum(dim=1)
        top_score, top = scores.topk(k, dim=1)
        result.gold_score[places] = np.where(known, gold_score[:, 0].cpu().numpy(), np.nan)
        result.gold_rank[places] = np.where(known, rank.cpu().numpy(), 0)
        result.top[places] = top.cpu().numpy()
        result.top_score[places] = top_score.cpu().numpy()
    return result
