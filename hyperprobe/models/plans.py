"""What to ask a model that writes the slot from left to right: a prefix, and what continues it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """How probable is `target` after the row's token `position`? Adds to candidate `column`."""

    position: int
    target: int
    column: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What to read off for candidates that continue a prefix: the token after it (`first`, one
    for each candidate), and rows to feed behind it, each with its questions. `others` are tokens
    after the prefix that are asked besides, in the columns behind those of the candidates."""

    first: torch.Tensor
    rows: tuple[Tokens, ...] = ()
    questions: tuple[tuple[Question, ...], ...] = ()
    others: torch.Tensor | None = None

    @classmethod
    def of(cls, continuations: Sequence[Tokens], device: torch.device) -> Plan:
        """Each token is asked for once: candidates that begin alike share their rows."""
        asked: dict[Tokens, list[Question]] = defaultdict(list)
        for column, tokens in enumerate(continuations):
            if len(tokens) > 1:
                asked[tokens[:-1]] += [
                    Question(i, target, column) for i, target in enumerate(tokens[1:])
                ]
        first = torch.tensor([tokens[0] for tokens in continuations], device=device)
        return cls(first, tuple(asked), tuple(tuple(row) for row in asked.values()))

    def continuations(self) -> list[Tokens]:
        """The tokens of each column: those of candidates as `of` was given them."""
        tokens = [[token] for token in self.first.tolist()]
        for row in self.questions:
            for question in row:
                tokens[question.column].append(question.target)
        others = [] if self.others is None else self.others.tolist()
        return [*map(tuple, tokens), *((token,) for token in others)]


@dataclass(frozen=True)
class Start:
    """What comes before a slot: tokens that open every text, and those of the text on its left;
    and what the encoder reads, where there is one."""

    opening: Tokens
    left: Tokens = ()
    source: Tokens = ()


@dataclass(frozen=True)
class Unit:
    """One prefix to be run, and what to ask behind it."""

    prefix: Tokens
    source: Tokens
    plan: Plan
