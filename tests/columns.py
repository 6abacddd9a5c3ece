"""The columns of predictions as docs/reference/columns.md has them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "columns.md"
_NAME = re.compile(r"`([\w-]+)`")


@dataclass
class Documented:
    """Patterns of column names; CAPITALS in a name stand for any text."""

    always: set[str] = field(default_factory=set)
    sometimes: set[str] = field(default_factory=set)


@cache
def documented() -> dict[str, Documented]:
    """Of each command that the page names."""
    commands: dict[str, Documented] = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        columns = Documented()
        for names, when in re.findall(r"^\| (`[^|]*) \|([^|]*)\|", body, re.MULTILINE):
            kind = columns.sometimes if when.strip() else columns.always
            kind.update(re.sub("[A-Z]+", ".+", name) for name in _NAME.findall(names))
        commands |= dict.fromkeys(_NAME.findall(title), columns)
    return commands


def check_columns(command: str, columns: Iterable[str]) -> None:
    """Raises `AssertionError` unless a command's predictions are as the page says."""
    if command not in documented():
        return  # (a probe of a test; tests/test_docs.py looks for the others)
    page, names = documented()[command], list(columns)
    for name in names:
        known = any(re.fullmatch(p, name) for p in page.always | page.sometimes)
        assert known, f"{PAGE.name} has no column {name} of {command}"
    for pattern in page.always:
        there = any(re.fullmatch(pattern, name) for name in names)
        assert there, f"{PAGE.name} has a column {pattern} that {command} has not"
