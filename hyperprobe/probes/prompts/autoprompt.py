"""AutoPrompt: trigger tokens found by gradient (Shin et al. 2020, section 2.2).

`[X] [T1] ... [T5] [Y] .` starts with masks as triggers. Each step takes one trigger
in turn; the gradient of the loss at its input vector says, to first order, by which
tokens the loss would fall most (HotFlip); the best of these on a further batch takes
the place if it is better than what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import ClozeModel, GradientModel, as_masked_model
from hyperprobe.models.prompt_vectors import (
    frozen,
    mask_tokens,
    plain_words,
    template_of_vectors,
    written,
)
from hyperprobe.options import N_CANDIDATES, STEPS
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.prompts.learning import QuestionSet, seeded
from hyperprobe.probes.prompts.splits import Split
from hyperprobe.progress import progress

N_TRIGGERS, BATCH_SIZE = 5, 56


def autoprompt(
    model: ClozeModel,
    split: Split,
    candidates: CandidateSet,
    seed: int,
    n_triggers: int = N_TRIGGERS,
    steps: int = STEPS,
    n_candidates: int = N_CANDIDATES,
) -> Prompts:
    """The prompt of trigger tokens that was best on dev after any step."""
    model = as_masked_model(model, "AutoPrompt")
    template = template_of_vectors(n_triggers)
    steps = max(steps, n_triggers)  # every trigger is replaced once
    with seeded(seed), frozen(model):
        train, dev = (
            QuestionSet.of_subjects(model, facts, template, candidates)
            for facts in (split.train, split.selection)
        )
        allowed = plain_words(model, without={fact.object for fact in split.train})
        table = model.input_embeddings().weight.detach()
        triggers = mask_tokens(model, n_triggers)
        best, best_quality = triggers.clone(), None
        with progress(f"triggers for {split.relation.name}", steps) as advance:
            for step in range(steps):
                index = step % n_triggers
                options = likely_tokens(
                    model, train, table, triggers, index, _batch(train), allowed, n_candidates
                )
                changed = _swap(
                    model, train, table, triggers, index, options, first=step < n_triggers
                )
                advance(1)
                if changed and step >= n_triggers - 1:
                    quality = dev.quality(model, table[triggers])
                    if best_quality is None or quality > best_quality:
                        best, best_quality = triggers.clone(), quality
    return Prompts("template", (f"[X] {' '.join(written(model, best))} [Y] .",))


def likely_tokens(
    model: GradientModel,
    train: QuestionSet,
    table: torch.Tensor,
    triggers: torch.Tensor,
    index: int,
    batch: Sequence[int],
    allowed: torch.Tensor,
    n: int,
) -> torch.Tensor:
    """The `n` tokens [n] of which the gradient at trigger `index` expects the lowest loss."""
    vectors = table[triggers].clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(train.loss(model, batch, vectors), vectors)
    expected = table[allowed] @ gradient[index]
    return allowed[expected.topk(min(n, len(allowed)), largest=False).indices]


def _swap(
    model: GradientModel,
    train: QuestionSet,
    table: torch.Tensor,
    triggers: torch.Tensor,
    index: int,
    options: torch.Tensor,
    first: bool,
) -> bool:
    """Put the best of `options` at `index` if it lowers the loss on a batch; at `first`,
    when a mask stands there, in any case. Whether something changed."""
    batch = _batch(train)

    def loss(token: int) -> float:
        tried = triggers.clone()
        tried[index] = token
        with torch.no_grad():
            return float(train.loss(model, batch, table[tried]))

    losses = {token: loss(token) for token in options.tolist()}
    token = min(losses, key=lambda t: losses[t])
    if not first and losses[token] >= loss(int(triggers[index])):
        return False
    triggers[index] = token
    return True


def _batch(train: QuestionSet) -> list[int]:
    return torch.randperm(len(train))[:BATCH_SIZE].tolist()
