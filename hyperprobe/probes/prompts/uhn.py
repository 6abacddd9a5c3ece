"""LAMA-UHN: facts whose subject's name does not give the answer away (Poerner et al. 2020).

Two filters on a fact: the object is part of the subject's name, in any case; or, in
relations about people, a model guesses the object from one part of the name alone, as
one of its three best answers to a cloze such as `X is a common name in the following
city: [MASK] .`
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperprobe.cloze import CandidateSet, Template
from hyperprobe.models.base import ClozeModel
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation

# What the objects of relations about people are: T-REx by number, Google-RE by name.
NOUNS = {
    "P19": "city",
    "P20": "city",
    "place_of_birth": "city",
    "place_of_death": "city",
    "P27": "country",
    "P103": "language",
    "P1412": "language",
}
TEMPLATE = "[X] is a common name in the following {noun}: [Y] ."
BEST = 3


def leaks_answer(
    model: ClozeModel, relation: Relation, facts: Sequence[Fact], candidates: CandidateSet
) -> list[bool]:
    """Whether the name of each fact's subject gives its object away."""
    inside = [fact.object.lower() in fact.subject.lower() for fact in facts]
    noun = NOUNS.get(relation.name)
    if noun is None:
        return inside
    template = Template(TEMPLATE.format(noun=noun))
    names = list(dict.fromkeys(name for fact in facts for name in _ends(fact.subject)))
    if not names:
        return inside
    clozes = [template.cloze(name, name) for name in names]
    top = model.rank(clozes, candidates, [None] * len(clozes), BEST).top
    guesses = {
        name: {candidates.words[i] for i in row} for name, row in zip(names, top, strict=True)
    }
    return [
        is_inside or any(fact.object in guesses[name] for name in _ends(fact.subject))
        for is_inside, fact in zip(inside, facts, strict=True)
    ]


def _ends(subject: str) -> tuple[str, ...]:
    """The first and the last word of a name; none of an empty one."""
    words = subject.split()
    return tuple(dict.fromkeys((*words[:1], *words[-1:])))
