"""AutoPrompt: trigger tokens found by gradient (Shin et al. 2020, section 2.2).

`[X] [T1] ... [T5] [Y] .` starts with masks as triggers. Each step takes one trigger
in turn; the gradient of the loss at its input vector says, to first order, by which
tokens the loss would fall most (HotFlip); the best of these on a further batch takes
the place if it is better than what stands there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.options import N_CANDIDATES, STEPS
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.lama.vectors import check_masked
from hyperprobe.probes.prompts.learning import Exercise, frozen, seeded
from hyperprobe.probes.prompts.splits import Split
from hyperprobe.progress import progress

N_TRIGGERS, BATCH_SIZE = 5, 56


def autoprompt(
    model: Any,
    split: Split,
    candidates: CandidateSet,
    seed: int,
    n_triggers: int = N_TRIGGERS,
    steps: int = STEPS,
    n_candidates: int = N_CANDIDATES,
) -> Prompts:
    """The prompt of trigger tokens that was best on dev after any step."""
    check_masked(model, "AutoPrompt")
    places = " ".join(f"[V{i}]" for i in range(1, n_triggers + 1))
    template = f"[X] {places} [Y] ."
    steps = max(steps, n_triggers)  # every trigger is replaced once
    with seeded(seed), frozen(model):
        train, dev = (
            Exercise.of_subjects(model, facts, template, candidates)
            for facts in (split.train, split.selection)
        )
        allowed = allowed_tokens(model, {fact.object for fact in split.train})
        table = model.model.get_input_embeddings().weight.detach()
        triggers = torch.full((n_triggers,), model.tokenizer.mask_token_id, device=model.device)
        best, best_quality = triggers.clone(), None
        with progress(f"triggers for {split.relation.name}", steps) as advance:
            for step in range(steps):
                place = step % n_triggers
                options = likely_tokens(
                    model, train, table, triggers, place, _batch(train), allowed, n_candidates
                )
                changed = _swap(
                    model, train, table, triggers, place, options, first=step < n_triggers
                )
                advance(1)
                if changed and step >= n_triggers - 1:
                    quality = dev.quality(model, table[triggers])
                    if best_quality is None or quality > best_quality:
                        best, best_quality = triggers.clone(), quality
    words = [model.tokenizer.decode([token]).strip() for token in best.tolist()]
    return Prompts("template", (f"[X] {' '.join(words)} [Y] .",))


def allowed_tokens(model: Any, objects: set[str]) -> torch.Tensor:
    """The tokens that may be triggers [n]: whole words of no capital letter and no gold object,
    which, written into a text, are read as the very same token."""
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids)
    ids = [i for i in range(len(tokenizer)) if i not in special]
    words = [text.strip() for text in tokenizer.batch_decode([[i] for i in ids])]
    encoded = tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
    barred = {word.lower() for word in objects}
    kept = [
        i
        for i, word, again in zip(ids, words, encoded, strict=True)
        if again == [i] and word == word.lower() and word not in barred and "[" not in word
    ]
    return torch.tensor(kept, device=model.device)


def likely_tokens(
    model: Any,
    train: Exercise,
    table: torch.Tensor,
    triggers: torch.Tensor,
    place: int,
    batch: Sequence[int],
    allowed: torch.Tensor,
    n: int,
) -> torch.Tensor:
    """The `n` tokens [n] of which the gradient at trigger `place` expects the lowest loss."""
    vectors = table[triggers].clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(train.loss(model, batch, vectors), vectors)
    expected = table[allowed] @ gradient[place]
    return allowed[expected.topk(min(n, len(allowed)), largest=False).indices]


def _swap(
    model: Any,
    train: Exercise,
    table: torch.Tensor,
    triggers: torch.Tensor,
    place: int,
    options: torch.Tensor,
    first: bool,
) -> bool:
    """Put the best of `options` at `place` if it lowers the loss on a batch; at `first`,
    when a mask stands there, in any case. Whether something changed."""
    batch = _batch(train)

    def loss(token: int) -> float:
        tried = triggers.clone()
        tried[place] = token
        with torch.no_grad():
            return float(train.loss(model, batch, table[tried]))

    losses = {token: loss(token) for token in options.tolist()}
    token = min(losses, key=lambda t: losses[t])
    if not first and losses[token] >= loss(int(triggers[place])):
        return False
    triggers[place] = token
    return True


def _batch(train: Exercise) -> list[int]:
    return torch.randperm(len(train))[:BATCH_SIZE].tolist()
