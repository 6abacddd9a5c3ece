"""What models, sets and files are called where people read: of a path its end, as much as tells
them apart.

Files of a run keep the full names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from hyperprobe.addresses import served
from hyperprobe.families import FAMILIES
from hyperprobe.names import BASELINES, CONTROL_PREFIXES, EMBEDDED, EMBEDDED_VECTORS, RANDOM
from hyperprobe.revisions import AT

COLUMNS = ("model", "other", "source", "diagnostic")  # of a frame, with names that may be paths
PREFIXES = (
    *CONTROL_PREFIXES,
    RANDOM,
    *(f"{family}:" for family, about in FAMILIES.items() if about.prefixed),
)
# No other model may be called like these.
TAKEN = (*BASELINES, EMBEDDED, *EMBEDDED_VECTORS)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name -> as many parts of its end as no other has; prefixes (`control:`, `elmo:`) stay.

    `/a/bert` is `bert`; `/a/x/final` and `/a/y/final` are `x/final` and `y/final`; a served model
    is called as on its server. Different names stay different.
    """
    split = {name: _split(name) for name in dict.fromkeys(names)}
    bodies = list(dict.fromkeys([*TAKEN, *(body for _, body in split.values())]))
    short = {body: _shortest(body, bodies) for body in bodies}
    return {name: prefix + short[body] for name, (prefix, body) in split.items()}


def shortened(frame: pd.DataFrame, short: Mapping[str, str]) -> pd.DataFrame:
    """The frame with its models and files under their names in `short`; others keep theirs."""
    return frame.assign(
        **{c: [short.get(name, name) for name in frame[c]] for c in COLUMNS if c in frame}
    )


def with_short_names(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The frames of one result, under short names that are the same in all of them."""
    short = short_names(name for frame in frames.values() for name in names_in(frame))
    return {key: shortened(frame, short) for key, frame in frames.items()}


def names_in(frame: pd.DataFrame) -> list[str]:
    """The names in those columns of a frame."""
    return [str(n) for c in COLUMNS if c in frame for n in frame[c].dropna().unique()]


def _split(name: str) -> tuple[str, str]:
    """The prefixes of a name, and the rest."""
    body = name
    while prefix := next((p for p in PREFIXES if body.startswith(p)), ""):
        body = body.removeprefix(prefix)
    prefix = name[: len(name) - len(body)]
    if behind := served(body):  # its name on the server is what tells it from others
        body = f"{behind.tokenizer}/{behind.url}/{behind.model}"
    return prefix, body


def _shortest(body: str, bodies: Iterable[str]) -> str:
    others = [other for other in bodies if other != body]
    for n in range(1, body.count("/") + 2):
        end = _end(body, n)
        if end and not end.startswith(PREFIXES) and all(_end(other, n) != end for other in others):
            return end
    return body


def _end(body: str, n: int) -> str:
    path, at, revision = body.partition(f"{AT}refs/")  # (slashes in a revision part no folders)
    return "/".join(path.rstrip("/").split("/")[-n:]) + at + revision
