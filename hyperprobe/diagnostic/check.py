"""`contexts check`: the rules for context sentences that a machine can test.

A `probe` must be permissive, selective and upward entailing in its slot
(Ravichander et al. 2020, section 2.1.2). A machine sees some of what breaks
that: the answer given away, a rival named, an article that fits one word, and
words that turn the entailment round. The rest needs a reader.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from math import ceil

from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.diagnostic.sentences import Context, occurrences
from hyperprobe.diagnostic.templates import Noun
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import count_senses, open_wordnet

MIN_WORDS, MAX_WORDS = 6, 30
NEAR_DUPLICATE = 0.75  # shared part of the words of two sentences
# What turns "robin entails bird" round, or breaks it, when the slot is in its scope.
NOT_UPWARD = frozenset(
    "not no never without nobody nothing none neither nor hardly scarcely barely rarely seldom "
    "cannot only every each all any few fewer less if unless than whether most least best worst "
    "first last favourite favorite".split()
)
_WORDS = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")


@dataclass(frozen=True)
class Finding:
    """A broken rule: where, which, and in what way."""

    where: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}: {self.message}"


def check(contexts: Iterable[Context]) -> list[Finding]:
    """Every finding, in the order of the contexts; duplicates are looked for over all of them."""
    read = list(contexts)
    rivals = rivals_among(context.category for context in read)
    findings = [
        Finding(context.where, rule, message)
        for context in read
        for rule, test in RULES.items()
        for message in test(context, rivals)
    ]
    findings += _duplicates(read)
    order = {context.where: i for i, context in enumerate(read)}
    return sorted(findings, key=lambda finding: order[finding.where])


def rivals_among(categories: Iterable[str]) -> frozenset[str]:
    """The words, in both numbers, that name a category: of the nine if all are of these."""
    distinct = {category.lower() for category in categories}
    if distinct <= set(CATEGORIES):
        return frozenset([*CATEGORIES, *map(plural, CATEGORIES), "fishes"])
    return frozenset([*distinct, *(Noun.english(category).plural for category in distinct)])


def words_of(sentence: str) -> list[str]:
    """The lower-case words of a sentence."""
    return _WORDS.findall(sentence.lower())


def _once(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    n = len(occurrences(context.word, context.sentence))
    if n != 1:
        yield f"{context.word} occurs {n} times as a whole word, not once"


def _category(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    """Neither the category, nor a word that contains or means it, nor a rival."""
    category = context.category.lower()
    sentence = context.sentence
    for match in reversed(occurrences(context.word, sentence)):  # the word itself may say it
        sentence = f"{sentence[: match.start()]} {sentence[match.end() :]}"
    for name in (name for name in rivals if " " in name):
        if occurrences(name, sentence.lower()):
            yield (
                f"{name} reveals {category}" if category in name else f"{name} is another category"
            )
    for word in words_of(sentence):
        if word == context.word:
            continue
        if category in word:
            yield f"{word} reveals {category}"
        elif word in _synonyms(category):
            yield f"{word} means {category}"
        elif word in rivals:
            yield f"{word} names another category"


def _synonym(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    if context.kind == "hypernym":
        return
    present = set(words_of(context.sentence))
    for word in sorted(_synonyms(context.word) & present):
        yield f"{word} is a synonym of {context.word}"


def _article(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    if context.kind == "probe":
        for match in occurrences(context.word, context.sentence):
            if before := re.search(r"\b(an?)\s+$", context.sentence[: match.start()], re.I):
                yield f"{before[1]} right before the slot"


def _entailment(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    if context.kind != "probe":
        return
    for word in words_of(context.sentence):
        if word in NOT_UPWARD or word.endswith(("n't", "n’t")) or _is_superlative(word):
            yield f"{word} may turn the entailment round"


def _length(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    n = len(context.sentence.split())
    if not MIN_WORDS <= n <= MAX_WORDS:
        yield f"{n} words, not {MIN_WORDS} to {MAX_WORDS}"


def _encoding(context: Context, rivals: frozenset[str]) -> Iterator[str]:
    sentence = context.sentence
    if sentence != unicodedata.normalize("NFC", sentence):
        yield "accents are written apart from their letters: normalise to NFC"
    is_plain = sentence.isprintable() and "�" not in sentence
    # (neither is a space of another kind printable)
    odd = "" if is_plain else [c for c in sentence if unicodedata.category(c)[0] == "C" or c == "�"]
    if odd:
        yield f"holds the unprintable character U+{ord(odd[0]):04X}"
    if sentence != " ".join(sentence.split()):
        yield "has spaces at its ends or in a row"
    if not sentence.endswith((".", "!", "?", ".”", '."', "!”", '!"', "?”", '?"')):
        yield "does not end as a sentence"


# Each is given the words that name a category of the contexts' set (`rivals_among`).
RULES: dict[str, Callable[[Context, frozenset[str]], Iterator[str]]] = {
    "once": _once,
    "category": _category,
    "synonym": _synonym,
    "article": _article,
    "entailment": _entailment,
    "length": _length,
    "encoding": _encoding,
}


def _duplicates(contexts: Sequence[Context]) -> Iterator[Finding]:
    """Sentences that say the same but for their words: Jaccard similarity of word sets.

    Of two sets that share the part t of their union, each holds a shared word among its
    rarest n - ceil(t * n) + 1 of n: so only sets that meet there are compared.
    """
    sets = [set(words_of(context.sentence)) - {context.word} for context in contexts]
    count = Counter(chain.from_iterable(sets))
    met: dict[str, list[int]] = {}  # word -> the earlier sets that have it among their rarest
    for i, words in enumerate(sets):
        rarest = sorted(words, key=lambda word: (count[word], word))
        rarest = rarest[: len(words) - ceil(NEAR_DUPLICATE * len(words)) + 1]
        near = {j for word in rarest for j in met.get(word, ())}
        for j in sorted(near):
            both = len(words & sets[j])
            if both / (len(words) + len(sets[j]) - both) >= NEAR_DUPLICATE:
                same = contexts[i].sentence == contexts[j].sentence
                what = "the same sentence as" if same else "nearly the same sentence as"
                yield Finding(contexts[i].where, "duplicate", f"{what} {contexts[j].where}")
        for word in rarest:
            met.setdefault(word, []).append(i)


@cache
def _synonyms(word: str) -> frozenset[str]:
    """Single-word WordNet synonyms of the word's first noun sense, both numbers."""
    senses = open_wordnet().synsets(word, "n")
    names = {name.lower() for sense in senses[:1] for name in sense.lemma_names()}
    single = {name for name in names if name.isalpha()} - {word}
    return frozenset((single | {plural(name) for name in single}) - {word, plural(word)})


@cache
def _is_superlative(word: str) -> bool:
    """Whether it is the -est form of an adjective in WordNet, and no noun too (forest, nest)."""
    if not word.endswith("est"):
        return False
    wordnet, stem = open_wordnet(), word.removesuffix("est")
    bases = [stem, f"{stem}e"]
    if stem.endswith("i"):
        bases += [stem[:-1], f"{stem[:-1]}y"]
    known = word in wordnet._exception_map["a"] or any(
        count_senses(wordnet, base, "a") for base in bases
    )
    return known and count_senses(wordnet, word, "n") == 0
