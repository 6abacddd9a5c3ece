"""Fine-tuning on the training facts: what any search could learn (Zhong et al. 2021, B.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import ClozeModel, GradientModel, as_masked_model
from hyperprobe.models.prompt_vectors import encode_clozes
from hyperprobe.probes.lama.predictions import clozes_of
from hyperprobe.probes.prompts.learning import QuestionSet, descend, seeded
from hyperprobe.probes.prompts.splits import Split

LEARNING_RATE, BATCH_SIZE, EPOCHS = 2e-6, 2, 10


@contextmanager
def finetuned(
    model: ClozeModel, split: Split, candidates: CandidateSet, seed: int
) -> Iterator[None]:
    """Within it the model is tuned on the manual prompt, best on dev; after it as before,
    bit for bit."""
    model = as_masked_model(model, "fine-tuning")
    before = _copy(model)
    try:
        best = _tune(model, split, candidates, seed)
        model.model.load_state_dict(best)
        yield
    finally:
        model.model.load_state_dict(before)


def _tune(
    model: GradientModel, split: Split, candidates: CandidateSet, seed: int
) -> dict[str, torch.Tensor]:
    best: dict[str, torch.Tensor] = {}
    with seeded(seed):
        train, dev = (
            QuestionSet.of(
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


def _copy(model: GradientModel) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.model.state_dict().items()}
