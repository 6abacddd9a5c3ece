"""What models that ship, baselines and controls are called; lists of names."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar, cast

EMBEDDED = "embedded"
RANDOM = "random:"  # prefix: the shape and tokenizer of the model named after it, random weights
OPENAI = "openai:"  # prefix of the address of a server that has the model
EMBEDDED_VECTORS = ("word2vec", "glove", "fasttext")
EMBEDDED_FOLDER = Path(__file__).parent / "models" / "embedded"

# What rows of predictions are called that come from no model, or from a model asked otherwise.
MAJORITY, FREQ, CHARACTERS = "majority", "freq", "characters"
CHANCE, HEARST = "chance", "hearst"
RETRIEVE_READ = "retrieve-read"
RE_NAIVE, RE_ORACLE = "re_naive", "re_oracle"  # relation extraction by its two ways of linking
# Those of the LAMA paper in the order of its Table 2.
BASELINES = (MAJORITY, FREQ, CHARACTERS, CHANCE, HEARST, RETRIEVE_READ, RE_NAIVE, RE_ORACLE)
# The noun and the slot, with a full stop and without (as in the paper); contexts out of order.
CONTROL, CONTROL_BARE, SHUFFLED = "control:", "control-bare:", "shuffled:"
CONTROL_PREFIXES = (CONTROL, CONTROL_BARE, SHUFFLED)

StrPath = str | os.PathLike[str]
Word = TypeVar("Word", bound=str)


def listed(names: Word | Iterable[Word]) -> list[Word]:
    """One name or several as a list: `"embedded"` is one name and not eight letters.

    Paths become texts.
    """
    if isinstance(names, str | os.PathLike):
        names = [names]
    return [cast(Word, str(one)) if isinstance(one, os.PathLike) else one for one in names]


def listed_paths(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    """One path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(one) for one in paths]


def is_baseline(name: str) -> bool:
    """Whether rows of this name are a baseline's or a control's, and not those of a subject."""
    return name in BASELINES or name.startswith((*CONTROL_PREFIXES, RANDOM))


def is_subject(name: str) -> bool:
    """Whether rows of this name are about a model that a user named, and no baseline."""
    return not is_baseline(name) and name not in EMBEDDED_VECTORS
