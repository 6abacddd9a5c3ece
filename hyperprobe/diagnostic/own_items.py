"""Items of a set of one's own: from WordNet's categories, from pairs, from a taxonomy.

Each source gives `Collected`: entries in the order of the source, and notes on what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hyperprobe.delimited import read_table
from hyperprobe.diagnostic.build import Monosemous, excluded_lemmas, lemmas_below
from hyperprobe.diagnostic.edges import Edges
from hyperprobe.diagnostic.templates import WITHOUT_ARTICLE, Noun, Templates, noun_of
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.morphology import is_plural_only
from hyperprobe.lexicon.taxonomy import Taxonomy, WordNetTaxonomy, ancestors, below

PAIR = ("hyponym", "hypernym")
FORMS = ("hyponym_plural", "hyponym_article", "hypernym_plural", "hypernym_article")
OPTIONAL = (*FORMS, "synset", "group")
N_SHOWN = 5  # words of a note


@dataclass(frozen=True)
class Entry:
    """An item to be: its words as nouns, its node in a taxonomy, and its category's if known."""

    hyponym: Noun
    hypernym: Noun
    synset: str = ""
    group: str = ""
    category: str | None = None


@dataclass(frozen=True)
class Collected:
    """Entries, what is to be said of them, and the forms (`WORD plural`) that the user gave."""

    entries: list[Entry]
    notes: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()


# -- WordNet --------------------------------------------------------------------------------


def from_categories(wordnet: Any, categories: Sequence[str], monosemous: Monosemous) -> Collected:
    """The monosemous single-word nouns below each category, `SYNSET` or `WORD=SYNSET`.

    Nouns below two of them, those that are plurals, and those that reviewers took out of the sets
    that ship, are left out. Raises `UserError` for a synset that is none, and for categories that
    overlap.
    """
    taxonomy = WordNetTaxonomy(wordnet)
    synsets = _synsets(taxonomy, wordnet, categories)
    for word, synset in synsets.items():
        above = ancestors(taxonomy, synset)
        if inside := [other for other in synsets.values() if other in above]:
            raise UserError(
                f"--category {synset} is below {inside[0]}: a {word} would have two right answers: "
                "leave one of them out"
            )
    found = {word: lemmas_below(wordnet, name, monosemous) for word, name in synsets.items()}
    times = Counter(lemma for lemmas in found.values() for lemma in lemmas)
    entries = []
    for word, lemmas in found.items():
        category = Noun.english(word)
        kept = [
            lemma
            for lemma in lemmas
            if times[lemma] == 1
            and lemma not in synsets
            and lemma not in excluded_lemmas()
            and not is_plural_only(lemma)
        ]
        if not kept:
            raise UserError(
                f"--category {synsets[word]}: WordNet has no noun of one word and one sense below "
                "it that is below no other of your categories: choose another synset"
            )
        entries += [
            Entry(Noun.english(lemma), category, lemmas[lemma], category=synsets[word])
            for lemma in kept
        ]
    twice = [lemma for lemma, n in times.items() if n > 1]
    return Collected(entries, tuple(_left_out(twice, "are below two of the categories")))


def _synsets(taxonomy: Taxonomy, wordnet: Any, categories: Sequence[str]) -> dict[str, str]:
    """Word -> synset. Raises `UserError` unless each is one."""
    synsets: dict[str, str] = {}
    for given in dict.fromkeys(categories):
        word, equals, name = given.rpartition("=")
        if name not in taxonomy:
            raise UserError(f"--category {quoted(given)}: {_no_synset(wordnet, name)}")
        word = " ".join(word.split()) if equals else taxonomy.words(name)[0]
        if not word:
            raise UserError(f"--category {quoted(given)}: write a word before =")
        if word in synsets:
            raise UserError(
                f"--category {given}: another category is called {quoted(word)} too: give it a "
                f"name of its own, as WORD={name}"
            )
        synsets[word] = name
    if len(synsets) < 2:
        raise UserError(
            f"one category, {quoted(next(iter(synsets), ''))}: every answer would be right: add "
            "another --category"
        )
    return synsets


def _no_synset(wordnet: Any, name: str) -> str:
    word = name.split(".")[0].strip().replace(" ", "_")
    known = [synset.name() for synset in wordnet.synsets(word, "n")] if word else []
    if known:
        return f"no noun synset of WordNet: choose from {', '.join(known[:8])}"
    return "no noun synset of WordNet, which has no such noun: write one such as fruit.n.01"


