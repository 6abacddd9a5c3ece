"""Models called by names of the user's own: NAME=PATH."""

from __future__ import annotations

import os
import re

from hyperprobe.errors import UserError, quoted
from hyperprobe.names import BASELINES, EMBEDDED, EMBEDDED_VECTORS, RANDOM

# What models are loaded from that were named as NAME=PATH; for this process.
_TARGETS: dict[str, str] = {}
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


def target(name: str) -> str:
    """What the model called `name` is loaded from: its PATH where it was given as NAME=PATH."""
    body = name.removeprefix(RANDOM)
    return name.removesuffix(body) + _TARGETS.get(body, body)


def as_given(name: str) -> str:
    """The name as a user wrote it: NAME=PATH where it was given so."""
    return f"{name}={_TARGETS[name]}" if name in _TARGETS else name


def targets() -> dict[str, str]:
    """NAME -> PATH of all that were given as NAME=PATH, for `use_targets` in another process."""
    return dict(_TARGETS)


def use_targets(given: dict[str, str]) -> None:
    """From now on these names mean what they mean in the process that said `targets`."""
    _TARGETS.update(given)


def _exists(name: str) -> bool:
    return os.path.exists(name)  # noqa: PTH110 (Path.exists fails for some names)


def without_path(name: str) -> str:
    """NAME of NAME=PATH, whose path is remembered; a name that is a file's stays whole.

    Raises `UserError` for a NAME that stands for something else.
    """
    found = None if _exists(name) else _NAMED.fullmatch(name)
    if not found:
        return name
    short, path = found.groups()
    if short in (EMBEDDED, *EMBEDDED_VECTORS, *BASELINES) or _exists(short):
        raise UserError(f"{quoted(name)}: {short} is the name of something else: choose another")
    _TARGETS[short] = path
    return short
