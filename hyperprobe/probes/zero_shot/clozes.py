"""The questions of zero-shot about a set, as clozes, under an article policy."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.cloze import Cloze, parse_cloze
from hyperprobe.diagnostic.sets import DiagnosticSet
from hyperprobe.diagnostic.templates import Noun, fill_in
from hyperprobe.options import Article


@dataclass(frozen=True)
class Probe:
    """One question asked of every item of a set."""

    name: str
    prompt: str  # the diagnostic column that holds it
    subject: str  # the column with the word that it asks about
    gold: str  # the column with the right answer


SINGULAR = Probe("singular", "singular", "hyponym", "hypernym")
PLURAL = Probe("plural", "plural", "hyponym_plural", "hypernym_plural")
CONTEXTUAL = Probe("contextual", "contextual", "hyponym", "hypernym")
OPEN = Probe("open", "singular", "hyponym", "hypernym")
PROBES = (SINGULAR, PLURAL, CONTEXTUAL, OPEN)
CONTROL_PROBES = tuple(
    replace(p, prompt=c)
    for p, c in zip((SINGULAR, PLURAL, OPEN), ("control", "control_plural", "control"), strict=True)
)
# The same prompts without their full stops, as the paper has them.
BARE_PROBES = tuple(
    replace(p, prompt=f"{c}_bare")
    for p, c in zip((SINGULAR, PLURAL), ("control", "control_plural"), strict=True)
)


def shuffled_words(frame: pd.DataFrame) -> list[str]:
    """The contextual prompts with their words in an order that the prompt itself seeds."""
    texts = []
    for text in frame["contextual"]:
        words = text.split()
        random.Random(text).shuffle(words)
        texts.append(" ".join(words))
    return texts


def make_clozes(
    asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe, article: Article
) -> list[Cloze]:
    """The probe's clozes for some rows of a set, under an article policy.

    `gold` keeps the article as written, `fixed` puts the same one before every slot ("a" in
    English), `marginal` takes the article out: it becomes part of each candidate.
    """
    clozes = [
        parse_cloze(text, f"{item} ({probe.name})", subject)
        for text, item, subject in zip(
            rows[probe.prompt], rows["hyponym"], rows[probe.subject], strict=True
        )
    ]
    if article == "gold":
        return clozes
    takes = takes_article(asked_set, rows, probe)
    return [
        replace(cloze, left=_left(asked_set, cloze.left, article)) if slot else cloze
        for cloze, slot in zip(clozes, takes, strict=True)
    ]


def _left(asked_set: DiagnosticSet, left: str, article: Article) -> str:
    """What precedes a slot that takes an article, under `fixed` or `marginal`."""
    written = asked_set.article_at_end.search(left)
    if written:
        left = left[: written.start()]
    if article == "marginal":
        return left
    fixed = asked_set.common_article
    return f"{left}{fixed.capitalize() if written and written[0][0].isupper() else fixed} "


def takes_article(asked_set: DiagnosticSet, rows: pd.DataFrame, probe: Probe) -> NDArray[np.bool_]:
    """Of each prompt, whether its slot is one for an article and a noun.

    That is so where an article is written, and where the right answer takes none but others do
    ("A chair is [MASK]." for furniture).
    """
    written = [asked_set.has_article(text) for text in rows[probe.prompt]]
    if not any(written) and probe.prompt not in asked_set.prompts_with_articles:
        return np.zeros(len(rows), dtype=bool)
    without = [not asked_set.noun(word).article for word in rows["hypernym"]]
    takes: NDArray[np.bool_] = np.array(written) | np.array(without)
    return takes


def noun_free(
    asked_set: DiagnosticSet,
    rows: pd.DataFrame,
    clozes: list[Cloze],
    probe: Probe,
    article: Article,
) -> list[Cloze]:
    """`It is a [MASK].` or `They are [MASK].`, with the article of the item's own prompt; empty
    where the set has no such template."""
    is_plural = probe.gold != "hypernym"
    templates = asked_set.templates
    template = templates.noun_free_plural if is_plural else templates.noun_free
    if not template:
        return []
    # "A chair is [MASK]." has no article because furniture takes none; a context never has one.
    bare = takes_article(asked_set, rows, probe)
    befores = []
    for cloze, no_article in zip(clozes, bare, strict=True):
        written = asked_set.article_at_end.search(cloze.left)
        before = "" if no_article else asked_set.common_article
        befores.append(written[1].lower() if article != "marginal" and written else before)
    nothing = Noun("", "", "")
    made = {before: fill_in(template, nothing, Noun("", "", before)) for before in set(befores)}
    parsed = {k: parse_cloze(text, "a prompt without a noun") for k, text in made.items()}
    return [parsed[before] for before in befores]
