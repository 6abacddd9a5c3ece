"""Causal language models (GPT-2, Llama, Qwen, Pythia ...): the slot continues the text before it.

`full` scores log P(candidate and text after it | text before), `continuation`
log P(candidate | text before). A space before the slot belongs to the candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.models.autoregressive import AutoregressiveModel, rows_of_cache
from hyperprobe.models.language import head_sees
from hyperprobe.models.plans import Start, Tokens, Unit


class CausalModel(AutoregressiveModel):
    """A Hugging Face causal LM as a `ClozeModel`."""

    kind = "causal"
    auto_class = "AutoModelForCausalLM"
    mapping = "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"

    @classmethod
    def certainty(cls, config: Any, classes: Sequence[str]) -> int:
        # Types of both kinds (BERT) are masked models unless their class says otherwise.
        return 3 if any(c.endswith(("ForCausalLM", "LMHeadModel")) for c in classes) else 1

    def _starts(self, clozes: Sequence[Cloze]) -> list[Start]:
        lefts = self.token_ids([cloze.left.rstrip(" ") for cloze in clozes])
        return [Start(self._text_opening, left) for left in lefts]

    def _units(self, clozes: Sequence[Cloze], candidates: CandidateSet) -> list[Unit]:
        if self.scoring == "full":
            return self._text_units(clozes, candidates)
        return self._word_units(clozes, candidates)

    def _read(self, units: Sequence[Unit]) -> tuple[torch.Tensor, Any]:
        ids = torch.tensor([unit.prefix for unit in units], device=self.device)
        self.tokens_read += ids.numel()
        last = [ids.shape[1] - 1] * len(units)
        with head_sees(self.model.get_decoder(), range(len(units)), last):
            output = self.model(input_ids=ids, use_cache=True)
        return self._log_probs(output.logits[0]), getattr(output, "past_key_values", None)

    def _continue(
        self, units: Sequence[Unit], state: Any, chosen: list[int], rows: Sequence[Tokens]
    ) -> torch.Tensor:
        past = None if state is None else rows_of_cache(state, chosen)
        if past is None:  # a model without keys and values reads the prefix again
            skipped = len(units[0].prefix)
            rows = [units[i].prefix + row for i, row in zip(chosen, rows, strict=True)]
        else:
            skipped = 0
        ids, _ = self._padded(rows)  # on the right, where a causal model does not look
        of_rows = [i for i, row in enumerate(rows) for _ in row[skipped:]]
        positions = [position for row in rows for position in range(skipped, len(row))]
        with head_sees(self.model.get_decoder(), of_rows, positions):
            logits = self.model(input_ids=ids, past_key_values=past, use_cache=True).logits[0]
        return self._log_probs(logits)