# -- pairs ----------------------------------------------------------------------------------


def from_pairs(path: Path, templates: Templates, wordnet: Any) -> Collected:
    """The pairs of a table; forms that it leaves out are English.

    Without a column `synset`, that of an English noun is the only sense below a sense of its
    category, if there is one. Raises `UserError`, with the line, for a noun in two categories.
    """
    rows: dict[str, tuple[int, dict[str, str]]] = {}
    n_repeated = 0
    for number, row in read_table(path, PAIR, OPTIONAL, "pairs"):
        where, word = f"{path}, line {number}", row["hyponym"]
        if word == row["hypernym"]:
            raise UserError(f"{where}: {quoted(word)} is its own hypernym: take the row out")
        first = rows.setdefault(word, (number, row))[0]
        if first == number:
            continue
        if rows[word][1] != row:
            one, other = rows[word][1]["hypernym"], row["hypernym"]
            what = f"in two categories, {quoted(one)} (line {first}) and {quoted(other)}"
            if one == other:
                what = f"in line {first} with other forms"
            raise UserError(f"{where}: {quoted(word)} is {what}: keep one of the rows")
        n_repeated += 1
    categories = _categories(path, rows)
    given = {column for _, row in rows.values() for column in row}
    for column, text in _needed(templates).items():
        if column not in given:
            raise _missing(f"{path}, line 1: no column {column}", text)
    taxonomy = WordNetTaxonomy(wordnet)
    entries = []
    for number, row in rows.values():
        where = f"{path}, line {number}"
        row = {**row, **categories[row["hypernym"]][1]}
        for column, text in _needed(templates).items():
            if not row[column]:
                raise _missing(f"{where}: {column} is empty", text)
        noun, category = (
            noun_of(row[kind], row.get(f"{kind}_plural", ""), row.get(f"{kind}_article", ""),
                    templates) for kind in PAIR
        )  # fmt: skip
        synset = row.get("synset", "")
        if synset and synset not in taxonomy:
            raise UserError(f"{where}: synset {quoted(synset)}: {_no_synset(wordnet, synset)}")
        if not synset and templates.is_english:
            synset = _only_sense(wordnet, row["hyponym"], row["hypernym"])
        entries.append(Entry(noun, category, synset, row.get("group", "")))
    notes = [f"{n_repeated} rows that occur twice count once"] if n_repeated else []
    return Collected(entries, tuple(notes), _given(row for _, row in rows.values()))


