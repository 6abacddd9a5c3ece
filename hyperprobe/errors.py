"""The one kind of error that users meet: what is wrong, where, and what to do."""

from __future__ import annotations

import re
from typing import Any

# Control characters, line and paragraph separators, direction overrides, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 60


class UserError(Exception):
    """Bad input or a missing resource; its message is one line fit for the terminal.

    The command line prints it and exits with code 2. Library callers catch it
    like any other exception. IPython and notebooks show the line alone.
    """

    def _render_traceback_(self) -> list[str]:
        return [one_line(f"{type(self).__name__}: {self}")]


def printable(text: str) -> str:
    """The text with whatever could steer a terminal written as an escape such as `\\x1b`."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text on one line, fit for the terminal."""
    return printable(" ".join(text.split()))


def quoted(value: Any) -> str:
    """A value as it may stand in a message: in quotes if it is text, and not too long."""
    try:
        text = printable(repr(value))
    except (ValueError, RecursionError):  # an integer of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
