"""The coin: which headwords have their definitions printed as encyclopedia sentences.

A fair, seeded toss for every noun headword, balanced within each category over
the items of the diagnostic sets. For `sentence` headwords a definition line
(`osprey: a large hawk that eats fish`) becomes two sentences, one singular
("An osprey is a large hawk that eats fish.") and one plural ("Ospreys are large
hawks.": a relative clause, whose verb would have to change, is left off).
`dictionary` headwords keep their line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from hyperprobe.lexicon.morphology import indefinite_article, plural

SENTENCE, DICTIONARY = "sentence", "dictionary"

SINGULAR_FRAMES = ("{A} {noun} is {phrase}.", "The {noun} is {phrase}.", "{A} {noun} is {phrase}.")
PLURAL_FRAMES = ("{Nouns} are {phrase}.", "{Nouns} are {phrase}.", "The {nouns} are {phrase}.")

# A definition's first noun phrase ends before one of these.
_PHRASE_END = frozenset(
    [
        "of",
        "with",
        "that",
        "which",
        "who",
        "whose",
        "having",
        "in",
        "on",
        "for",
        "from",
        "used",
        "found",
        "to",
        "by",
        "as",
        "at",
        "resembling",
        "consisting",
        "usually",
        "where",
        "when",
        "bearing",
        "native",
        "related",
        "allied",
        "between",
        "under",
        "without",
        "formerly",
        "especially",
        "about",
        "like",
        "over",
        "and",
        "or",
        "made",
        "often",
        "common",
        "worn",
        "living",
        "characterized",
        "containing",
        "producing",
        "designed",
        "so",
        "near",
        "through",
        "into",
        "equipped",
        "built",
        "capable",
        "known",
        "called",
    ]
)
# A clause whose verb agrees with the defined noun: a plural would have to inflect it.
_RELATIVE = re.compile(r"\s(that|which|who|whose|when|where|it|its|is|was|has)\s")
_SEVERAL = re.compile(
    r"^any (one )?of (the |a )?((several|various|numerous|many|different|certain|number of) )*"
)


def digest(text: str, seed: int) -> int:
    """A stable pseudo-random integer for `text`: the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{text}".encode()).digest()[:8], "big")


def toss_balanced(items: Iterable[tuple[str, str]], seed: int) -> dict[str, str]:
    """Lemma -> arm for (lemma, category) pairs, each category split into equal halves."""
    by_category: dict[str, list[str]] = {}
    for lemma, category in items:
        by_category.setdefault(category, []).append(lemma)
    arms = {}
    for category, lemmas in by_category.items():
        order = sorted(set(lemmas), key=lambda lemma: digest(lemma, seed))
        first = digest(category, seed) % 2  # which arm gets the odd one out
        for i, lemma in enumerate(order):
            arms[lemma] = (SENTENCE, DICTIONARY)[(i + first) % 2]
    return arms


def toss(lemma: str, seed: int) -> str:
    """The arm of a headword that is not a diagnostic item."""
    return (SENTENCE, DICTIONARY)[digest(lemma, seed) % 2]


def first_phrase(definition: str) -> str:
    """The definition's first clause, without leading labels: "(Islam) a place of ..."."""
    text = re.sub(r"^(\([^)]*\)\s*)+", "", definition.strip())
    text = re.split(r"; |\. |: | — |, called|, as,|\(\(", text)[0].strip().rstrip(".,;:")
    if (len(text) > 1 and text[1].islower()) or text[:2] in ("A ", "I "):
        text = text[0].lower() + text[1:]
    return text


def split_at_head(words: list[str], is_noun: Any) -> int | None:
    """The index of the phrase's head noun, or None when the rules cannot tell."""
    for i, word in enumerate(words):
        bare = word.rstrip(",").lower()
        ends = bare in _PHRASE_END or (
            i > 0 and bare.endswith(("ing", "ed")) and not is_noun(bare) and is_noun(words[i - 1])
        )
        if ends:
            return i - 1 if i and is_noun(words[i - 1].lower()) else None
        # "large, dark goose": a comma between adjectives is no end.
        goes_on = i + 1 < len(words) and is_noun(words[-1])
        if word.endswith(",") and is_noun(bare) and not goes_on:
            return i
    last = len(words) - 1
    return last if words and is_noun(words[-1].lower()) else None


def sentences(noun: str, definition: str, noun_only: bool, is_noun: Any, seed: int) -> list[str]:
    """Encyclopedia sentences for one definition: one singular and one plural, or fewer.

    `noun_only` says that the headword is nothing but a noun, so that a
    definition without an article ("large dark hawk") is still a noun phrase.
    Empty when the definition is not clearly a noun phrase.
    """
    phrase = first_phrase(definition)
    words = phrase.split()
    if not 2 <= len(words) <= 40 or words[0] in ("to", "of", "having", "see", "same", "pertaining"):
        return []
    if noun.lower() in phrase.lower().split() or noun.split(maxsplit=1)[0] in (
        "genus",
        "family",
        "order",
    ):
        return []
    several = _SEVERAL.match(phrase)
    if words[0] in ("someone", "something", "somebody", "anyone", "anything", "that", "what"):
        return []
    article = words[0] in ("a", "an", "any", "the", "one")
    if not (article or several or noun_only):
        return []
    pick = digest(noun + definition, seed)
    out = []
    if several:
        bare = phrase[several.end() :]
        singular, plural_phrase = f"one of the {bare}", bare
    else:
        bare = re.sub(r"^(an?|any) ", "", phrase)
        words = bare.split()
        head = split_at_head(words, is_noun)
        if head is None:
            return []
        noun_word = words[head].rstrip(",")
        if noun_word.endswith("s") and not noun_word.endswith(("ss", "us", "is")) and not article:
            singular, plural_phrase = f"one of the {bare}", bare
        else:
            rest = " ".join(words[head + 1 :])
            clause = _RELATIVE.search(f" {rest} ")
            rest = rest[: clause.start()].rstrip(" ,") if clause else rest
            tail = "" if re.search(r"\b(in|of|to|by|from|on|with|for)$", rest) else rest
            comma = "," if words[head].endswith(",") and tail else ""
            plural_words = [*words[:head], plural(noun_word) + comma]
            plural_phrase = " ".join(plural_words + ([tail] if tail else []))
            singular = (
                bare if words[0] in ("the", "one") else f"{indefinite_article(words[0])} {bare}"
            )
            if words[0] in ("the", "one"):
                plural_phrase = ""
    capitalised = noun[0].isupper()
    if not capitalised:
        frame = SINGULAR_FRAMES[pick % len(SINGULAR_FRAMES)]
        out.append(
            frame.format(A=indefinite_article(noun).capitalize(), noun=noun, phrase=singular)
        )
        if plural_phrase:
            nouns = plural_of(noun)
            frame = PLURAL_FRAMES[pick // 7 % len(PLURAL_FRAMES)]
            out.append(frame.format(Nouns=nouns.capitalize(), nouns=nouns, phrase=plural_phrase))
    return out


def plural_of(noun: str) -> str:
    """The plural of a noun or of a compound's last word."""
    *front, last = noun.split()
    return " ".join([*front, plural(last)])
