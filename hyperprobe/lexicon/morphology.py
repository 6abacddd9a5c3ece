"""Plurals and indefinite articles: the `inflect` library, and a reviewed table over it.

`tables/irregular_nouns.tsv` holds the nouns that the library gets wrong. Every
hyponym of the nine categories was read against it.
"""

from __future__ import annotations

import csv
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from hyperprobe.data.files import table as shipped


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
def plural(noun: str) -> str:
    """The usual plural of a singular English noun: `trout` -> `trout`, `goose` -> `geese`."""
    if noun in _exceptions():
        return _exceptions()[noun][1]
    try:
        return str(_engine().plural_noun(noun))
    except Exception:  # the library fails in many ways on what is no word: "-of-"
        return f"{noun}s"


@cache
def indefinite_article(word: str) -> str:
    """`a` or `an`, by the sound that `word` begins with: `an hour`, `a unicorn`."""
    if word in _exceptions():
        return _exceptions()[word][0]
    return str(_engine().a(word)).split()[0] if word.strip() else "a"
