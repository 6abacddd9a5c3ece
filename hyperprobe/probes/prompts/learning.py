"""Gradient descent on a prompt's vectors or on a whole model, the best of it kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import GradientModel
from hyperprobe.models.batching import run_in_batches
from hyperprobe.models.prompt_vectors import (
    Question,
    candidate_ids,
    candidate_mask,
    encode_subjects,
    slot_logits,
)
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.progress import progress
from hyperprobe.statistics.ranks import stand_of, success

WARM_UP = 0.1
Quality = tuple[float, float]  # share of first answers that are right, minus the mean loss


@dataclass(frozen=True)
class QuestionSet:
    """Questions with their right answers, and the tokens that compete.

    `gold` are token ids [n_questions]; `mask` [vocabulary] is 0 for the tokens of the
    candidates and minus infinity for others: the loss is the cross-entropy over the
    candidates alone, as in the reference code's "common vocabulary loss".
    """

    questions: Sequence[Question]
    gold: torch.Tensor
    mask: torch.Tensor

    @classmethod
    def of(
        cls,
        model: GradientModel,
        questions: Sequence[Question],
        facts: Sequence[Fact],
        candidates: CandidateSet,
    ) -> QuestionSet:
        ids = candidate_ids(model, candidates)
        gold = [candidates.index[fact.object] for fact in facts]
        rows = torch.tensor(gold, device=model.device, dtype=torch.long)
        return cls(questions, ids[rows], candidate_mask(model, ids))

    @classmethod
    def of_subjects(
        cls, model: GradientModel, facts: Sequence[Fact], template: str, candidates: CandidateSet
    ) -> QuestionSet:
        """The questions that `template`, with marks for vectors, asks about the facts."""
        questions = encode_subjects(model, [fact.subject for fact in facts], template)
        return cls.of(model, questions, facts, candidates)

    def __len__(self) -> int:
        return len(self.questions)

    def loss(
        self, model: GradientModel, batch: Sequence[int], vectors: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The mean loss over the questions of `batch`; gradients flow."""
        logits = slot_logits(model, [self.questions[i] for i in batch], vectors)
        rows = torch.tensor(list(batch), device=self.gold.device)
        return torch.nn.functional.cross_entropy(logits + self.mask, self.gold[rows])

    def quality(self, model: GradientModel, vectors: torch.Tensor | None = None) -> Quality:
        """How good the answers are: P@1 first (of tokens that tie each counts its
        `success`), and among equals the lower loss."""
        n = len(self)
        right = torch.empty(n, device=model.device)
        losses = torch.empty(n, device=model.device)

        def run(batch: list[int]) -> None:
            logits = slot_logits(model, [self.questions[i] for i in batch], vectors) + self.mask
            rows = torch.tensor(batch, device=model.device)
            arange = partial(torch.arange, device=logits.device)
            stand = stand_of(logits, self.gold[rows], arange)
            rank, tied = (1 + stand.above).cpu(), stand.tied.cpu()
            right[rows] = torch.tensor(success(rank, tied), dtype=torch.float).to(model.device)
            losses[rows] = logits.logsumexp(dim=1) - stand.score

        with torch.no_grad():
            lengths = [len(question.ids) for question in self.questions]
            run_in_batches(lengths, run, model.token_budget, model.max_rows)
        return float(right.mean()), -float(losses.mean())


def descend(
    model: GradientModel,
    parameters: Sequence[torch.nn.Parameter],
    loss: Callable[[Sequence[int]], torch.Tensor],
    n: int,
    *,
    learning_rate: float,
    batch_size: int,
    epochs: int,
    min_steps: int = 0,
    quality: Callable[[], Quality],
    keep: Callable[[], None],
    label: str = "learning",
) -> None:
    """Adam with a linear schedule, 10 % of it warm-up, over `n` examples; calls `keep`
    whenever `quality` is better than ever, the start included. As many more epochs as
    make up `min_steps`. Dropout is on, as the model's configuration says, and off for
    `quality`."""
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    per_epoch = -(-n // batch_size)
    epochs = max(epochs, -(-min_steps // per_epoch))
    n_steps = epochs * per_epoch
    n_warm = int(WARM_UP * n_steps)

    def factor(step: int) -> float:
        if step < n_warm:
            return (step + 1) / n_warm
        return max(0.0, (n_steps - step) / max(1, n_steps - n_warm))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    best = quality()
    keep()
    with progress(label, n_steps) as advance:
        for _ in range(epochs):
            order = torch.randperm(n).tolist()
            model.model.train()
            for start in range(0, n, batch_size):
                optimizer.zero_grad()
                batch = order[start : start + batch_size]
                loss(batch).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
                advance(1)
            model.model.eval()
            if (now := quality()) > best:
                best = now
                keep()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within it torch's random numbers are those of `seed`; outside they are as before."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
