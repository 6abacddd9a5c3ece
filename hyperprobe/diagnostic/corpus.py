"""A user's corpus as a stream of text chunks: plain text, JSONL, packed or not, in folders.

Chunks are the same on every reading, so that work can be counted in them.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hyperprobe.documents import FREE_BYTES, MAX_RATIO, OPENERS, parse_json
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath, listed_paths

CHUNK_BYTES = 1 << 20
MAX_LINE_BYTES = 1 << 20  # no paragraph is longer; such a line is data, and is skipped
SUFFIXES = (".txt", ".jsonl", ".json", ".text", *OPENERS)

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr rev hon capt col gen lt sgt gov sen rep messrs mme mlle vs etc "
    "e.g i.e cf viz no vol pp fig figs approx ca dept est inc ltd co corp jan feb mar apr jun jul "
    "aug sep sept oct nov dec".split()
)
_END = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])")


@dataclass
class Skipped:
    """What a file held that could not be read, for the note at the end."""

    notes: list[str] = field(default_factory=list)
    n_undecodable: int = 0
    n_long: int = 0


def corpus_files(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    """The files of a corpus (a path or several), in a fixed order; folders are searched through.

    Raises `UserError` for a path that is not there or a folder with no text.
    """
    found: list[Path] = []
    for path in listed_paths(paths):
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix in SUFFIXES)
            if not inside:
                raise UserError(f"no text files ({', '.join(SUFFIXES)}) in {path}")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise UserError(f"no corpus {path}: name text files or folders of them")
    return list(dict.fromkeys(found))


def read_chunks(
    path: Path, text_field: str, skipped: Skipped, at: Callable[[int], None] = lambda n: None
) -> Iterator[str]:
    """About a megabyte of lines at a time; `at` is called with the position in the file on disk.

    Lines that are no UTF-8 or longer than a megabyte are skipped and counted. A
    packed file that breaks off is read as far as it goes, and noted.
    """
    packed = path.suffix in OPENERS
    inner = path.with_suffix("").suffix if packed else path.suffix
    lines: list[str] = []
    size = 0
    with path.open("rb") as raw:
        stream: IO[bytes] = OPENERS[path.suffix](raw) if packed else raw  # type: ignore[operator]
        most = max(FREE_BYTES, MAX_RATIO * path.stat().st_size) if packed else None
        try:
            for number, line in enumerate(_lines(stream, path, most, skipped), start=1):
                text = _text(line, number == 1, skipped)
                if text and inner == ".jsonl":
                    text = _field(text, text_field, f"{path}:{number}")
                if text is None:
                    continue
                lines.append(text)
                size += len(line)
                if size >= CHUNK_BYTES:
                    at(raw.tell())
                    yield "\n".join(lines)
                    lines, size = [], 0
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            skipped.notes.append(f"{path}: damaged ({error}): read as far as it goes")
        at(raw.tell())
    if lines:
        yield "\n".join(lines)
    elif path.stat().st_size == 0:
        skipped.notes.append(f"{path}: empty")


def _lines(stream: IO[bytes], path: Path, most: int | None, skipped: Skipped) -> Iterator[bytes]:
    """Lines, without ever holding one that is too long; of `most` bytes in all."""
    n_bytes, is_rest = 0, False
    while piece := stream.readline(MAX_LINE_BYTES):
        n_bytes += len(piece)
        if most is not None and n_bytes > most:
            raise UserError(
                f"{path} unpacks to more than {MAX_RATIO} times its size: unpack it yourself if "
                "that is right"
            )
        is_whole = piece.endswith(b"\n") or len(piece) < MAX_LINE_BYTES
        if is_whole and not is_rest:
            yield piece
        elif not is_whole and not is_rest:
            skipped.n_long += 1
        is_rest = not is_whole


def _text(line: bytes, is_first: bool, skipped: Skipped) -> str | None:
    try:
        return line.decode("utf-8-sig" if is_first else "utf-8").strip()
    except UnicodeDecodeError:
        skipped.n_undecodable += 1
        return None


def _field(text: str, name: str, where: str) -> str:
    """The text under `name` in one line of JSONL."""
    value = parse_json(text, where)
    if not isinstance(value, dict) or name not in value:
        raise UserError(
            f"{where}: no JSON object with a {quoted(name)} field: name the field with --field"
        )
    if not isinstance(value[name], str):
        raise UserError(f"{where}: {name} must be a text, not {quoted(value[name])}: correct it")
    return str(value[name])


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, line by line; an abbreviation or initial ends none."""
    for line in text.splitlines():
        start = 0
        for match in _END.finditer(line):
            before = line[start : match.start()].rsplit(None, 1)
            word = before[-1].strip("\"'“‘([").lower() if before else ""
            if match[0][0] == "." and (word in _ABBREVIATIONS or len(word) == 1):
                continue
            yield line[start : match.end()].strip()
            start = match.end()
        if tail := line[start:].strip():
            yield tail
