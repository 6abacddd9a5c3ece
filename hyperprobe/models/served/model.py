"""Causal models behind a server: the tokens and texts of causal models here, scored there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch

from hyperprobe.addresses import Served
from hyperprobe.errors import UserError
from hyperprobe.models.causal import CausalModel
from hyperprobe.models.hub import Source
from hyperprobe.models.plans import Unit
from hyperprobe.models.pretrained import read_tokenizer
from hyperprobe.models.served import NO_VOCABULARY, SERVE_VOCABULARY
from hyperprobe.models.served.cache import Cache
from hyperprobe.models.served.client import Client
from hyperprobe.models.served.dialects import Tokens
from hyperprobe.models.served.selftest import KNOWN, OTHERS, choose_dialect, max_tokens
from hyperprobe.models.served.server import Named, Question, Server
from hyperprobe.options import ModelOptions

MOST_CANDIDATES = 2000  # of a cloze, for each of which a text is sent


class ServedModel(CausalModel):
    """A model of a server as a `TextModel`; only its tokenizer is here."""

    kind = "served"
    model: Server

    @classmethod
    def load(
        cls,
        name: str,
        served: Served,
        place: Source,
        source: dict[str, Any],
        options: ModelOptions,
    ) -> Self:
        """The model of this name, once its server has passed the self-test.

        Its tokenizer is in `place`. Raises `UserError`.
        """
        tokenizer = read_tokenizer(served.tokenizer, place, options)
        client = Client(served.url, options.concurrency, options.key_env)
        limit = max_tokens(client, served.model)
        known, others = (
            tuple(tokenizer(text, add_special_tokens=False)["input_ids"])
            for text in (KNOWN, OTHERS)
        )
        tested = choose_dialect(name, client, served.model, tokenizer, known, others)
        longest = int(min(tokenizer.model_max_length, limit or tokenizer.model_max_length))
        cache = Cache([source, tested.dialect.name])
        # (one token less: servers generate one behind the text)
        server = Server(name, tested, cache, longest - 1)
        return cls(name, server, tokenizer, source, options.causal_scoring)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            **self._source,
            "dialect": self.model.tested.dialect.name,
            "noise": self.model.tested.noise,
            "ranks_vocabulary": self.ranks_vocabulary,
            "scoring": self.scoring,
            "ranking": "continuation",
        }

    @property
    def max_tokens(self) -> int:
        return self.model.max_tokens

    @property
    def ranks_vocabulary(self) -> bool:
        """Whether the server gives the log-probabilities of all tokens at once."""
        return self.model.tested.vocabulary > 0

    def _known(self, encoded: Sequence[Sequence[int]]) -> list[Tokens]:
        return [tuple(ids) for ids in encoded]  # (the server has the embedding table)

    def _vocabulary(self) -> torch.Tensor:
        if not self.ranks_vocabulary:
            raise UserError(
                f"{self.name}: {NO_VOCABULARY}: ask for candidates, or {SERVE_VOCABULARY}"
            )
        return torch.arange(self.model.tested.vocabulary)

    def _fill(
        self, units: list[Unit], scores: torch.Tensor, advance: Callable[[int], None]
    ) -> None:
        """The scores of each unit, by one request for all candidates of one token where the
        server answers it, and by a request for each other text."""
        where: dict[Unit, list[int]] = defaultdict(list)
        for i, unit in enumerate(units):
            where[unit].append(i)
        texts: dict[Question, list[tuple[Unit, int]]] = defaultdict(list)
        named: dict[Named, list[tuple[Unit, list[int]]]] = defaultdict(list)
        left: Counter[Unit] = Counter()  # requests
        for unit in where:
            candidates = unit.plan.continuations()
            at_once = self._at_once(candidates)
            if at_once:
                wanted = tuple(candidates[column][0] for column in at_once)
                named[unit.prefix, wanted].append((unit, at_once))
                left[unit] += 1
            others = set(range(len(candidates))).difference(at_once)
            if len(others) > MOST_CANDIDATES:
                raise UserError(
                    f"{self.name}: {NO_VOCABULARY}, and {len(others)} texts for each prompt are "
                    f"too many: name fewer candidates (--vocab), or {SERVE_VOCABULARY}"
                )
            for column in others:
                texts[unit.prefix + candidates[column], len(unit.prefix)].append((unit, column))
            left[unit] += len(others)

        def finished(unit: Unit) -> None:
            left[unit] -= 1
            if not left[unit]:
                advance(len(where[unit]))

        def answered_at_once(asked: Named, values: list[float]) -> None:
            for unit, columns in named[asked]:
                for i in where[unit]:
                    scores[i, columns] = torch.tensor(values)
                finished(unit)

        def answered(asked: Question, value: float) -> None:
            for unit, column in texts[asked]:
                scores[where[unit], column] = value
                finished(unit)

        self.model.next_log_probs(list(named), answered_at_once)
        self.model.log_probs(texts, answered)

    def _at_once(self, candidates: Sequence[Tokens]) -> list[int]:
        """The candidates to be asked in one request: those of one token, if they are many."""
        tested = self.model.tested
        single = [i for i, ids in enumerate(candidates) if len(ids) == 1]
        known = [i for i in single if candidates[i][0] < tested.vocabulary]
        return known if len(known) > tested.dialect.few else []
