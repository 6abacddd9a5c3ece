"""A set of one's own: its items as a frame, and what lies beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.diagnostic.build import NAMES, PAPER_SIZE, Monosemous, most_frequent, n_kept
from hyperprobe.diagnostic.edges import COLUMNS as EDGE
from hyperprobe.diagnostic.edges import FORMS as EDGE_FORMS
from hyperprobe.diagnostic.edges import edge_rows, read_edges
from hyperprobe.diagnostic.own_items import (
    N_SHOWN,
    Entry,
    from_categories,
    from_pairs,
    from_taxonomy,
)
from hyperprobe.diagnostic.review import review_table
from hyperprobe.diagnostic.sentences import occurrences, put_slot, read_all
from hyperprobe.diagnostic.templates import WITHOUT_ARTICLE, Noun, Templates, read_templates
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.taxonomy import Taxonomy, WordNetTaxonomy

COLUMNS = (
    "hyponym", "hyponym_plural", "hyponym_article", "hypernym", "hypernym_plural",
    "hypernym_article", "group", "synset", "zipf", "contextual",
)  # fmt: skip
LONGEST_NAME = 60


@dataclass(frozen=True)
class OwnSet:
    """A set's `frame` with `COLUMNS`, its `review`, its templates, and the table of its edges."""

    name: str
    frame: pd.DataFrame
    review: pd.DataFrame
    templates: Templates
    edges: pd.DataFrame | None
    notes: tuple[str, ...]


def collect_own(
    categories: Sequence[str],
    paths: Mapping[str, Path],
    contexts: Sequence[Path],
    name: str | None,
    size: str | None,
    monosemous: Monosemous,
    wordnet: Any,
) -> OwnSet:
    """The set that the options of `build-diagnostic` ask for. Raises `UserError`."""
    if "pairs" in paths and ("taxonomy" in paths or categories):
        raise UserError(
            "--pairs names all nouns and categories: leave --taxonomy and --category out"
        )
    if not categories and not {"pairs", "taxonomy"} & set(paths):
        raise UserError("no words: name --category (twice or more), --pairs or --taxonomy")
    name = _checked(_name(categories, paths) if name is None else name)
    templates = read_templates(paths["templates"]) if "templates" in paths else Templates()
    taxonomy: Taxonomy = WordNetTaxonomy(wordnet)
    edges = None
    if "pairs" in paths:
        collected = from_pairs(paths["pairs"], templates, wordnet)
    elif "taxonomy" in paths:
        read = read_edges(paths["taxonomy"])
        taxonomy, edges = read.taxonomy, pd.DataFrame(edge_rows(read), columns=[*EDGE, *EDGE_FORMS])
        collected = from_taxonomy(read, categories, templates)
    else:
        _check_english(templates, paths)
        collected = from_categories(wordnet, categories, monosemous)
        size = size or str(min(PAPER_SIZE, len(collected.entries)))
    notes = list(collected.notes)
    frame = _frame(collected.entries, templates.language)
    if size is not None and size != "all":
        notes += _size_note(frame, int(size))
        frame = most_frequent(frame, int(size)).sort_index()
    entries = [collected.entries[i] for i in frame.index]
    frame = frame.reset_index(drop=True)
    if contexts:
        frame["contextual"], said = _contextual(contexts, frame)
        notes += said
    review = review_table(entries, frame["zipf"], collected.given, templates, taxonomy, wordnet)
    notes += _last_notes(name, frame, review)
    return OwnSet(name, frame, review, templates, edges, tuple(notes))


def _size_note(frame: pd.DataFrame, size: int) -> Iterator[str]:
    if size < len(frame):
        yield (
            f"of {len(frame)} nouns the {n_kept(size, frame['hypernym'].nunique())} most frequent "
            "of each category (all, where it has fewer), and the most frequent of the others"
        )


def _last_notes(name: str, frame: pd.DataFrame, review: pd.DataFrame) -> Iterator[str]:
    counts = frame["hypernym"].value_counts()
    if n_alone := int((counts == 1).sum()):
        shown = ", ".join(counts.index[counts == 1][:N_SHOWN])
        yield f"{n_alone} categories have one noun ({shown}): a header, or a slip of spelling?"
    if n_doubts := int((review["check_forms"] != "").sum()):
        yield (
            f"{n_doubts} of {len(review)} words have a doubtful plural or article: look at "
            f"{name}.review.tsv, and correct {name}.tsv"
        )


def _checked(name: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", name) or len(name) > LONGEST_NAME or name in NAMES:
        raise UserError(
            f"--name {quoted(name)}: write letters, digits, - and _, and no name of a set that "
            "ships"
        )
    return name


def _name(categories: Sequence[str], paths: Mapping[str, Path]) -> str:
    """The set's name, from its file or its categories."""
    for key in ("pairs", "taxonomy"):
        if key in paths:
            return _plain(paths[key].name.split(".")[0])
    words = [category.split("=")[0].split(".")[0] for category in categories]
    return _plain("-".join(words))


def _plain(name: str) -> str:
    """The name as one of a file: letters, digits, - and _."""
    return re.sub(r"\W+", "-", name).strip("-")[:LONGEST_NAME] or "own"


def _check_english(templates: Templates, paths: Mapping[str, Path]) -> None:
    if not templates.is_english:
        raise UserError(
            f"{paths['templates']}: WordNet's nouns are English, its language is "
            f"{templates.language}: give the words with --pairs or --taxonomy"
        )


def _frame(entries: Sequence[Entry], language: str) -> pd.DataFrame:
    zipf = _zipf(language)
    rows = [
        (
            *_cells(entry.hyponym),
            *_cells(entry.hypernym),
            entry.group,
            entry.synset,
            zipf(entry.hyponym.singular),
            "",
        )
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _cells(noun: Noun) -> tuple[str, str, str]:
    return noun.singular, noun.plural, noun.article or WITHOUT_ARTICLE


def _zipf(language: str) -> Any:
    """Word -> its Zipf frequency, NaN in a language that wordfreq does not have."""
    import wordfreq

    if language not in wordfreq.available_languages():
        return lambda word: float("nan")
    return lambda word: wordfreq.zipf_frequency(word, language)


def _contextual(paths: Sequence[Path], frame: pd.DataFrame) -> tuple[list[str], Iterator[str]]:
    """The contextual prompt of each noun, from the first probe sentence about it; and notes."""
    category_of = dict(zip(frame["hyponym"], frame["hypernym"], strict=True))
    found: dict[str, str] = {}
    n_others = 0
    for context in read_all(paths):
        if context.kind != "probe":
            continue
        if category_of.get(context.word) != context.category:
            n_others += 1
        elif context.word not in found:
            if (n := len(occurrences(context.word, context.sentence))) != 1:
                raise UserError(
                    f"{context.where}: {quoted(context.word)} occurs {n} times as a whole word: "
                    "write a sentence in which it occurs once"
                )
            found[context.word] = put_slot(context)

    def notes() -> Iterator[str]:
        yield f"{len(found)} of {len(frame)} nouns have a context sentence"
        if n_others:
            yield f"{n_others} context sentences are about other nouns or categories: left out"

    return [found.get(word, "") for word in frame["hyponym"]], notes()
