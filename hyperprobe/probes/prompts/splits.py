"""Train, dev and test facts of a relation.

Given as AutoPrompt's folders, `REL/train.jsonl, dev.jsonl, test.jsonl`, or made from
LAMA's files: 60, 20 and 20 % of the subjects, in the order of a seeded hash of the
subject, so that no subject is in two parts and one relation's split does not depend
on another's.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hyperprobe.errors import UserError
from hyperprobe.probes.lama.protocol import Fact, Vocabulary, select
from hyperprobe.probes.lama.sources import DEV, TEST, TRAIN, Relation, load_sources

DEV_SHARE, TEST_SHARE = 0.2, 0.2


@dataclass(frozen=True)
class Split:
    """The facts of one relation that count, in three parts without a common pair.

    `counts`: how many rows there were, and how many are left out for which reason; of given
    parts also `n_in_test`, pairs of train and dev left out because they are test pairs.
    """

    relation: Relation
    train: list[Fact]
    dev: list[Fact]
    test: list[Fact]
    counts: dict[str, int]

    @property
    def template(self) -> str:
        """The manual prompt. Raises `UserError` when the relation has none."""
        if self.relation.template is None:
            raise UserError(
                f"{self.relation.source}: {self.relation.name} has no template: write one into "
                "relations.jsonl in the folder of the facts, as "
                '{"relation": "P19", "template": "[X] was born in [Y] ."}'
            )
        return self.relation.template

    @property
    def selection(self) -> list[Fact]:
        """What a prompt is chosen on: dev or, where there is none, train."""
        return self.dev or self.train


def load_splits(
    sources: Sequence[str],
    data: Path,
    only: Sequence[str],
    vocabulary: Vocabulary,
    lowercase: bool,
    seed: int,
) -> list[Split]:
    """The splits of the relations asked, also those with no train or no test facts.

    Raises `UserError` on bad files, and for a relation without a template.
    """
    relations = load_sources(sources, data, only)
    for name, n in Counter(relation.name for relation in relations).items():
        if n > 1:
            raise UserError(f"two sources have a relation {name}: run them one after the other")
    splits = []
    for relation in relations:
        given = len(fact_files(relation)) > 1
        made = (given_split if given else seeded_split)(relation, vocabulary, lowercase, seed)
        made.template  # noqa: B018 (refuses a relation without one before any work)
        check_split(made)
        splits.append(made)
    return splits


def fact_files(relation: Relation) -> list[Path]:
    """The files that a relation's facts come from: its one, or the given parts."""
    if relation.path.name == TEST and relation.path.with_name(TRAIN).is_file():
        parts = (relation.path.with_name(name) for name in (TEST, TRAIN, DEV))
        return [path for path in parts if path.is_file()]
    return [relation.path]


def check_split(split: Split) -> None:
    """Raises `UserError` when a pair of train or dev is a test pair."""
    test = _pairs(split.test)
    if leaked := test & (_pairs(split.train) | _pairs(split.dev)):
        raise UserError(
            f"{split.relation.path}: {len(leaked)} test pairs are in train or dev: take them out"
        )


def seeded_split(relation: Relation, vocabulary: Vocabulary, lowercase: bool, seed: int) -> Split:
    """The split of one file of facts by the hash of the subject.

    The same seed and facts give the same split, in whatever order the file has them.
    """
    facts, counts = select(relation, vocabulary, lowercase)
    subjects = sorted({_key(fact) for fact in facts}, key=lambda s: _hash(f"{seed}:{s}"))
    n = len(subjects)
    n_test = max(round(TEST_SHARE * n), 1) if n > 1 else 0
    n_dev = round(DEV_SHARE * n)
    part_of = {
        subject: "test" if i < n_test else "dev" if i < n_test + n_dev else "train"
        for i, subject in enumerate(subjects)
    }
    facts = sorted(facts, key=lambda fact: (_hash(f"{seed}:{_key(fact)}"), fact.object, fact.id))
    parts: dict[str, list[Fact]] = {"train": [], "dev": [], "test": []}
    for fact in facts:
        parts[part_of[_key(fact)]].append(fact)
    return Split(relation, **parts, counts=counts)


def given_split(
    relation: Relation, vocabulary: Vocabulary, lowercase: bool, seed: int = 0
) -> Split:
    """The parts in AutoPrompt's layout; pairs of train and dev that are in test are left out."""
    parts: dict[str, list[Fact]] = {}
    counts: dict[str, int] = {}
    parts["dev"] = []
    for path in fact_files(relation):
        parts[path.stem], reasons = select(replace(relation, path=path), vocabulary, lowercase)
        for reason, n in reasons.items():
            counts[reason] = counts.get(reason, 0) + n
    test, n_before = _pairs(parts["test"]), len(parts["train"]) + len(parts["dev"])
    for part in ("train", "dev"):
        parts[part] = [fact for fact in parts[part] if _pair(fact) not in test]
    counts["n_in_test"] = n_before - len(parts["train"]) - len(parts["dev"])
    return Split(relation, **parts, counts=counts)


def _key(fact: Fact) -> str:
    """The subject in lower case: subjects that differ in case only are the same."""
    return " ".join(fact.subject.lower().split())


def _pair(fact: Fact) -> tuple[str, str]:
    return _key(fact), fact.object.lower()


def _pairs(facts: Sequence[Fact]) -> set[tuple[str, str]]:
    return {_pair(fact) for fact in facts}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
