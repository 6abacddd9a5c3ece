"""Cloze, Template and CandidateSet: what every probe is made of."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hyperprobe.errors import UserError

SLOT = "[MASK]"  # marks the slot in files and texts, whatever a model's mask token is
# The marks of a template: subject, answer, and vectors ([V1], [V2], ...).
MARK = re.compile(r"(\[X\]|\[Y\]|\[V[0-9]{1,6}\])")


@dataclass(frozen=True)
class Cloze:
    """A text with one slot, `left` + slot + `right`, and the word that it asks about.

    Where the text has two sentences, which some models read as a pair, `second` is the index in
    `text` at which the other one begins, after a space.
    """

    id: str
    left: str
    right: str
    subject: str | None = None
    second: int | None = None

    @property
    def text(self) -> str:
        return f"{self.left}{SLOT}{self.right}"

    def fill(self, word: str) -> str:
        """The text with `word` in the slot."""
        return f"{self.left}{word}{self.right}"

    def sentences(self, word: str) -> tuple[str, ...]:
        """The text with `word` in the slot, in two where `second` says so."""
        whole, at = self.fill(word), self.second
        if at is None:
            return (whole,)
        if at > len(self.left):  # behind the slot, which `word` is longer or shorter than
            at += len(word) - len(SLOT)
        return whole[: at - 1], whole[at:]

    def joined(self, between: str) -> Cloze:
        """The cloze as one text, with `between` instead of the space between its sentences."""
        if self.second is None:
            return self
        left, right, at = self.left, self.right, self.second
        if at <= len(left):
            left = left[: at - 1] + between + left[at:]
        else:
            at -= len(left) + len(SLOT)
            right = right[: at - 1] + between + right[at:]
        return replace(self, left=left, right=right, second=None)

    def shortened(self, left: str, right: str) -> Cloze:
        """The cloze with an end of its left side and a beginning of its right side alone."""
        second = self.second
        if second is not None:
            second -= len(self.left) - len(left)
            if not 0 < second <= len(left) + len(SLOT) + len(right):
                second = None  # nothing of one of the sentences is left
        return replace(self, left=left, right=right, second=second)

    @property
    def subject_span(self) -> tuple[int, int] | None:
        """Where the subject is in `text` (first match, any case), as [start, end)."""
        if self.subject is None:
            return None
        start = self.text.lower().find(self.subject.lower())
        return None if start < 0 else (start, start + len(self.subject))


def parse_cloze(text: str, id: str, subject: str | None = None) -> Cloze:
    """The cloze that `text` writes with one `[MASK]`. Raises `UserError` for none or several."""
    parts = text.split(SLOT)
    if len(parts) != 2:
        raise UserError(f"{id}: {text!r} has {len(parts) - 1} slots: write {SLOT} exactly once")
    return Cloze(id, parts[0], parts[1], subject)


@dataclass(frozen=True)
class Template:
    """A prompt pattern in LAMA's notation: `[X]` is the subject, `[Y]` the slot."""

    pattern: str

    def __post_init__(self) -> None:
        for mark in ("[X]", "[Y]"):
            if self.pattern.count(mark) != 1:
                raise UserError(f"template {self.pattern!r}: write {mark} exactly once")

    def cloze(self, id: str, subject: str) -> Cloze:
        left, right = (part.replace("[X]", subject) for part in self.pattern.split("[Y]"))
        return Cloze(id, left, right, subject)


@dataclass(frozen=True)
class CandidateSet:
    """The words that compete for a slot, in a fixed order without repetition."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or any(not word.strip() for word in self.words):
            raise UserError("a candidate set needs at least one word, and no empty ones")
        if len(set(self.words)) != len(self.words):
            twice = next(word for word in self.words if self.words.count(word) > 1)
            raise UserError(f"candidate {twice!r} is listed more than once")

    @classmethod
    def of(cls, words: Iterable[str]) -> CandidateSet:
        """The distinct words in order of first appearance."""
        return cls(tuple(dict.fromkeys(words)))

    def __len__(self) -> int:
        return len(self.words)

    def describe(self) -> dict[str, Any]:
        """How many they are, and the SHA-256 of the words line by line, for a run's settings."""
        digest = hashlib.sha256("\n".join(self.words).encode()).hexdigest()
        return {"n": len(self.words), "sha256": digest}

    @cached_property
    def index(self) -> dict[str, int]:
        """Word -> its index in `words`."""
        return {word: i for i, word in enumerate(self.words)}
