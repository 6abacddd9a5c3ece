"""Taxonomies: which kind is below which, in WordNet or in a user's edges.

A node of WordNet is a synset's name (`robin.n.01`), one of a user's taxonomy its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Protocol

from hyperprobe.lexicon.wordnet import open_wordnet


class Taxonomy(Protocol):
    """Is-a relations between nodes. A node may have several parents; there is no cycle."""

    def __contains__(self, node: object) -> bool:
        """Whether it is a node."""

    def parents(self, node: str) -> Sequence[str]:
        """The kinds that a node is of; none for a root."""

    def children(self, node: str) -> Sequence[str]:
        """The kinds of a node."""

    def words(self, node: str) -> Sequence[str]:
        """The node's names in the singular, the usual one first."""

    def parts(self, node: str) -> Sequence[str]:
        """Names of the parts that its kind has, where the taxonomy says so."""


class WordNetTaxonomy:
    """The nouns of WordNet, without named entities."""

    def __init__(self, reader: Any = None) -> None:
        self._reader = reader or open_wordnet()
        # Nodes are asked for again and again; the reader looks in its files each time.
        self._synset = cache(self._reader.synset)
        self.parents = cache(lambda node: _names(self._synset(node).hypernyms()))
        self.children = cache(lambda node: _names(self._synset(node).hyponyms()))
        self.words = cache(lambda node: _words(self._synset(node)))

    def __contains__(self, node: object) -> bool:
        if not isinstance(node, str) or ".n." not in node:
            return False
        try:
            return bool(self._synset(node))
        except Exception:  # nltk fails in many ways on a name that is none
            return False

    def parts(self, node: str) -> Sequence[str]:
        return [self.words(part)[0] for part in _names(self._synset(node).part_meronyms())]


class EdgeTaxonomy:
    """A user's edges (child, parent), in the order of their file."""

    def __init__(self, edges: Iterable[tuple[str, str]]) -> None:
        self._parents: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}
        for child, parent in edges:
            self._parents.setdefault(child, []).append(parent)
            self._children.setdefault(parent, []).append(child)

    @cached_property
    def nodes(self) -> dict[str, None]:
        """Every node, those that are children first, in the order of their edges."""
        return dict.fromkeys([*self._parents, *self._children])

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """(child, parent), each child's together."""
        for child, parents in self._parents.items():
            for parent in parents:
                yield child, parent

    def roots(self) -> list[str]:
        """The nodes without a parent."""
        return [node for node in self.nodes if node not in self._parents]

    def cycle(self) -> list[str]:
        """A path of nodes, each with its parent after it, that ends where it began; or none."""
        done: set[str] = set()
        for start in self._parents:
            path: dict[str, None] = {}
            agenda = [(start, True)]
            while agenda:
                node, enters = agenda.pop()
                if not enters:
                    del path[node]
                    done.add(node)
                elif node in path:
                    nodes = list(path)
                    return [*nodes[nodes.index(node) :], node]
                elif node not in done:
                    path[node] = None
                    agenda.append((node, False))
                    agenda += [(parent, True) for parent in self.parents(node)]
        return []

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def parents(self, node: str) -> Sequence[str]:
        return self._parents.get(node, [])

    def children(self, node: str) -> Sequence[str]:
        return self._children.get(node, [])

    def words(self, node: str) -> Sequence[str]:
        return [node]

    def parts(self, node: str) -> Sequence[str]:
        return []


def ancestors(taxonomy: Taxonomy, node: str) -> frozenset[str]:
    """All nodes above a node."""
    seen: set[str] = set()
    agenda = [node]
    while agenda:
        for parent in taxonomy.parents(agenda.pop()):
            if parent not in seen:
                seen.add(parent)
                agenda.append(parent)
    return frozenset(seen)


def below(taxonomy: Taxonomy, node: str) -> list[str]:
    """All nodes below a node, each once, the nearest first."""
    found: dict[str, None] = {}
    agenda = [node]
    for above in agenda:  # grows while it is read
        for child in taxonomy.children(above):
            if child not in found:
                found[child] = None
                agenda.append(child)
    return list(found)


def path_up(taxonomy: Taxonomy, node: str, through: str | None = None) -> list[str]:
    """One path of nodes from a parent of `node` to a root.

    Of several parents, one that is `through` or below it, if there is one; of those the one
    that the taxonomy names first.
    """
    path: list[str] = []
    while parents := taxonomy.parents(node):
        if through is not None and through not in path:
            towards = [p for p in parents if p == through or through in ancestors(taxonomy, p)]
            parents = towards or parents
        node = parents[0]
        path.append(node)
    return path


def _names(synsets: Iterable[Any]) -> tuple[str, ...]:
    # (nltk keeps relations in sets, whose order differs from process to process)
    return tuple(sorted(synset.name() for synset in synsets))


def _words(synset: Any) -> tuple[str, ...]:
    return tuple(name.replace("_", " ") for name in synset.lemma_names())
