"""Encyclopedia sentences from dictionary definitions.

`osprey: a large hawk that eats fish` becomes "An osprey is a large hawk that eats
fish." and, where asked, "Ospreys are large hawks.": a relative clause, whose verb
would have to change, is left off.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from hyperprobe.lexicon.morphology import indefinite_article, plural

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
        "similar",
        "eaten",
    ]
)
# A clause whose verb agrees with the defined noun: a plural would have to inflect it.
_RELATIVE = re.compile(r"\s(that|which|who|whose|when|where|it|its|is|was|has)\s")
_SEVERAL = re.compile(
    r"^any (one )?of (the |a )?((several|various|numerous|many|different|certain|number of) )*"
)


# First words that make no noun phrase.
_NO_PHRASE = frozenset(
    "to of having see same pertaining related may someone something somebody anyone anything "
    "that what".split()
)
# Heads that leave the genus to what follows: "a kind of tree".
_EMPTY_HEADS = frozenset(
    "kind sort type form piece part one member species group genus family variety class name "
    "example portion any other end side small large men".split()
)


def digest(text: str, seed: int) -> int:
    """A stable pseudo-random integer for `text`: the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{text}".encode()).digest()[:8], "big")


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


@dataclass(frozen=True)
class Definition:
    """A definition as noun phrases: what follows "is", and what follows "are" ("" if nothing).

    `genus` is the head noun of the phrase alone, "" where it says too little.
    """

    singular: str
    plural: str
    genus: str = ""


def read_definition(
    noun: str, definition: str, noun_only: bool, is_noun: Any, strict: bool = True
) -> Definition | None:
    """The definition as noun phrases, or None where it is not clearly one.

    `noun_only` says that the headword is nothing but a noun, so that a
    definition without an article ("large dark hawk") is still a noun phrase.
    Not `strict`: the head of the phrase need not be found ("very hot pepper"), and
    the noun may stand in its own definition ("any tree of the genus Macadamia").
    """
    phrase = first_phrase(definition)
    words = phrase.split()
    if not 2 <= len(words) <= 40 or words[0].lower() in _NO_PHRASE:
        return None
    if strict and noun.lower() in phrase.lower().split():
        return None
    if noun.split(maxsplit=1)[0] in ("genus", "family", "order"):
        return None
    several = _SEVERAL.match(phrase)
    article = words[0] in ("a", "an", "any", "the", "one")
    if not (article or several or noun_only):
        return None
    if several:
        bare = phrase[several.end() :]
        return Definition(f"one of the {bare}", bare)
    bare = re.sub(r"^(an?|any) ", "", phrase)
    words = bare.split()
    head = split_at_head(words, is_noun)
    if head is None:
        if strict:
            return None
        known = words[0] in ("the", "one")
        return Definition(bare if known else f"{indefinite_article(words[0])} {bare}", "")
    noun_word = words[head].rstrip(",")
    if noun_word.endswith("s") and not noun_word.endswith(("ss", "us", "is")) and not article:
        return Definition(f"one of the {bare}", bare)
    if words[0] in ("the", "one"):
        return Definition(bare, "")
    rest = " ".join(words[head + 1 :])
    clause = _RELATIVE.search(f" {rest} ")
    rest = rest[: clause.start()].rstrip(" ,") if clause else rest
    tail = "" if re.search(r"\b(in|of|to|by|from|on|with|for)$", rest) else rest
    comma = "," if words[head].endswith(",") and tail else ""
    many = " ".join([*words[:head], plural(noun_word) + comma, *([tail] if tail else [])])
    says_little = noun_word in _EMPTY_HEADS or noun_word.endswith("s")
    genus = "" if says_little else noun_word
    return Definition(f"{indefinite_article(words[0])} {bare}", many, genus)


def singular_sentence(noun: str, definition: Definition, pick: int) -> str:
    """ "An osprey is a large hawk.": `pick` chooses the frame."""
    frame = SINGULAR_FRAMES[pick % len(SINGULAR_FRAMES)]
    return frame.format(
        A=indefinite_article(noun).capitalize(), noun=noun, phrase=definition.singular
    )


def plural_sentence(noun: str, definition: Definition, pick: int) -> str:
    """ "Ospreys are large hawks." """
    nouns = plural_of(noun)
    frame = PLURAL_FRAMES[pick % len(PLURAL_FRAMES)]
    return frame.format(Nouns=nouns.capitalize(), nouns=nouns, phrase=definition.plural)


def genus_sentences(noun: str, definition: Definition) -> list[str]:
    """ "An osprey is a hawk." and "Ospreys are hawks.": the definition cut to its head."""
    if not definition.genus:
        return []
    genus = Definition(
        f"{indefinite_article(definition.genus)} {definition.genus}", plural(definition.genus)
    )
    return [singular_sentence(noun, genus, 0), plural_sentence(noun, genus, 0)]


def dictionary_line(noun: str, definition: Definition) -> str:
    """ "osprey n: a large hawk.": as many words as the sentence has."""
    return f"{noun} n: {definition.singular}."


def plural_of(noun: str) -> str:
    """The plural of a noun or of a compound's last word."""
    *front, last = noun.split()
    return " ".join([*front, plural(last)])
