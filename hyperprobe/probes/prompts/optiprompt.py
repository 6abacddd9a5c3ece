"""OptiPrompt: the vectors of a prompt, learned (Zhong et al. 2021, section 3, appendix B.1)."""

from __future__ import annotations

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import ClozeModel, as_masked_model
from hyperprobe.models.prompt_vectors import frozen, random_vectors, vectors_of_prompt
from hyperprobe.probes.lama.prompts import Prompts, owner_of
from hyperprobe.probes.prompts.learning import QuestionSet, descend, seeded
from hyperprobe.probes.prompts.splits import Split

LEARNING_RATE, BATCH_SIZE, EPOCHS = 3e-3, 16, 10
# The paper's relations have 800 facts, and so 500 steps. Ten epochs of ten facts are ten
# steps, in which the vectors hardly move: small relations get more epochs.
MIN_STEPS = 200
MANUAL = "manual"


def optiprompt(
    model: ClozeModel, split: Split, candidates: CandidateSet, seed: int, start: str = MANUAL
) -> Prompts:
    """The prompt of vectors that is best on dev, among those after each epoch and the start.

    `start` is a number of vectors, drawn at random, or `manual`: the tokens of the
    manual prompt become vectors. No weight of the model changes.
    """
    model = as_masked_model(model, "OptiPrompt")
    with seeded(seed), frozen(model):
        if start == MANUAL:
            template, initial = vectors_of_prompt(model, split.template)
        else:
            template, initial = random_vectors(model, int(start))
        vectors = torch.nn.Parameter(initial)
        best = initial.clone()
        train, dev = (
            QuestionSet.of_subjects(model, facts, template, candidates)
            for facts in (split.train, split.selection)
        )

        def keep() -> None:
            best.copy_(vectors.detach())

        if len(vectors):
            descend(
                model,
                [vectors],
                lambda batch: train.loss(model, batch, vectors),
                len(train),
                learning_rate=LEARNING_RATE,
                batch_size=BATCH_SIZE,
                epochs=EPOCHS,
                min_steps=MIN_STEPS,
                quality=lambda: dev.quality(model, vectors),
                keep=keep,
                label=f"vectors for {split.relation.name}",
            )
    return Prompts("vectors", (template,), vectors=best.cpu().numpy(), owner=owner_of(model))
