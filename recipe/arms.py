"""The experiment: which diagnostic nouns the training text defines, and in which form.

Three arms, tossed with a seed and balanced within each category:

- `sentence`: its definitions stand as singular encyclopedia sentences,
- `line`: the same definitions in dictionary form, as often and of the same length,
- `withheld`: no definition.

So `line - withheld` is the effect of having read the content, `sentence - line` that
of its form. In every arm each prose sentence and each other headword's definition that
states the noun's category is left out (`Statements`), and so is every diagnostic
prompt (`Contamination`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hyperprobe.analysis.variants import TEMPLATES
from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.lexicon.morphology import plural
from recipe.sentences import Definition, dictionary_line, digest, singular_sentence

SENTENCE, LINE, WITHHELD = ARMS = ("sentence", "line", "withheld")
TOSSES = 3000  # in each category, the best balanced of so many is taken
EXPOSURES = 8  # how often the text defines a noun of the first two arms
MAX_DEFINITIONS = 2  # the sources' first ones: later ones are rarer senses

_QUESTIONS = (
    "{A} {x} is {b} [MASK].",
    "{A} {x} is not {b} [MASK].",
    "The {x} is not {b} [MASK].",
    *TEMPLATES,
)


@dataclass(frozen=True)
class Item:
    """A diagnostic noun before the toss.

    `covariates` are what the arms shall agree in on average (say, log counts).
    """

    lemma: str
    category: str
    covariates: tuple[float, ...]


def toss(items: list[Item], seed: int) -> dict[str, str]:
    """Lemma -> arm: equal thirds of each category, in which the covariates' means are alike.

    In each category, of `TOSSES` seeded tosses the one whose arms differ least, in
    standard deviations over all items; the order of `items` does not matter.
    """
    ordered = sorted(items, key=lambda item: (item.category, digest(item.lemma, seed)))
    values = np.array([item.covariates for item in ordered], dtype=float)
    values = (values - values.mean(0)) / np.maximum(values.std(0), 1e-9)
    categories = np.array([item.category for item in ordered])
    random = np.random.default_rng(seed)
    arms = np.zeros(len(ordered), dtype=int)
    spare = 0  # which arm gets the odd ones out, in turn
    for category in np.unique(categories):
        members = np.flatnonzero(categories == category)
        labels = (np.arange(len(members)) + spare) % len(ARMS)
        spare += len(members)
        tosses = [random.permutation(labels) for _ in range(TOSSES)]
        arms[members] = min(tosses, key=lambda labels: _spread(values[members], labels))
    return {item.lemma: ARMS[k] for item, k in zip(ordered, arms, strict=True)}


def _spread(values: np.ndarray, arms: np.ndarray) -> float:
    """The largest difference between two arms' means, over the columns of `values`."""
    means = np.array([values[arms == k].mean(0) for k in np.unique(arms)])
    return float((means.max(0) - means.min(0)).max())


def printed(lemma: str, arm: str, definitions: list[Definition]) -> list[str]:
    """The `EXPOSURES` lines that the text gets for a noun, its definitions in turn.

    Nothing for a withheld noun, or without definitions.
    """
    if arm == WITHHELD or not definitions:
        return []
    turns = [definitions[i % len(definitions)] for i in range(EXPOSURES)]
    if arm == LINE:
        return [dictionary_line(lemma, definition) for definition in turns]
    return [singular_sentence(lemma, definition, i) for i, definition in enumerate(turns)]


class Contamination:
    """Finds a diagnostic prompt, of any noun and filled with any candidate, in a text.

    All wordings that a command asks: the probes', negated or not, and the paraphrases.
    """

    def __init__(self) -> None:
        wordings = [_as_pattern(question) for question in _QUESTIONS]
        wordings.append(rf"(?:the )?[a-z]+ are (?:{'|'.join(map(plural, CATEGORIES))})\.")
        self._pattern = re.compile(rf"(?:^|[.!?:;\"“]\s*)(?:{'|'.join(wordings)})", re.IGNORECASE)

    def __call__(self, text: str) -> bool:
        return bool(self._pattern.search(text))


def _as_pattern(template: str) -> str:
    """A template as a pattern for any noun and any category."""
    pattern = re.escape(template.replace(SLOT, "{c}"))
    for name, what in {
        "A": "an?",
        "a": "an?",
        "b": "an?",
        "x": "[a-z]+",
        "c": f"(?:{'|'.join(CATEGORIES)})",
    }.items():
        pattern = pattern.replace(re.escape(f"{{{name}}}"), what)
    return pattern


class Statements:
    """Finds sentences that state the category of a noun, in either number.

    Copulas ("the robin, ... " is no copula; "robins are small birds" is), and Hearst's
    (1992) patterns with the noun anywhere in the same text.
    """

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._tests: dict[str, tuple[re.Pattern[str], re.Pattern[str]]] = {}
        for category in sorted(set(pairs.values())):
            many = plural(category)
            forms = [form for noun in pairs if pairs[noun] == category
                     for form in (noun, plural(noun))]  # fmt: skip
            noun = rf"\b(?:{'|'.join(sorted(set(forms)))})\b"
            copula = (
                rf"{noun},? (?:is|are|was|were) (?:not )?(?:(?:an?|the|any|one of the) )?"
                rf"(?:[\w'-]+,? ){{0,4}}?(?:{category}|{many})\b"
            )
            cue = (
                rf"\b{many},? (?:such as|including|especially|like)\b|\bsuch {many} as\b"
                rf"|\b(?:and|or) other {many}\b"
            )
            self._tests[category] = (
                re.compile(rf"{copula}|(?:{cue}).*{noun}|{noun}.*(?:{cue})", re.IGNORECASE),
                re.compile(category, re.IGNORECASE),
            )

    def __call__(self, text: str) -> bool:
        return any(quick.search(text) and full.search(text) for full, quick in self._tests.values())
