"""A diagnostic set with what belongs to it: its templates, its word forms and its taxonomy.

Beside a set's file NAME.tsv may lie `NAME.templates.toml` and `NAME.taxonomy.tsv`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic.build import NAMES
from hyperprobe.diagnostic.edges import Edges, edges_beside
from hyperprobe.diagnostic.files import MADE, frame_digest, load_diagnostic
from hyperprobe.diagnostic.templates import Noun, Templates, noun_of, templates_beside
from hyperprobe.errors import UserError, quoted
from hyperprobe.lexicon.taxonomy import Taxonomy, WordNetTaxonomy
from hyperprobe.options import Article, check_count


@dataclass(frozen=True)
class DiagnosticSet:
    """A set's items, how they are asked, and where their kinds stand.

    `forms` are the nouns whose forms the set gives. The taxonomy's node of an item is its
    `synset`; `edges` is a taxonomy of the set's own, else it is WordNet's.
    """

    name: str
    frame: pd.DataFrame
    templates: Templates = field(default_factory=Templates)
    forms: Mapping[str, Noun] = field(default_factory=dict)
    edges: Edges | None = None

    def first(self, n: int) -> DiagnosticSet:
        """The set with `n` of its items (all, of fewer): the first of each category, then the
        second, and so on, in the set's order.

        Raises `UserError` for fewer than there are categories: each has to stay an answer.
        """
        if n < len(self.categories):
            raise UserError(
                f"--limit {n}: {self.name} has {len(self.categories)} categories: give that "
                "many or more"
            )
        turn = self.frame.groupby("hypernym", sort=False).cumcount()
        kept = turn.sort_values(kind="stable").index[:n]
        return replace(self, frame=self.frame.loc[sorted(kept)].reset_index(drop=True))

    @cached_property
    def taxonomy(self) -> Taxonomy:
        return self.edges.taxonomy if self.edges else WordNetTaxonomy()

    def noun(self, word: str) -> Noun:
        """A word with its forms: those that the set gives, or English ones if it is English."""
        return self.forms.get(word) or noun_of(word, "", "", self.templates)

    @cached_property
    def categories(self) -> dict[str, Noun]:
        """The answers that compete, in the order of the items."""
        return {word: self.noun(word) for word in dict.fromkeys(self.frame["hypernym"])}

    @cached_property
    def articles(self) -> Counter[str]:
        """The articles of the categories, and how many take each."""
        return Counter(noun.article for noun in self.categories.values())

    @cached_property
    def common_article(self) -> str:
        """`a` in English, else the article that most categories take."""
        counts = Counter({article: n for article, n in self.articles.items() if article})
        if self.templates.is_english and ("a" in counts or not counts):
            return "a"
        return counts.most_common(1)[0][0] if counts else ""

    @cached_property
    def article_at_end(self) -> re.Pattern[str]:
        """Finds an article, and the space after it, at the end of what precedes a slot."""
        known = {article for article in self.articles if article}
        if self.templates.is_english:
            known |= {"a", "an"}
        either = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
        return re.compile(rf"(?<!\w)({either}) $" if known else "(?!)", re.IGNORECASE)

    def has_article(self, prompt: str) -> bool:
        """Whether an article precedes the slot of a prompt."""
        return self.article_at_end.search(prompt.split(SLOT)[0]) is not None

    @cached_property
    def prompts_with_articles(self) -> frozenset[str]:
        """The columns of prompts in which an article precedes the slot of some item."""
        found = []
        for column in (*MADE, "contextual"):
            texts = self.frame.get(column, pd.Series(dtype=object)).to_numpy(dtype=object)
            if any(map(self.has_article, texts)):
                found.append(column)
        return frozenset(found)

    @cached_property
    def answers(self) -> dict[str, dict[str, str]]:
        """By column of answers (`hypernym`, `hypernym_plural`): the distinct ones, in the order of
        the items, and the category that each stands for."""
        columns = [c for c in ("hypernym", "hypernym_plural") if c in self.frame]
        distinct = {column: self.frame.drop_duplicates(column) for column in columns}
        return {
            column: dict(zip(rows[column], rows["hypernym"], strict=True))
            for column, rows in distinct.items()
        }

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all that decides what is asked, in hex."""
        own = frame_digest(self.frame)
        parts: list[object] = [own]
        if self.templates != Templates():
            parts.append(asdict(self.templates))
        if self.edges:
            parts.append([list(self.edges.taxonomy.edges), sorted(self.edges.forms.items())])
        text = json.dumps(parts, ensure_ascii=False)
        return own if len(parts) == 1 else hashlib.sha256(text.encode()).hexdigest()


def load_set(name: str) -> DiagnosticSet:
    """The set of a name or file (`load_diagnostic`) and what lies beside it. Raises `UserError`."""
    frame = load_diagnostic(name)
    shipped = name in NAMES
    templates = (None if shipped else templates_beside(Path(name))) or Templates()
    edges = None if shipped else edges_beside(Path(name))
    forms = edges.nouns(templates) if edges else {}
    forms |= word_forms(frame, templates)
    if edges:
        for word, node in zip(frame["hyponym"], frame["synset"], strict=True):
            if node and node not in edges.taxonomy:
                raise UserError(
                    f"{name}: {quoted(word)}: {quoted(node)} is no node of {edges.path}: name "
                    "one in the column synset, or leave it empty"
                )
    return DiagnosticSet(name, frame, templates, forms, edges)


def load_sets(names: Iterable[str], limit: int | None = None) -> dict[str, DiagnosticSet]:
    """The sets of names or files, each once, in order; of each `limit` items, if given."""
    sets = {name: load_set(name) for name in dict.fromkeys(names)}
    return {k: one.first(check_count("limit", limit)) if limit else one for k, one in sets.items()}


def word_forms(frame: pd.DataFrame, templates: Templates) -> dict[str, Noun]:
    """The nouns and categories of a set, with the forms that it gives."""
    forms: dict[str, Noun] = {}
    nothing = [""] * len(frame)
    for kind in ("hyponym", "hypernym"):
        articles = frame.get(f"{kind}_article", nothing)
        columns = zip(frame[kind], frame[f"{kind}_plural"], articles, strict=True)
        for cells in dict.fromkeys(columns):
            forms[cells[0]] = noun_of(*cells, templates)
    return forms


def default_article(names: Iterable[str]) -> Article:
    """`gold`, as in the paper, for the sets that ship; `marginal` where another is among them.

    The categories of another set may take several articles, so that gold gives answers away.
    """
    return "gold" if set(names) <= set(NAMES) else "marginal"


def article_note(of: DiagnosticSet) -> str | None:
    """A note on a user's set whose prompts reveal answers by their article.

    That is so when its categories take different articles: an item counts when its article
    leaves half of the categories or fewer.
    """
    if of.name in NAMES or len(of.articles) < 2:
        return None
    # A prompt without an article tells too, where others have one.
    left = [text.split(SLOT)[0] for text in of.frame["singular"]]
    written = [found[1].lower() if (found := of.article_at_end.search(one)) else "" for one in left]
    n_told = sum(0 < 2 * of.articles[one] <= of.articles.total() for one in written)
    if not any(written) or not n_told:
        return None
    return (
        f"{of.name}: the article before the slot leaves half of the categories or fewer for "
        f"{n_told} of {len(of.frame)} items: --article marginal gives nothing away"
    )
