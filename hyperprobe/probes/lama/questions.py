"""What `lama` asks about the facts of its relations, and of whom, as cells of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.model_names import is_vectors
from hyperprobe.models.base import ClozeModel
from hyperprobe.models.load import load_model
from hyperprobe.models.reference_tokens import use_reference_tokens
from hyperprobe.names import RETRIEVE_READ
from hyperprobe.options import ModelOptions
from hyperprobe.probes.lama.predictions import (
    choose_mentions,
    predict_facts,
    predict_mentions,
    predict_negated,
)
from hyperprobe.probes.lama.prompts import Prompts
from hyperprobe.probes.lama.protocol import Fact, has_slot
from hyperprobe.probes.lama.retrieve_read import predict_retrieve_read
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.reading.answers import RetrieveRead
from hyperprobe.runs.jobs import Answers, Cell, LastLoaded, answered_by

Question = tuple[str, Callable[..., pd.DataFrame]]  # its kind, and the answers of a model to it
FACTS, NEGATED, MENTIONS = "facts", "negated", "mentions"
FACTS_AT_ONCE = 10_000  # of a cell: it is held in memory, and lost to a kill


@dataclass(frozen=True)
class Part:
    """Facts of a relation that follow each other, the first of them the fact number `start`."""

    relation: Relation
    start: int
    facts: Sequence[Fact]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the facts' ids and objects, in hex."""
        told = hashlib.sha256()
        for fact in self.facts:
            told.update(json.dumps([fact.id, fact.object]).encode())
        return told.hexdigest()


@dataclass(frozen=True)
class Asked:
    """A cell with the kind of its answers and the relation whose facts it is about, if of one."""

    kind: str
    cell: Cell
    relation: Relation | None = None


@dataclass(frozen=True)
class Questions:
    """What is asked about the facts `kept` of each relation.

    `identity` says all that decides the answers of a given model, but the facts.
    """

    kept: Sequence[tuple[Relation, list[Fact]]]
    candidates: CandidateSet
    prompts: Mapping[str, Prompts]
    multi_token: bool
    negated: bool
    mentions: bool
    lowercase: bool
    seed: int
    options: ModelOptions
    identity: Mapping[str, Any]

    def candidates_for(self, facts: Sequence[Fact]) -> CandidateSet:
        """What the objects of a relation's facts are ranked among."""
        if self.multi_token:
            return CandidateSet.of(fact.object for fact in facts)
        return self.candidates

    @cached_property
    def parts(self) -> list[Part]:
        """The facts of all relations, in parts small enough for a cell."""
        return [
            Part(relation, start, facts[start : start + FACTS_AT_ONCE])
            for relation, facts in self.kept
            for start in range(0, len(facts), FACTS_AT_ONCE)
        ]

    def cells_of(self, name: str, id: Any) -> Iterator[Asked]:
        """The cells of every question to the model called `name`."""
        for part in self.parts:
            relation, start = part.relation, part.start
            for kind, predict in self._asked(part, is_vectors(name)):
                key = f"{kind}: {name} on {relation.source}/{relation.name}"
                key += f" from fact {start}" if start else ""
                identity = [kind, name, id, *self._about(part)]
                compute = answered_by(_load, self.options, name, predict=predict)
                yield Asked(kind, Cell(key, name, identity, compute, len(part.facts)), relation)

    def _asked(self, part: Part, vectors: bool) -> Iterator[Question]:
        """The questions to one model; vectors cannot read a sentence."""
        relation, facts = part.relation, part.facts
        whole = self.facts_of[relation]
        common: dict[str, Any] = {"relation": relation, "candidates": self.candidates_for(whole)}
        prompts = self.prompts.get(relation.name)
        asked = partial(predict_facts, **common, facts=facts, prompts=prompts, start=part.start)
        yield FACTS, asked
        if self.negated and not vectors and (some := _with_negation(relation, facts)):
            yield NEGATED, partial(predict_negated, **common, facts=some)
        if not self.mentions or vectors or part.start:  # a few of all facts, and once
            return
        if chosen := choose_mentions(whole, self.seed):
            yield MENTIONS, partial(predict_mentions, **common, chosen=chosen)

    @cached_property
    def facts_of(self) -> dict[Relation, list[Fact]]:
        """Relation -> its facts."""
        return dict(self.kept)

    def _about(self, part: Part) -> list[Any]:
        """All that decides the answers of a given model about facts of a relation."""
        relation = part.relation
        name = f"{relation.source}/{relation.name}"
        of_relation = [self.identity[key][name] for key in ("relations", "templates")]
        prompts = self.identity["prompts"].get(relation.name)
        others = ("candidates", "scoring", "lowercase", "seed")
        return [
            [name, relation.type, relation.label],
            *of_relation,
            prompts,
            *(self.identity[key] for key in others),
            self.options.identity(),
            part.digest,
        ]

    def retrieve_read_cells(
        self, found: RetrieveRead, questions: Mapping[str, str]
    ) -> Iterator[Asked]:
        """The answers of the baseline to each relation."""

        def compute(part: Part, models: LastLoaded) -> Answers:
            frame = predict_retrieve_read(
                found, part.relation, part.facts, self.candidates, questions, self.lowercase
            )
            return frame, found.describe()

        for relation, facts in self.kept:
            part = Part(relation, 0, facts)
            key = f"{RETRIEVE_READ} on {relation.source}/{relation.name}"
            identity = [self.identity[RETRIEVE_READ], *self._about(part)]
            cell = Cell(key, "", identity, partial(compute, part), len(facts))
            yield Asked(FACTS, cell, relation)


def _load(options: ModelOptions, name: str) -> ClozeModel:
    """The model with the reference code's tokens around the mask, where that knew its kind."""
    model = load_model(name, options)
    use_reference_tokens(model)
    return model


def _with_negation(relation: Relation, facts: Sequence[Fact]) -> Sequence[Fact]:
    """The facts that can be negated: all by a template, else those that bring a sentence."""
    if relation.template is not None:
        return facts if relation.negated else []
    return [fact for fact in facts if has_slot(fact.negated)]
