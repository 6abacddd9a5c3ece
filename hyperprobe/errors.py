"""The one kind of error that users meet: what is wrong, where, and what to do."""

from __future__ import annotations


class UserError(Exception):
    """Bad input or a missing resource; its message is one line fit for the terminal.

    The command line prints it and exits with code 2. Library callers catch it
    like any other exception.
    """
