"""Gradient descent on a prompt's vectors or on a whole model, the best of it kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.lama.protocol import Fact
from hyperprobe.lama.vectors import Question, candidate_ids, score_questions, slot_logits

WARM_UP = 0.1
Quality = tuple[float, float]  # share of first answers that are right, minus the mean loss


@dataclass(frozen=True)
class Exercise:
    """Questions with their right answers, and the tokens that compete.

    `gold` are indices [n_questions] into `columns`, the token ids of the candidates:
    the loss is the cross-entropy over these alone, as in the reference code's
    "common vocabulary loss".
    """

    questions: Sequence[Question]
    gold: torch.Tensor
    columns: torch.Tensor

    @classmethod
    def of(
        cls, model: Any, questions: Sequence[Question], facts: Sequence[Fact], candidates: CandidateSet
    ) -> Exercise:
        gold = [candidates.index[fact.object] for fact in facts]
        places = torch.tensor(gold, device=model.device, dtype=torch.long)
        return cls(questions, places, candidate_ids(model, candidates))

    def __len__(self) -> int:
        return len(self.questions)

    def loss(
        self, model: Any, batch: Sequence[int], vectors: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The mean loss over the questions of `batch`; gradients flow."""
        logits = slot_logits(model, [self.questions[i] for i in batch], vectors)
        places = torch.tensor(list(batch), device=self.gold.device)
        return torch.nn.functional.cross_entropy(logits[:, self.columns], self.gold[places])

    def quality(self, model: Any, vectors: torch.Tensor | None = None) -> Quality:
        """How good the answers are: P@1 first, and among equals the lower loss."""
        scores = score_questions(model, self.questions, self.columns, vectors)
        gold = scores.gather(1, self.gold[:, None])
        right = (scores > gold).sum(dim=1) == 0
        loss = (scores.logsumexp(dim=1, keepdim=True) - gold).mean()
        return float(right.float().mean()), -float(loss)


def descend(
    model: Any,
    parameters: Sequence[torch.nn.Parameter],
    loss: Callable[[Sequence[int]], torch.Tensor],
    n: int,
    *,
    learning_rate: float,
    batch_size: int,
    epochs: int,
    quality: Callable[[], Quality],
    keep: Callable[[], None],
    advance: Callable[[int], None] = lambda n: None,
) -> None:
    """Adam with a linear schedule, 10 % of it warm-up, over `n` examples; calls `keep`
    whenever `quality` is better than ever, the start included. Dropout is on, as the
    model's configuration says, and off for `quality`."""
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    n_steps = epochs * -(-n // batch_size)
    n_warm = int(WARM_UP * n_steps)

    def factor(step: int) -> float:
        if step < n_warm:
            return (step + 1) / n_warm
        return max(0.0, (n_steps - step) / max(1, n_steps - n_warm))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    best = quality()
    keep()
    for _ in range(epochs):
        order = torch.randperm(n).tolist()
        model.model.train()
        for start in range(0, n, batch_size):
            optimizer.zero_grad()
            batch = order[start : start + batch_size]
            loss(batch).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            advance(len(batch))
        model.model.eval()
        if (now := quality()) > best:
            best = now
            keep()


@contextmanager
def frozen(model: Any) -> Iterator[None]:
    """Within it no weight of the model asks for gradients."""
    asked = [p for p in model.model.parameters() if p.requires_grad]
    for parameter in asked:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in asked:
            parameter.requires_grad_(True)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within it torch's random numbers are those of `seed`; outside they are as before."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
