"""Markdown pages as code: their blocks are files, shell commands and Python, and run as they stand.

`python -m tests.pages PAGE ...` runs pages, each in a new folder, and writes into them what comes
out where it is something else than they show.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tests import commands

# A line before a block may name its file; more may follow, such as what of the file it is.
_BLOCK = re.compile(
    r"(?:^`([\w./-]+)`[^\n]*:\n\n)?^```([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_SHELL_COMMAND = re.compile(r"^\$ (.+(?:\n> .+)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_CHECKER = doctest.OutputChecker()
_LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of code: `file` is the name in the line before it, if there is one."""

    file: str
    language: str
    text: str


@dataclass(frozen=True)
class Shown:
    """What a page shows below a command or an expression, and what comes out."""

    asked: str
    wanted: str
    got: str

    @property
    def agree(self) -> bool:
        """Whether they are the same, up to spaces and to what `...` leaves out."""
        return _CHECKER.check_output(self.wanted, self.got, _LOOSELY)


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(file or "", language, block) for file, language, block in _BLOCK.findall(text)]


def execute(text: str, folder: Path) -> Iterator[Shown]:
    """Run a page in `folder`, block by block: what it shows, and what comes out.

    A block below a file's name is written to it. Of `console` blocks the lines after `$` are run,
    of `pycon` blocks those after `>>>`, and `python` blocks are run whole; the latter two share
    their names. Blocks of other languages, or of none, are left alone.
    """
    names: dict[str, Any] = {"__name__": "__console__"}
    for block in blocks(text):
        if block.file and block.language not in ("console", "pycon"):
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, wanted in _SHELL_COMMAND.findall(block.text):
                yield Shown(command, wanted, _shell(command.replace("\n> ", " "), folder))
        elif block.language == "pycon":
            for example in doctest.DocTestParser().get_examples(block.text):
                yield Shown(example.source, example.want, _python(example.source, names, folder))
        elif block.language == "python":
            with contextlib.chdir(folder):
                exec(block.text, names)  # noqa: S102


def _shell(command: str, folder: Path) -> str:
    """Both outputs of a command; `hyperprobe` runs in this process."""
    words = shlex.split(command)
    if words[0] != "hyperprobe":
        done = subprocess.run(command, cwd=folder, shell=True, capture_output=True, text=True)  # noqa: S602
    else:
        words = chain.from_iterable(_expanded(word, folder) for word in words[1:])
        done = commands.run(folder, *words)
    return done.stdout + done.stderr


def _expanded(word: str, folder: Path) -> list[str]:
    """The paths that a word with stars stands for, as a shell has them."""
    found = sorted(folder.glob(word)) if "*" in word else []
    return [str(path.relative_to(folder)) for path in found] or [word]


def _python(source: str, names: dict[str, Any], folder: Path) -> str:
    """What an interactive Python prints."""
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec(compile(source, "<page>", "single"), names)  # noqa: S102
    return out.getvalue()


def shortened(shown: Shown) -> str:
    """What comes out, with as much left out in the middle as the page leaves out."""
    lines = [line.rstrip() for line in shown.got.rstrip().splitlines()]
    wanted = shown.wanted.splitlines()
    if "..." in wanted:
        after = wanted[::-1].index("...")
        lines = [*lines[: wanted.index("...")], "...", *lines[len(lines) - after :]]
    return "\n".join(lines) + "\n"


def main(pages: list[str]) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    for page in map(Path, pages):
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            for shown in execute(text, Path(folder)):
                if not shown.agree:
                    print(f"{page}: {shown.asked.strip()}")
                    assert shown.wanted and text.count(shown.wanted) == 1, "write ... below it"
                    text = text.replace(shown.wanted, shortened(shown))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
