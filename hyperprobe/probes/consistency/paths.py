"""Where the nouns of a set stand in its taxonomy, and which words compete at a step of a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from wordfreq import zipf_frequency

from hyperprobe.cloze import CandidateSet
from hyperprobe.lexicon.taxonomy import ancestors, path_up
from hyperprobe.probes.consistency.plan import Items

LEAST, MOST = 4, 30  # words that compete at a level


@dataclass(frozen=True)
class Level:
    """A step of a path: is something a `node`, or another kind of `parent`?

    The right word is the first of the `candidates`.
    """

    node: str
    parent: str
    candidates: CandidateSet


CanSpell = Callable[[Sequence[str]], list[bool]]


def spells_all(words: Sequence[str]) -> list[bool]:
    """For models that take any word: each of them."""
    return [True for _ in words]


class Paths:
    """The paths of a set's nouns up its taxonomy, in words that a model `can_spell`."""

    def __init__(self, items: Items, can_spell: CanSpell = spells_all) -> None:
        self.items = items
        self._can_spell = can_spell
        self.taxonomy = items.of_set.taxonomy
        self._levels: dict[tuple[str, str], Level | None] = {}
        self._kinds: dict[str, list[tuple[str, str]]] = {}
        self._above: dict[str | None, frozenset[str]] = {}
        self._true: dict[str | None, frozenset[str]] = {}

    @cached_property
    def nodes(self) -> list[str | None]:
        """The node of each noun, None where the taxonomy has none."""
        return [node if node in self.taxonomy else None for node in self.items.frame["synset"]]

    def above(self, node: str | None) -> frozenset[str]:
        """All nodes above a node, and itself; nothing for None."""
        if node not in self._above:
            found = frozenset[str]() if node is None else ancestors(self.taxonomy, node) | {node}
            self._above[node] = found
        return self._above[node]

    def true_words(self, node: str | None) -> frozenset[str]:
        """All names of a node and of what is above it: none of them is a wrong answer."""
        if node not in self._true:
            names = (word for kind in self.above(node) for word in self.taxonomy.words(kind))
            self._true[node] = frozenset(names)
        return self._true[node]

    @cached_property
    def categories(self) -> list[str | None]:
        """The node above each noun that its category names: of several the lowest one."""
        return [
            self._named(node, category)
            for node, category in zip(self.nodes, self.items.frame["hypernym"], strict=True)
        ]

    def _named(self, node: str | None, category: str) -> str | None:
        named = [kind for kind in self.above(node) if category in self.taxonomy.words(kind)]
        return min(named, key=lambda kind: (-len(self.above(kind)), kind), default=None)

    def path(self, i: int) -> list[str]:
        """The nodes above the i-th noun, nearest first, through its category."""
        node = self.nodes[i]
        return [] if node is None else path_up(self.taxonomy, node, self.categories[i])

    def outside(self, parent: str) -> list[int]:
        """Nouns that are no kinds of `parent`, so that no kind of it is right for them."""
        strangers = [
            i
            for i, node in enumerate(self.nodes)
            if node is not None and parent not in self.above(node)
        ]
        return self.items.spread(strangers)

    def levels(self, path: Sequence[str], noun: str) -> dict[Level, int]:
        """The levels of a path that can be asked of a noun -> their steps from it.

        A level takes enough kinds of one parent, and nouns that are none.
        """
        found = {}
        for distance, (node, parent) in enumerate(pairwise(path), 1):
            if (node, parent) not in self._levels:
                self._levels[node, parent] = self._level(node, parent)
            level = self._levels[node, parent]
            if level is not None and noun not in level.candidates.index:
                found[level] = distance
        return found

    def _level(self, node: str, parent: str) -> Level | None:
        names = self.taxonomy.words(node)
        right = commonest(names)
        others = dict.fromkeys(
            word
            for word, sibling in self._most_frequent_kinds(parent)
            if sibling != node and not set(names) & set(self.taxonomy.words(sibling))
        )
        candidates = self.spelled(list(dict.fromkeys([right, *others])))[:MOST]
        if len(candidates) < LEAST or candidates[0] != right or not self.outside(parent):
            return None
        return Level(node, parent, CandidateSet(tuple(candidates)))

    def _most_frequent_kinds(self, parent: str) -> list[tuple[str, str]]:
        """(usual name, node) of the most frequent kinds of `parent`, more than are needed."""
        if parent not in self._kinds:
            kinds = [
                (commonest(self.taxonomy.words(kind)), kind)
                for kind in self.taxonomy.children(parent)
            ]
            kinds.sort(key=lambda pair: (-frequency(pair[0]), pair))
            self._kinds[parent] = kinds[: 4 * MOST]
        return self._kinds[parent]

    def spelled(self, words: Sequence[str]) -> list[str]:
        """Those of the words that the model can spell."""
        known = self._can_spell(words) if words else []
        return [word for word, can in zip(words, known, strict=True) if can]

    def related(self, i: int, j: int) -> bool:
        """Whether two nouns are synonyms, or one is above the other."""
        one, other = self.nodes[i], self.nodes[j]
        return i == j or (
            one is not None and (one in self.above(other) or other in self.above(one))
        )


@cache
def frequency(word: str) -> float:
    """The Zipf frequency of a word or name in English."""
    return float(zipf_frequency(word, "en"))


def commonest(words: Sequence[str]) -> str:
    """The most frequent of a node's names; of equal ones the first."""
    return max(words, key=frequency)
