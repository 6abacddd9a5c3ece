"""A folder of texts as documents: plain text in passages, or JSONL with one document a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hyperprobe.documents import OPENERS, Document, check, parse_json, read_lines
from hyperprobe.errors import printable
from hyperprobe.reading.ngrams import normal

PASSAGE = 2_000  # characters, after which a passage of plain text ends with its line
BLOCK = 4_000_000  # characters of texts that are counted at once


class JsonText(Document):
    """A line of JSONL, as DrQA's documents are."""

    id: str | int | None = None
    text: str


class Text(NamedTuple):
    """A document: each of its lines is a paragraph."""

    id: str
    text: str


def read_texts(path: Path, advance: Callable[[int], None] = lambda n: None) -> Iterator[Text]:
    """The documents of a file, in order; `advance` is called with the size of each.

    A passage of plain text ends at an empty line, or at the line that makes it `PASSAGE`
    characters long. What has no id is called after its file and its line. Raises `UserError` with
    file and line for what cannot be read.
    """
    inner = path.with_suffix("").suffix if path.suffix in OPENERS else path.suffix
    texts = _json_texts(path) if inner == ".jsonl" else _passages(path)
    for text in texts:
        advance(len(text.text))
        yield text


def _json_texts(path: Path) -> Iterator[Text]:
    for number, line in read_lines(path, "documents"):
        if line.strip():
            where = f"{path}, line {number}"
            row = check(JsonText, parse_json(line, where), where)
            yield Text(
                f"{printable(str(path))}:{number}" if row.id is None else normal(str(row.id)),
                row.text,
            )


def _passages(path: Path) -> Iterator[Text]:
    lines: list[str] = []
    size = first = 0
    for number, line in read_lines(path, "documents"):
        stripped = line.strip()
        if stripped:
            first = first if lines else number
            lines.append(stripped)
            size += len(stripped)
        if lines and (not stripped or size >= PASSAGE):
            yield Text(f"{printable(str(path))}:{first}", "\n".join(lines))
            lines, size = [], 0
    if lines:
        yield Text(f"{printable(str(path))}:{first}", "\n".join(lines))


def blocks(files: Sequence[Path], advance: Callable[[int], None]) -> Iterator[list[Text]]:
    """The documents of all files in lists of about `BLOCK` characters, the same each time."""
    held: list[Text] = []
    size = 0
    for path in files:
        for text in read_texts(path, advance):
            held.append(text)
            size += len(text.text)
            if size >= BLOCK:
                yield held
                held, size = [], 0
    if held:
        yield held
