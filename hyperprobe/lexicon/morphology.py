"""Plurals and indefinite articles: the `inflect` library, and a reviewed table over it.

`tables/irregular_nouns.tsv` holds the nouns that the library gets wrong. Every
hyponym of the nine categories was read against it. `tables/mass_nouns.tsv` holds nouns that take
neither an article nor a plural: "a chair is furniture".
"""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from hyperprobe.data.files import table as shipped

# Words by which the plural is not that of the last word: "attorneys general", "glasses of wine".
_SPECIAL = frozenset(
    "general martial major of in on at by for to with from de la du and or a an the".split()
)

LONGEST_NOUN = 200  # letters; the library's time grows with their square
WORDS_KEPT = 20_000  # whose forms need not be found again


@cache
def _engine() -> Any:
    with suppress(ImportError):  # a version of the library may do without it
        # As the library is imported, typeguard writes its functions anew so that they check the
        # types of what they are given: more than a second, and the rest takes a hundredth of one.
        typeguard: Any = import_module("typeguard")
        checked = typeguard.typechecked
        typeguard.typechecked = lambda function: function
        try:
            import_module("inflect")
        finally:
            typeguard.typechecked = checked
    return import_module("inflect").engine()


@cache
def _exceptions() -> dict[str, tuple[str, str]]:
    """Noun -> (article, plural), as reviewed."""
    table = shipped("irregular_nouns.tsv")
    with table.open(encoding="utf-8") as lines:
        return {
            row["noun"]: (row["article"], row["plural"])
            for row in csv.DictReader(lines, delimiter="\t")
        }


@cache
def _mass_nouns() -> frozenset[str]:
    with shipped("mass_nouns.tsv").open(encoding="utf-8") as lines:
        return frozenset(row["noun"] for row in csv.DictReader(lines, delimiter="\t"))


def is_mass(noun: str) -> bool:
    """Whether the noun, or the last word of a name, is known to take no article and no plural."""
    last = noun.rpartition(" ")[2].lower()
    return last in _mass_nouns() or last.endswith(("wear", "ware"))


def is_plural_only(noun: str) -> bool:
    """Whether the noun seems to be a plural already: `bloomers`, of which there is no other."""
    return noun.endswith("s") and plural(noun) in (f"{noun}s", noun) and noun not in _exceptions()


def heads_first(noun: str) -> bool:
    """Whether the plural of a name may not be that of its last word."""
    return not _SPECIAL.isdisjoint(re.split(r"[ -]", noun.lower()))


@lru_cache(WORDS_KEPT)
def plural(noun: str) -> str:
    """The usual plural of a singular English noun: `trout` -> `trout`, `goose` -> `geese`."""
    if noun in _exceptions():
        return _exceptions()[noun][1]
    first, space, last = noun.rpartition(" ")
    if space and not heads_first(noun):
        # As the library has it, but it takes a hundred times as long over two words.
        return f"{first} {plural(last)}"
    if len(noun) > LONGEST_NOUN:
        return f"{noun}s"
    engine = _engine()  # (a library that is not whole is no reason to guess)
    try:
        return str(engine.plural_noun(noun))
    except Exception:  # the library fails in many ways on what is no word: "-of-"
        return f"{noun}s"


@lru_cache(WORDS_KEPT)
def indefinite_article(word: str) -> str:
    """`a` or `an`, by the sound that `word` begins with: `an hour`, `a unicorn`."""
    if word in _exceptions():
        return _exceptions()[word][0]
    return str(_engine().a(word)).split()[0] if word.strip() else "a"