def _categories(
    path: Path, rows: Mapping[str, tuple[int, dict[str, str]]]
) -> dict[str, tuple[int, dict[str, str]]]:
    """Category -> the first line that names it, and its forms, from whichever row has them."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for number, row in rows.values():
        word = row["hypernym"]
        first, forms = found.setdefault(word, (number, {}))
        for column in (c for c in ("hypernym_plural", "hypernym_article") if row.get(c)):
            if forms.setdefault(column, row[column]) != row[column]:
                raise UserError(
                    f"{path}, line {number}: {quoted(word)} has another {column} in line {first} "
                    "or after it: make them agree"
                )
    for word, (number, _) in found.items():
        if word in rows:
            raise UserError(
                f"{path}, line {rows[word][0]}: {quoted(word)} is the category of line {number}, "
                "so that nouns would have two right answers: take the row out, or give all levels "
                "with --taxonomy"
            )
    if len(found) < 2:
        raise UserError(
            f"{path}: all pairs have one hypernym, {quoted(next(iter(found)))}, so that every "
            "answer is right: add pairs of another"
        )
    return found


def _only_sense(wordnet: Any, hyponym: str, hypernym: str) -> str:
    """The sense of a noun below one of its category, if it is the only one; else ""."""
    above = set(wordnet.synsets(hypernym.replace(" ", "_"), "n"))
    if not above:
        return ""
    senses = [
        sense.name()
        for sense in wordnet.synsets(hyponym.replace(" ", "_"), "n")
        if any(above.intersection(path) for path in sense.hypernym_paths())
    ]
    return str(senses[0]) if len(senses) == 1 else ""


# -- a taxonomy -----------------------------------------------------------------------------


def from_taxonomy(edges: Edges, categories: Sequence[str], templates: Templates) -> Collected:
    """The leaves of a taxonomy that are below one category.

    Categories are the nodes named, else the kinds of the only root, or else the roots. Leaves
    below two categories, which have two right answers, are left out. Raises `UserError` for a
    category that is no node, is below another, or has nothing below it.
    """
    taxonomy, path = edges.taxonomy, edges.path
    roots = taxonomy.roots()
    chosen = list(dict.fromkeys(categories)) or (
        list(taxonomy.children(roots[0])) if len(roots) == 1 else roots
    )
    notes: list[str] = []
    if not categories:
        childless = [node for node in chosen if not taxonomy.children(node)]
        chosen = [node for node in chosen if taxonomy.children(node)]
        notes += _left_out(childless, "stand where the categories do and have nothing below them")
    of: dict[str, list[str]] = {}  # node -> the categories that it is below
    for category in chosen:
        if category not in taxonomy:
            raise UserError(f"--category {quoted(category)} is no node of {path}: check the name")
        if not taxonomy.children(category):
            raise UserError(f"--category {quoted(category)} has nothing below it in {path}")
        for node in below(taxonomy, category):
            of.setdefault(node, []).append(category)
    for category in chosen:
        if category in of:
            raise UserError(
                f"{path}, line {edges.lines[category]}: the category {quoted(category)} is below "
                f"the category {quoted(of[category][0])}: name categories that are not below "
                "each other with --category"
            )
    if len(chosen) < 2:
        raise UserError(
            f"{path}: one category, {quoted(''.join(chosen))}, so that every answer is right: "
            "name two or more nodes with --category"
        )
    leaves = [node for node in of if not taxonomy.children(node)]
    twice = [node for node in leaves if len(of[node]) > 1]
    items = [node for node in leaves if len(of[node]) == 1]
    notes += _left_out(twice, "are below two categories, and have two right answers")
    several = [node for node in items if len(taxonomy.parents(node)) > 1]
    what = "have several parents: the path is by the first in the file that leads to the category"
    notes += _said(several, what)
    if edges.n_repeated:
        notes.append(f"{edges.n_repeated} edges that occur twice count once")
    nouns = _node_nouns(edges, templates)
    entries = [Entry(nouns(node), nouns(of[node][0]), node, category=of[node][0]) for node in items]
    order = {category: i for i, category in enumerate(chosen)}
    entries.sort(key=lambda entry: order[entry.hypernym.singular])
    if len({entry.hypernym for entry in entries}) < 2:
        raise UserError(
            f"{path}: fewer than two categories have nouns of their own: name others with "
            "--category"
        )
    rows = ({"hyponym": node, "hyponym_plural": forms[0], "hyponym_article": forms[1]}
            for node, forms in edges.forms.items())  # fmt: skip
    return Collected(entries, tuple(notes), _given(rows))


def _node_nouns(edges: Edges, templates: Templates) -> Callable[[str], Noun]:
    """A function from a node to its noun, which raises `UserError` where a form is not known."""
    # Of every node: it may be the noun in one question and the answer in another.
    needed = {column.split("_")[1]: text for column, text in _needed(templates).items()}

    @cache
    def noun(node: str) -> Noun:
        many, article = edges.forms.get(node, ("", ""))
        for form, text in needed.items():
            if not (many if form == "plural" else article):
                where = f"{edges.path}, line {edges.lines[node]}: no {form} of {quoted(node)}"
                raise _missing(where, text, f" in child_{form} or parent_{form}")
        return noun_of(node, many, article, templates)

    for node in edges.taxonomy.nodes if needed else ():
        noun(node)
    return noun


# -- common ---------------------------------------------------------------------------------


def _needed(templates: Templates) -> dict[str, str]:
    """The columns that must be filled: those that the templates use, unless they are English."""
    return {} if templates.is_english else templates.needs()


def _missing(what: str, template: str, where: str = "") -> UserError:
    return UserError(
        f"{what}, but the template {quoted(template)} needs it: write it{where} "
        f"({WITHOUT_ARTICLE} for no article)"
    )


def _given(rows: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """`WORD plural` and `WORD article` of the forms that are in rows."""
    return frozenset(
        f"{row[kind]} {form}"
        for row in rows
        for kind in PAIR
        for form in ("plural", "article")
        if row.get(f"{kind}_{form}")
    )


def _left_out(words: Sequence[str], why: str) -> Iterator[str]:
    yield from _said(words, f"{why}: left out")


def _said(words: Sequence[str], what: str) -> Iterator[str]:
    if words:
        shown = ", ".join(words[:N_SHOWN]) + (", ..." if len(words) > N_SHOWN else "")
        nouns = "noun" if len(words) == 1 else "nouns"
        yield f"{len(words)} {nouns} ({shown}): they {what}"
