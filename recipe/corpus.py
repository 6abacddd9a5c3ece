"""Stage 1: the training text. Sources in, six text files and the toss out.

The sources are the `.xz` files described in `docs/embedded-model.md`, one
paragraph, definition or example per line.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import log1p
from pathlib import Path

import pandas as pd

from hyperprobe.diagnostic.build import CATEGORIES, NAMES, all_hyponyms
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import count_senses, open_wordnet
from recipe.arms import (
    MAX_DEFINITIONS,
    Contamination,
    Item,
    Statements,
    printed,
    toss,
)
from recipe.sentences import (
    Definition,
    dictionary_line,
    digest,
    genus_sentences,
    plural_sentence,
    read_definition,
    singular_sentence,
)

DICTIONARIES = ("wordnet", "oewn", "gcide")
PROSE = {"openstax": "textbooks", "standardebooks": "fiction"}
# Of the nouns outside the experiment, so many in ten have sentences for definitions.
SENTENCES_IN_TEN = 7
# Prose is drawn on for a noun unless it is too common for its sentences to be about it.
COMMON = 3000
_HEADWORDS = re.compile(r"^([A-Za-z][A-Za-z' .-]*(?:, [A-Za-z][A-Za-z' .-]*)*): (\S.*)$")
_SENTENCE_END = re.compile(r"(?<=[.!?][\"”’)])\s+(?=[A-Z\"“‘(])|(?<=[.!?])\s+(?=[A-Z\"“‘(])")
_WORD = re.compile(r"[a-z]+")


def read_source(folder: Path, name: str) -> Iterator[str]:
    with lzma.open(folder / f"{name}.txt.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


class Nouns:
    """What a word can be, as WordNet's index says."""

    def __init__(self) -> None:
        self._wordnet = open_wordnet()

    @cache  # noqa: B019 (one object lives as long as the run)
    def is_noun(self, word: str) -> bool:
        """Whether the word, or what it is the plural of, is a noun."""
        word = word.lower().replace(" ", "_")
        stems = [word]
        for ending, stem in (("ies", "y"), ("es", ""), ("s", "")):
            if word.endswith(ending) and len(word) > 4:
                stems.append(word.removesuffix(ending) + stem)
        return any(count_senses(self._wordnet, stem, "n") > 0 for stem in stems)

    def noun_only(self, word: str) -> bool:
        other = count_senses(self._wordnet, word.lower().replace(" ", "_"), "var")
        return self.is_noun(word) and other == 0


def experiment_pairs() -> dict[str, str]:
    """Noun -> category of all items of the shipped sets."""
    frames = [load_diagnostic(name) for name in NAMES]
    return {n: c for f in frames for n, c in zip(f["hyponym"], f["hypernym"], strict=True)}


