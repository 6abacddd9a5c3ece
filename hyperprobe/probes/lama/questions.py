"""What `lama` asks about the facts of its relations, and of whom, as cells of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from hyperprobe.cloze import CandidateSet
from hyperprobe.models.base import ClozeModel
from hyperprobe.models.load import load_model
from hyperprobe.models.reference_tokens import use_reference_tokens
from hyperprobe.names import RETRIEVE_READ, is_vectors
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

    def cells_of(self, name: str, id: Any) -> Iterator[tuple[str, Cell]]:
        """(kind, cell) of every question to the model called `name`."""
        for relation, facts in self.kept:
            for kind, predict in self._asked(relation, facts, is_vectors(name)):
                key = f"{kind}: {name} on {relation.source}/{relation.name}"
                identity = [kind, name, id, *self._about(relation, facts)]
                compute = answered_by(_load, self.options, name, predict=predict)
                yield kind, Cell(key, name, identity, compute, len(facts))

    def _asked(self, relation: Relation, facts: list[Fact], vectors: bool) -> Iterator[Question]:
        """The questions to one model; vectors cannot read a sentence."""
        common: dict[str, Any] = {"relation": relation, "candidates": self.candidates_for(facts)}
        prompts = self.prompts.get(relation.name)
        yield FACTS, partial(predict_facts, **common, facts=facts, prompts=prompts)
        if self.negated and not vectors and (some := _with_negation(relation, facts)):
            yield NEGATED, partial(predict_negated, **common, facts=some)
        if self.mentions and not vectors and (chosen := choose_mentions(facts, self.seed)):
            yield MENTIONS, partial(predict_mentions, **common, chosen=chosen)

    def _about(self, relation: Relation, facts: Sequence[Fact]) -> list[Any]:
        """All that decides the answers of a given model about a relation."""
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
            [[fact.id, fact.object] for fact in facts],
        ]

    def retrieve_read_cells(self, found: RetrieveRead, questions: Mapping[str, str]) -> list[Cell]:
        """The answers of the baseline to each relation."""

        def compute(relation: Relation, facts: list[Fact], models: LastLoaded) -> Answers:
            frame = predict_retrieve_read(
                found, relation, facts, self.candidates, questions, self.lowercase
            )
            return frame, found.describe()

        return [
            Cell(
                f"{RETRIEVE_READ} on {relation.source}/{relation.name}",
                "",
                [self.identity[RETRIEVE_READ], *self._about(relation, facts)],
                partial(compute, relation, facts),
                len(facts),
            )
            for relation, facts in self.kept
        ]


def _load(options: ModelOptions, name: str) -> ClozeModel:
    """The model with the reference code's tokens around the mask, where that knew its kind."""
    model = load_model(name, options)
    use_reference_tokens(model)
    return model


def _with_negation(relation: Relation, facts: list[Fact]) -> list[Fact]:
    """The facts that can be negated: all by a template, else those that bring a sentence."""
    if relation.template is not None:
        return facts if relation.negated else []
    return [fact for fact in facts if has_slot(fact.negated)]
