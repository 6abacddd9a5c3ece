"""Sequence-to-sequence language models: the encoder reads the text with its slot marked.

T5 and its kin have sentinels: the encoder reads the text with `<extra_id_0>` in the
slot, the decoder writes `<extra_id_0> candidate <extra_id_1>` (Raffel et al. 2020,
section 3.1.4). `full` counts the closing sentinel, `continuation` does not.

BART and its kin have one mask: the encoder reads the text with it in the slot, the
decoder writes the whole text (Lewis et al. 2020, section 2.2, text infilling). The
text before the slot is given; `full` scores the candidate and the text after it,
`continuation` the candidate alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.autoregressive import AutoregressiveModel, rows_of_cache
from hyperprobe.models.language import head_sees, no_marks
from hyperprobe.models.plans import Start, Tokens, Unit
from hyperprobe.options import CausalScoring

SENTINELS = ("<extra_id_0>", "<extra_id_1>")


def has_sentinels(tokenizer: Any) -> bool:
    """Whether slots are marked the T5 way."""
    known = tokenizer.get_vocab()
    return all(sentinel in known for sentinel in SENTINELS)


class Seq2SeqModel(AutoregressiveModel):
    """A Hugging Face sequence-to-sequence LM as a `ClozeModel`."""

    kind = "seq2seq"
    auto_class = "AutoModelForSeq2SeqLM"
    mapping = "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        source: dict[str, Any],
        scoring: CausalScoring = "full",
    ) -> None:
        super().__init__(name, model, tokenizer, source, scoring)
        self.sentinels = has_sentinels(tokenizer)
        self.mark = SENTINELS[0] if self.sentinels else tokenizer.mask_token
        self._opening = self._decoder_opening()

    @classmethod
    def certainty(cls, config: Any, classes: Sequence[str]) -> int:
        return 4 if config.is_encoder_decoder else 0

    @classmethod
    def slot_marks(cls, name: str, tokenizer: Any) -> Sequence[str]:
        if has_sentinels(tokenizer):
            return SENTINELS
        if tokenizer.mask_token is None:
            raise no_marks(name, f"mask token nor sentinels ({SENTINELS[0]})")
        return (tokenizer.mask_token,)

    def _decoder_opening(self) -> Tokens:
        """What the decoder has written before it comes to the slot, or to the text."""
        start = self.model.config.decoder_start_token_id
        if start is None:
            start = self.model.generation_config.decoder_start_token_id
        if start is None:
            start = self.tokenizer.pad_token_id
        if self.sentinels:
            return (start, self.tokenizer.convert_tokens_to_ids(self.mark))
        return (start, *self._text_opening)

    def _starts(self, clozes: Sequence[Cloze]) -> list[Start]:
        sources = self._whole_ids([self._marked(cloze) for cloze in clozes])
        slot = self.tokenizer.convert_tokens_to_ids(self.mark)
        for cloze, source in zip(clozes, sources, strict=True):
            if source.count(slot) != (1 if self.sentinels else 1 + cloze.right.count(SLOT)):
                raise UserError(f"{cloze.id}: the text itself holds {self.mark}: take it out")
        if self.sentinels:
            return [Start(self._opening, (), source) for source in sources]
        lefts = self.token_ids([cloze.left.rstrip(" ") for cloze in clozes])
        return [
            Start(self._opening, left, source) for left, source in zip(lefts, sources, strict=True)
        ]

    def _marked(self, cloze: Cloze) -> str:
        """The text with its slot marked, and any further slots too."""
        text = cloze.fill(self.mark)
        if not self.sentinels:
            return text.replace(SLOT, self.mark)
        for i in range(1, 1 + text.count(SLOT)):
            text = text.replace(SLOT, f"<extra_id_{i}>", 1)
        return text

    def _units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        if self.scoring == "continuation":
            return self._word_units(clozes, candidates)
        if self.sentinels:
            closing = self.tokenizer.convert_tokens_to_ids(SENTINELS[1])
            return self._word_units(clozes, candidates, (closing,))
        return self._text_units(clozes, candidates)

    def _read(self, units: Sequence[Unit]) -> tuple[torch.Tensor, Any]:
        sources, attention = self._padded([unit.source for unit in units])
        written = torch.tensor([unit.prefix for unit in units], device=self.device)
        last = [written.shape[1] - 1] * len(units)
        with head_sees(self.model.get_decoder(), range(len(units)), last):
            output = self.model(
                input_ids=sources,
                attention_mask=attention,
                decoder_input_ids=written,
                use_cache=True,
            )
        state = output.past_key_values, output.encoder_last_hidden_state, attention
        return self._log_probs(output.logits[0]), state

    def _continue(
        self, units: Sequence[Unit], state: Any, chosen: list[int], rows: Sequence[Tokens]
    ) -> torch.Tensor:
        past, encoded, attention = state
        ids, _ = self._padded(rows)  # on the right, where the decoder does not look
        of_rows = [i for i, row in enumerate(rows) for _ in row]
        positions = [position for row in rows for position in range(len(row))]
        with head_sees(self.model.get_decoder(), of_rows, positions):
            logits = self.model(
                encoder_outputs=(encoded[chosen],),
                attention_mask=attention[chosen],
                decoder_input_ids=ids,
                past_key_values=rows_of_cache(past, chosen),
                use_cache=True,
            ).logits[0]
        return self._log_probs(logits)
