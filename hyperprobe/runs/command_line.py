"""The command line that makes a run again, from the options that its function was given."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from hyperprobe.names import OPENAI

# The parameters of the functions that are not called as their option on the command line.
OPTIONS = {
    "models": "model", "diagnostics": "diagnostic", "controls": "control", "sources": "source",
    "relations": "relation", "methods": "method", "analyses": "analysis", "n_seeds": "seeds",
    "categories": "category", "text_field": "field", "n_candidates": "candidates",
    "given": "prompts", "baselines": "baseline",
}  # fmt: skip
# The positional parameter of each command.
ARGUMENTS = {
    "analyze": "run", "compare": "folders", "report": "runs", "study": "path",
    "pairs": "files", "build-diagnostic": "names", "contexts-mine": "corpus",
}  # fmt: skip
# Options that nothing but served models reads.
OF_SERVERS = ("concurrency", "key_env")
WORDS = {"contexts-mine": "contexts mine"}  # where a command is two words


def as_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function (its `locals()`) as JSON has them: paths are texts.

    A dataclass is replaced by its fields, and `keywords` by the keyword arguments in it.
    """
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name == "keywords":
            options |= as_options(value)
        elif is_dataclass(value) and not isinstance(value, type):
            options |= as_options(asdict(value))
        else:
            options[name] = _plain(value)
    return options


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    return value


def command_line(command: str, options: Mapping[str, Any]) -> str:
    """What to type in a POSIX shell to call `command` with `options` (of `as_options`).

    What only the Python functions can be told, such as an empty list where the command
    line has a default, is left out, and what says how to ask a server where none is asked.
    """
    words = ["hyperprobe", *WORDS.get(command, command).split()]
    alone = ARGUMENTS.get(command)
    served = OPENAI in str(options.get("models"))
    for name, value in options.items():
        if name != alone and (served or name not in OF_SERVERS):
            words += _option(name, value)
    arguments = options.get(alone) if alone else None
    if arguments:
        values = [str(one) for one in (arguments if isinstance(arguments, list) else [arguments])]
        words += ["--"] * any(one.startswith("-") for one in values) + values
    return shlex.join(words)


def _option(name: str, value: Any) -> Iterator[str]:
    """The words of one option."""
    if name == "ask_models":
        if value is False:
            yield "--skip-models"
        return
    if isinstance(value, dict):  # method -> file of prompts
        value = [f"{key}={one}" for key, one in value.items()]
    elif name == "vocab" and isinstance(value, list):
        value = " ".join(["intersect", *map(str, value)]) if value else None
    flag = f"--{OPTIONS.get(name, name).replace('_', '-')}"
    if value is True:
        yield flag
    elif value is not None and value is not False:
        for one in value if isinstance(value, list) else [value]:
            yield from [f"{flag}={one}"] if str(one).startswith("-") else [flag, str(one)]
