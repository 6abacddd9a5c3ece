"""A tested server as the network of a model: log-probabilities of token ids, cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import torch

from hyperprobe.errors import UserError
from hyperprobe.models.served.cache import Cache
from hyperprobe.models.served.client import RefusedError
from hyperprobe.models.served.dialects import Tokens
from hyperprobe.models.served.selftest import TOLERANCE, Tested

Question = tuple[Tokens, int]  # token ids, and how many of them come before those asked about
Named = tuple[Tokens, Tokens]  # token ids, and those that may come next
Asked = TypeVar("Asked", Question, Named)
AT_ONCE = 64  # answers that are stored together


@dataclass
class Server:
    """What answers for a model called `name`; `max_tokens` is the longest text it reads.

    Raises `UserError` for a server that stops answering as it did when it was tested, or when the
    cached answers were given.
    """

    name: str
    tested: Tested
    cache: Cache
    max_tokens: int
    device = torch.device("cpu")  # where its answers are
    dtype = torch.float32

    def __post_init__(self) -> None:
        stored = self.cache.get(self.tested.known, 1)
        if stored is None:
            self.cache.put([(self.tested.known, 1, self.tested.log_probs)])
        elif (apart := _apart(stored, self.tested.log_probs)) > TOLERANCE:
            raise UserError(
                f"{self.name} answers otherwise than it did ({apart:.2f} nats): it is another "
                f"model, or served otherwise: delete {self.cache.path}, or call it otherwise"
            )

    def eval(self) -> Server:
        """Itself: it is not trained."""
        return self

    def log_probs(self, asked: Iterable[Question], done: Callable[[Question, float], None]) -> None:
        """Call `done(question, sum)` for each: the sum of log P(token | tokens before it) over the
        tokens that are asked about, in nats."""
        missing = []
        for question in asked:
            if (stored := self.cache.get(*question)) is None:
                missing.append(question)
            else:
                done(question, sum(stored))
        new: list[tuple[Tokens, int, list[float]]] = []
        try:
            for question, answer in self._answers(self.tested.dialect.log_probs, missing):
                new.append((*question, answer))
                done(question, sum(answer))
                if len(new) == AT_ONCE:
                    self._store(new)
        finally:
            self._store(new)

    def next_log_probs(
        self, asked: Sequence[Named], done: Callable[[Named, list[float]], None]
    ) -> None:
        """Call `done(question, values)` for each: log P(token | ids) of its tokens."""
        for question, answer in self._answers(self.tested.dialect.next_log_probs, asked):
            done(question, answer)

    def _answers(
        self, ask: Callable[..., list[float]], asked: Sequence[Asked]
    ) -> Iterator[tuple[Asked, list[float]]]:
        """(question, answer) as they come in; in the end those of the self-test, once more."""
        client = self.tested.dialect.client
        try:
            with closing(client.map(lambda question: ask(*question), asked)) as answers:
                yield from answers
            if asked:
                apart = _apart(self.tested.ask(), self.tested.log_probs)
                if apart > TOLERANCE:
                    raise RefusedError(f"log-probabilities differ by {apart:.2f} nats")
        except RefusedError as error:
            raise UserError(
                f"{self.name} has passed its self-test and now fails: {error}: look at the server"
            ) from None

    def _store(self, new: list[tuple[Tokens, int, list[float]]]) -> None:
        self.cache.put(new)
        new.clear()


def _apart(some: list[float], others: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(some, others, strict=True))
