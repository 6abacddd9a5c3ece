"""Texts with masks in the slot: token ids, and what a masked model says at the masks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch

from hyperprobe.cloze import SLOT, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.language import LanguageModel, head_sees
from hyperprobe.models.last_layer import LastLayer, find_last_layer

Tokenise = Callable[[Sequence[str]], Sequence[Sequence[int]]]

Text = tuple[tuple[int, ...], int]  # token ids, and how many of them are the first sentence's


class Row(NamedTuple):
    """A text, how many of its tokens are the first sentence's, and where the slot's masks are."""

    ids: tuple[int, ...]
    n_first: int
    positions: tuple[int, ...]


def shown_in(
    ids: tuple[int, ...], positions: tuple[int, ...], slot: tuple[int | None, ...]
) -> tuple[int, ...]:
    """The ids of a text with `slot` at its positions (None is a mask, as it stands there)."""
    shown = list(ids)
    for position, token in zip(positions, slot, strict=True):
        if token is not None:
            shown[position] = token
    return tuple(shown)


class MaskedTexts(LanguageModel, ABC):
    """A masked language model as a reader of texts with masks."""

    def __init__(self, name: str, model: Any, tokenizer: Any, source: dict[str, Any]) -> None:
        super().__init__(name, model, tokenizer, source)
        self._tokenise: Tokenise = self._whole_ids

    def tokenise(self, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """The token ids of each text, special ones included."""
        return self._tokenise(texts)

    def tokenise_by(self, rule: Tokenise) -> None:
        """From now on texts become token ids by `rule`, as a protocol may want."""
        self._tokenise = rule

    def _encode(self, clozes: Sequence[Cloze], n_slot: int) -> list[Row]:
        """For each cloze its token ids with `n_slot` masks, and where these stand.

        Further slots after the first one are shown as masks and not asked.
        """
        mask, mask_id = self.tokenizer.mask_token, self.tokenizer.mask_token_id
        limit = self.max_tokens
        rows = []
        encoded = self._texts(
            [
                [text.replace(SLOT, mask) for text in cloze.sentences(mask * n_slot)]
                for cloze in clozes
            ]
        )
        for cloze, (ids, n_first) in zip(clozes, encoded, strict=True):
            positions = tuple(i for i, token in enumerate(ids) if token == mask_id)
            if len(positions) != n_slot + cloze.right.count(SLOT):
                raise UserError(f"{cloze.id}: the text itself holds {mask}: take it out")
            if len(ids) > limit:
                raise UserError(
                    f"{cloze.id}: {len(ids)} tokens are more than {self.name} reads: shorten it"
                )
            rows.append(Row(ids, n_first, positions[:n_slot]))
        return rows

    def _texts(self, sentences: Sequence[Sequence[str]]) -> list[Text]:
        """Texts of one or two sentences: `[CLS] a [SEP]`, `[CLS] a [SEP] b [SEP]`."""
        firsts = self.tokenise([first for first, *_ in sentences])
        more = [second for _, *rest in sentences for second in rest]
        seconds = iter(self.tokenise(more) if more else [])
        n_opening = len(self._text_opening) if more else 0
        texts = []
        for first, (_, *rest) in zip(firsts, sentences, strict=True):
            behind = [token for _ in rest for token in next(seconds)[n_opening:]]
            texts.append(((*first, *behind), len(first)))
        return texts

    def _segments(self, rows: Sequence[Row], ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """What tells a model that is told (BERT) which tokens are the second sentence's."""
        n_kinds = getattr(self.model.config, "type_vocab_size", None) or 0
        if n_kinds < 2 or all(row.n_first == len(row.ids) for row in rows):
            return {}
        segments = torch.zeros_like(ids)
        for i, row in enumerate(rows):
            segments[i, row.n_first : len(row.ids)] = 1
        return {"token_type_ids": segments}

    def describe(self) -> dict[str, Any]:
        last = "at the slots alone" if self._last_layer else "at all positions"
        return {**super().describe(), "last_layer": last}

    @cached_property
    def _last_layer(self) -> LastLayer | None:
        """The network's last layer, where it can be computed at the slots alone."""
        mask = self.tokenizer.mask_token_id
        a, b = self._vocabulary()[-2:].tolist()
        opening = self._text_opening
        n = len(opening)
        texts = (*opening, a, mask, b, mask, a), (*opening, mask, mask, b)  # one is padded
        slots = (n + 1, n + 3), (n, n + 1)
        rows = [Row(ids, len(ids), at) for ids, at in zip(texts, slots, strict=True)]
        with torch.inference_mode():
            return find_last_layer(self.model, lambda last: self._slot_logits(rows, last))

    def _slot_logits(self, rows: Sequence[Row], last: LastLayer | None) -> torch.Tensor:
        """Logits [n_rows, n_positions, vocabulary] at the positions of each row."""
        ids, attention = self._padded([row.ids for row in rows])
        inputs = {"input_ids": ids, "attention_mask": attention, **self._segments(rows, ids)}
        positions = torch.tensor([row.positions for row in rows])
        if last is not None and last.is_plain:
            with last.at(positions):
                logits: torch.Tensor = self.model(**inputs).logits
            return logits
        of_rows = torch.arange(len(rows)).repeat_interleave(positions.shape[1])
        with head_sees(self.model.base_model, of_rows, positions.flatten()):
            logits = self.model(**inputs).logits[0]
        return logits.view(*positions.shape, -1)

    def _slot_log_probs(self, rows: Sequence[Row]) -> torch.Tensor:
        """Log-probabilities [n_rows, n_positions, vocabulary] at the positions of each row."""
        return self._log_probs(self._slot_logits(rows, self._last_layer))