def build(source: Path, work: Path, seed: int) -> None:
    """Write the text files of `recipe.tokens.TEXTS` and the toss, `tossed.tsv`, into `work`."""
    work.mkdir(parents=True, exist_ok=True)
    pairs = experiment_pairs()
    contaminated, states = Contamination(), Statements(pairs)
    dropped: Counter[str] = Counter()

    def clean(text: str, name: str) -> bool:
        for test, why in ((contaminated, "prompt"), (states, "statement")):
            if test(text):
                dropped[f"{name}: {why}"] += 1
                return False
        return True

    texts: dict[str, list[str]] = {"dictionary": [], "sentences": []}
    known = _read_dictionaries(source, pairs, seed, clean, contaminated, texts)
    prose = {target: list(_prose(source, name, clean)) for name, target in PROSE.items()}
    texts |= _sort_prose(prose)
    texts = {name: list(dict.fromkeys(lines)) for name, lines in texts.items()}
    counts: Counter[str] = Counter()
    for lines in texts.values():
        for line in lines:
            counts.update(_WORD.findall(line.lower()))

    table = pd.DataFrame({"lemma": list(pairs), "category": list(pairs.values())})
    items = [
        Item(noun, category, _covariates(noun, known[noun], counts))
        for noun, category in pairs.items()
    ]
    arms = toss(items, seed)
    doses = {noun: printed(noun, arms[noun], known[noun]) for noun in pairs}
    texts["doses"] = [line for lines in doses.values() for line in lines]
    table["arm"] = table["lemma"].map(arms)
    table["n_definitions"] = [len(known[noun]) for noun in table["lemma"]]
    table["n_exposures"] = [len(doses[noun]) for noun in table["lemma"]]
    table.sort_values("lemma").to_csv(work / "tossed.tsv", sep="\t", index=False)
    for name, lines in texts.items():
        (work / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{name}: {len(lines)} lines", flush=True)
    print(f"left out: {dict(dropped)}")


def _read_dictionaries(
    source: Path,
    pairs: dict[str, str],
    seed: int,
    clean: Callable[[str, str], bool],
    contaminated: Contamination,
    texts: dict[str, list[str]],
) -> dict[str, list[Definition]]:
    """Sort the dictionaries' lines into `texts`; the definitions of the experiment's nouns.

    No line keeps one of those nouns as its headword: what they get is printed later.
    """
    nouns = Nouns()
    singular_of = {plural(noun): noun for noun in pairs} | {noun: noun for noun in pairs}
    known: dict[str, list[Definition]] = defaultdict(list)
    doubtful: dict[str, list[Definition]] = defaultdict(list)
    for name in DICTIONARIES:
        for line in read_source(source, name):
            match = _HEADWORDS.match(line)
            if match is None:
                if clean(line, name):
                    texts["dictionary"].append(line)
                continue
            stay = []
            for headword in match[1].split(", "):
                item = singular_of.get(headword.lower())
                only = nouns.noun_only(item or headword)
                if item:
                    sure = read_definition(item, match[2], only, nouns.is_noun)
                    loose = sure or read_definition(item, match[2], True, nouns.is_noun, False)
                    # Both forms print the same words, so these must be fit for both. That they
                    # state this noun's category is what they are for.
                    if (
                        loose
                        and clean(loose.singular, name)
                        and not contaminated(singular_sentence(item, loose, 0))
                    ):
                        (known if sure else doubtful)[item].append(loose)
                    continue
                definition = (
                    read_definition(headword, match[2], only, nouns.is_noun)
                    if nouns.is_noun(headword) and not headword[0].isupper()
                    else None
                )
                if definition is None:
                    stay.append(headword)
                elif digest(headword, seed) % 10 < SENTENCES_IN_TEN:
                    pick = digest(headword + match[2], seed)
                    made = [singular_sentence(headword, definition, pick)]
                    if definition.plural:
                        made.append(plural_sentence(headword, definition, pick // 7))
                    made += genus_sentences(headword, definition)
                    texts["sentences"] += [text for text in made if clean(text, name)]
                elif clean(text := dictionary_line(headword, definition), name):
                    texts["dictionary"].append(text)
            if stay and clean(text := f"{', '.join(stay)}: {match[2]}", name):
                texts["dictionary"].append(text)
    return defaultdict(
        list,
        {n: list(dict.fromkeys(known[n]))[:MAX_DEFINITIONS] or doubtful[n][:1] for n in pairs},
    )


def _prose(source: Path, name: str, clean: Callable[[str, str], bool]) -> Iterator[str]:
    for line in read_source(source, name):
        for sentence in _SENTENCE_END.split(line):
            if clean(sentence, name):
                yield sentence


def _sort_prose(prose: dict[str, list[str]]) -> dict[str, list[str]]:
    """The prose, with the sentences about things as `mentions`: those that name a noun of
    WordNet below one of the nine categories, or a category, in either number.
    """
    words = {item.lemma for item in all_hyponyms(open_wordnet())} | set(CATEGORIES)
    words |= set(experiment_pairs())
    words |= set(map(plural, words))
    counts: Counter[str] = Counter()
    for lines in prose.values():
        for line in lines:
            counts.update(words.intersection(_WORD.findall(line.lower())))
    wanted = {w for w in words if counts[w] <= COMMON}
    texts: dict[str, list[str]] = {"mentions": []}
    for name, lines in prose.items():
        rest = texts[name] = []
        for line in lines:
            about = not wanted.isdisjoint(_WORD.findall(line.lower()))
            (texts["mentions"] if about else rest).append(line)
    return texts


def _covariates(
    noun: str, definitions: Sequence[Definition], counts: Counter[str]
) -> tuple[float, ...]:
    """What arms are balanced on: the dose's words, and the noun's use elsewhere."""
    lengths = [len(re.findall(r"\w+", definition.singular)) for definition in definitions]
    words = sum(lengths) / len(lengths) if lengths else 0.0
    return (
        words,
        float(len(lengths)),
        log1p(counts[noun]),
        log1p(counts[plural(noun)]),
        float(min(counts[plural(noun)], 500)),
    )
