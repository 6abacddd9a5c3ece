"""OptiPrompt: the vectors of a prompt, learned (Zhong et al. 2021, section 3, appendix B.1)."""

from __future__ import annotations

from typing import Any

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.probes.lama.prompts import Prompts, owner_of
from hyperprobe.probes.lama.vectors import check_masked
from hyperprobe.probes.prompts.learning import Exercise, descend, frozen, seeded
from hyperprobe.probes.prompts.splits import Split

LEARNING_RATE, BATCH_SIZE, EPOCHS = 3e-3, 16, 10
# The paper's relations have 800 facts, and so 500 steps. Ten epochs of ten facts are ten
# steps, in which the vectors do not get anywhere: small relations go on.
MIN_STEPS = 200
MANUAL = "manual"


def optiprompt(
    model: Any, split: Split, candidates: CandidateSet, seed: int, start: str = MANUAL
) -> Prompts:
    """The prompt of vectors that is best on dev, among those after each epoch and the start.

    `start` is a number of vectors, drawn at random, or `manual`: the tokens of the
    manual prompt become vectors. No weight of the model changes.
    """
    check_masked(model, "OptiPrompt")
    with seeded(seed), frozen(model):
        if start == MANUAL:
            template, initial = vectors_of(model, split.template)
        else:
            template, initial = random_vectors(model, int(start))
        vectors = torch.nn.Parameter(initial)
        best = initial.clone()
        train, dev = (
            Exercise.of_subjects(model, facts, template, candidates)
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


def random_vectors(model: Any, n: int) -> tuple[str, torch.Tensor]:
    """`[X] [V1] ... [Vn] [Y] .` and vectors [n, dimension] spread as the model's own rows."""
    table = model.model.get_input_embeddings().weight.detach().float()
    vectors = torch.randn(n, table.shape[1]) * float(table.std())
    places = " ".join(f"[V{i}]" for i in range(1, n + 1))
    return f"[X] {places} [Y] .", vectors.to(model.device)


def vectors_of(model: Any, template: str) -> tuple[str, torch.Tensor]:
    """A manual prompt with a vector in the place of each of its tokens, and these vectors.

    A template of nothing but subject and slot has no vectors to learn.
    """
    table = model.model.get_input_embeddings().weight.detach().float()
    parts: list[str] = []
    ids: list[int] = []
    spaced = template.replace("[X]", " [X] ").replace("[Y]", " [Y] ")
    for word in spaced.split():
        if word in ("[X]", "[Y]"):
            parts.append(word)
            continue
        for token in model.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]:
            ids.append(token)
            parts.append(f"[V{len(ids)}]")
    return " ".join(parts), table[torch.tensor(ids, dtype=torch.long, device=model.device)].clone()
