"""A tested server as the network of a model: log-probabilities of token ids, cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
AT_ONCE = 64  # answers that are stored together, once known tokens were asked again


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
            if (stored := self.cache.get(*question)) is not None:
                done(question, sum(stored))
                continue
            missing.append(question)
            if len(missing) % AT_ONCE == 0:
                missing.append(self._known)
        new: list[tuple[Tokens, int, list[float]]] = []

        def keep(question: Question, answer: list[float]) -> None:
            # (of a server that has changed by then, nothing is stored)
            if question == self._known:
                self._compare(answer)
                self.cache.put(new)
                new.clear()
            else:
                new.append((*question, answer))
                done(question, sum(answer))

        self._ask(self.tested.dialect.log_probs, missing, keep)
        if new:
            self._ask(self.tested.dialect.log_probs, [self._known], keep)

    def next_log_probs(
        self, asked: Sequence[Named], done: Callable[[Named, list[float]], None]
    ) -> None:
        """Call `done(question, values)` for each: log P(token | ids) of its tokens."""
        self._ask(self.tested.dialect.next_log_probs, asked, done)
        if asked:
            known = [self._known]
            self._ask(self.tested.dialect.log_probs, known, lambda _, answer: self._compare(answer))

    @property
    def _known(self) -> Question:
        return self.tested.known, 1

    def _ask(
        self,
        ask: Callable[..., list[float]],
        asked: Sequence[Asked],
        done: Callable[[Asked, list[float]], None],
    ) -> None:
        """Call `done(question, answer)` as answers come in."""
        try:
            client = self.tested.dialect.client
            with closing(client.map(lambda question: ask(*question), asked)) as answers:
                for question, answer in answers:
                    done(question, answer)
        except RefusedError as error:
            raise UserError(
                f"{self.name} has passed its self-test and now fails: {error}: look at the server"
            ) from None

    def _compare(self, answer: list[float]) -> None:
        """Raises `RefusedError` unless known tokens get what they got in the self-test."""
        if (apart := _apart(answer, self.tested.log_probs)) > TOLERANCE:
            raise RefusedError(f"log-probabilities differ by {apart:.2f} nats")


def _apart(some: list[float], others: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(some, others, strict=True))
