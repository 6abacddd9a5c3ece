"""A user's taxonomy: a table of edges, each from a kind (`child`) to what it is (`parent`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hyperprobe.delimited import read_table
from hyperprobe.diagnostic.templates import Noun, Templates, noun_of
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.taxonomy import EdgeTaxonomy

COLUMNS = ("child", "parent")
FORMS = ("child_plural", "child_article", "parent_plural", "parent_article")
LONGEST = 6  # nodes of a cycle that a message names


@dataclass(frozen=True)
class Edges:
    """A taxonomy without a cycle, as it was read.

    `lines` has the line that first names a node, `forms` the (plural, article) that the file
    gives it, each empty where it gives none; `n_repeated` counts edges that were there already.
    """

    path: Path
    taxonomy: EdgeTaxonomy
    lines: dict[str, int]
    forms: dict[str, tuple[str, str]]
    n_repeated: int

    def nouns(self, templates: Templates) -> dict[str, Noun]:
        """The nodes whose forms the file gives."""
        return {node: noun_of(node, *forms, templates) for node, forms in self.forms.items()}


def read_edges(path: Path) -> Edges:
    """The edges of a file. Raises `UserError` for a cycle, with a line of it and its nodes."""
    edges: dict[tuple[str, str], int] = {}
    lines: dict[str, int] = {}
    forms: dict[str, tuple[str, str]] = {}
    n_repeated = 0
    for number, row in read_table(path, COLUMNS, FORMS, "taxonomy"):
        edge = row["child"], row["parent"]
        if edge in edges:
            n_repeated += 1
        edges.setdefault(edge, number)
        for column in COLUMNS:
            node = row[column]
            lines.setdefault(node, number)
            given = row.get(f"{column}_plural", ""), row.get(f"{column}_article", "")
            if any(given):
                where = f"{path}, line {number}"
                forms[node] = _agreed(forms.get(node, ("", "")), given, node, where)
    taxonomy = EdgeTaxonomy(edges)
    if cycle := taxonomy.cycle():
        line = max(edges[edge] for edge in pairwise(cycle))
        shown = cycle if len(cycle) <= LONGEST else [*cycle[: LONGEST - 2], "...", cycle[-1]]
        raise UserError(
            f"{path}, line {line}: closes a cycle ({' < '.join(shown)}): nothing is a kind of "
            "itself: take one of its edges out"
        )
    return Edges(path, taxonomy, lines, forms, n_repeated)


def _agreed(
    before: tuple[str, str], now: tuple[str, str], node: str, where: str
) -> tuple[str, str]:
    """Forms of a node from two rows, where either may leave one out."""
    for one, other in zip(before, now, strict=True):
        if one and other and one != other:
            raise UserError(
                f"{where}: {quoted(node)} has the forms {quoted(one)} and {quoted(other)}: make "
                "them agree"
            )
    return now[0] or before[0], now[1] or before[1]


def edge_rows(edges: Edges) -> Iterator[tuple[str, ...]]:
    """The table that `read_edges` reads back: `COLUMNS` and `FORMS`."""
    for child, parent in edges.taxonomy.edges:
        child_forms, parent_forms = (edges.forms.get(node, ("", "")) for node in (child, parent))
        yield (child, parent, *child_forms, *parent_forms)


def edges_beside(path: Path) -> Edges | None:
    """The taxonomy that lies beside a set's file, if there is one: `NAME.taxonomy.tsv`."""
    beside = path.with_suffix(".taxonomy.tsv")
    return read_edges(beside) if beside.is_file() else None
