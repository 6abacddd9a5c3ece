"""Questions with candidates of their own: many blocks of clozes, scored together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.models.base import ClozeModel, Scores


@dataclass(frozen=True)
class Block:
    """Clozes that ask for the same candidates."""

    clozes: tuple[Cloze, ...]
    candidates: CandidateSet


@runtime_checkable
class ScoresBlocks(Protocol):
    """A model that shares work between blocks: one text for candidates of several."""

    def score_blocks(self, blocks: Sequence[Block]) -> list[Scores]:
        """`ClozeModel.score` of each block."""


@runtime_checkable
class PartialModel(Protocol):
    """A model that has answers to some questions alone."""

    def has(self, blocks: Sequence[Block]) -> bool:
        """Whether it answers these, which belong together; False if it answers none.

        Raises `UserError` when it answers some.
        """


def has_answers(model: ClozeModel, blocks: Sequence[Block]) -> bool:
    """Whether the model can be asked: any but a `PartialModel` can."""
    return not isinstance(model, PartialModel) or model.has(blocks)


def score_blocks(model: ClozeModel, blocks: Sequence[Block]) -> list[Scores]:
    """The scores [n_clozes, n_candidates] of each block; equal questions are asked once."""
    if isinstance(model, ScoresBlocks):
        return model.score_blocks(blocks)
    asked: dict[CandidateSet, dict[Cloze, int]] = {}
    for block in blocks:
        index = asked.setdefault(block.candidates, {})
        for cloze in block.clozes:
            index.setdefault(cloze, len(index))
    scores = {
        candidates: model.score(list(index), candidates) for candidates, index in asked.items()
    }
    return [
        scores[block.candidates][[asked[block.candidates][cloze] for cloze in block.clozes]]
        for block in blocks
    ]
