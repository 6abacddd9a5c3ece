"""Fine-tuning on the training facts: what any search could learn (Zhong et al. 2021, B.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.probes.lama.predictions import clozes_of
from hyperprobe.probes.lama.vectors import check_masked, encode_clozes
from hyperprobe.probes.prompts.learning import Exercise, descend, seeded
from hyperprobe.probes.prompts.splits import Split

LEARNING_RATE, BATCH_SIZE, EPOCHS = 2e-6, 2, 10


@contextmanager
def finetuned(model: Any, split: Split, candidates: CandidateSet, seed: int) -> Iterator[None]:
    """Within it the model is tuned on the manual prompt, best on dev; after it as before,
    bit for bit."""
    check_masked(model, "fine-tuning")
    before = _copy(model)
    try:
        best = _tune(model, split, candidates, seed)
        model.model.load_state_dict(best)
        yield
    finally:
        model.model.load_state_dict(before)


def _tune(model: Any, split: Split, candidates: CandidateSet, seed: int) -> dict[str, torch.Tensor]:
    best: dict[str, torch.Tensor] = {}
    with seeded(seed):
        train, dev = (
            Exercise.of(
                model,
                encode_clozes(model, clozes_of(model, facts, split.template)),
                facts,
                candidates,
            )
            for facts in (split.train, split.selection)
        )
        descend(
            model,
            [p for p in model.model.parameters() if p.requires_grad],
            lambda batch: train.loss(model, batch),
            len(train),
            learning_rate=LEARNING_RATE,
            batch_size=BATCH_SIZE,
            epochs=EPOCHS,
            quality=lambda: dev.quality(model),
            keep=lambda: best.update(_copy(model)),
            label=f"fine-tuning for {split.relation.name}",
        )
    for parameter in model.model.parameters():
        parameter.grad = None
    return best


def _copy(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.model.state_dict().items()}
