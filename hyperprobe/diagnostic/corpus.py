"""A user's corpus as a stream of text chunks: plain text, JSONL, packed or not, in folders.

A corpus is read in pieces, (file, byte range), each of which another process or machine may take.
"""

from __future__ import annotations

import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import pandas as pd

from hyperprobe.documents import FREE_BYTES, MAX_RATIO, OPENERS, parse_json
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import StrPath, listed_paths
from hyperprobe.runs.jobs import Answers, Cell
from hyperprobe.runs.run import Run

CHUNK_BYTES = 1 << 20
PIECE_BYTES = 1 << 26
PACKED_PIECE_BYTES = 1 << 29  # larger, as what comes before a piece is unpacked again for it
MAX_LINE_BYTES = 1 << 20  # no paragraph is longer; such a line is data, and is skipped
SKIPPED = "skipped"  # what `Skipped` stands under in the `attrs` of a frame
SUFFIXES = (".txt", ".jsonl", ".json", ".text", *OPENERS)

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr rev hon capt col gen lt sgt gov sen rep messrs mme mlle vs etc "
    "e.g i.e cf viz no vol pp fig figs approx ca dept est inc ltd co corp jan feb mar apr jun jul "
    "aug sep sept oct nov dec".split()
)
_DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error)
_END = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])")


@dataclass
class Skipped:
    """What a file held that could not be read, for the note at the end."""

    notes: list[str] = field(default_factory=list)
    n_undecodable: int = 0
    n_long: int = 0

    def add(self, other: Skipped) -> None:
        self.notes += other.notes
        self.n_undecodable += other.n_undecodable
        self.n_long += other.n_long


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


@dataclass(frozen=True)
class Piece:
    """The lines of a file that begin from byte `start` to before `end`, counted as unpacked; and
    the size of the file on disk, where it has to be that."""

    path: Path
    start: int = 0
    end: int = sys.maxsize
    file_size: int | None = None

    @property
    def n_bytes(self) -> int:
        return self.end - self.start


def unpacked_size(path: Path) -> int:
    """How many bytes a packed file holds, found by unpacking it; what is damaged ends where it
    breaks off. Raises `UserError` for a file that unpacks to far more than its size."""
    n_bytes, most = 0, _most(path)
    with path.open("rb") as raw, suppress(*_DAMAGE):
        stream = OPENERS[path.suffix](raw)  # type: ignore[operator]
        while block := stream.read(CHUNK_BYTES):
            n_bytes += len(block)
            _check_size(path, n_bytes, most)
    return n_bytes


def pieces_of(files: Iterable[Path], size_of: Callable[[Path], int] = unpacked_size) -> list[Piece]:
    """The pieces of a corpus in its order, the same on every machine.

    `size_of` says how many bytes a packed file holds.
    """
    found = []
    for path in files:
        packed = path.suffix in OPENERS
        step = PACKED_PIECE_BYTES if packed else PIECE_BYTES
        file_size = path.stat().st_size
        n_bytes = size_of(path) if packed else file_size
        for start in range(0, max(n_bytes, 1), step):
            found.append(Piece(path, start, min(start + step, max(n_bytes, 1)), file_size))
    return found


def shares_of(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces that follow each other, together where they are small."""
    shares: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        if piece.n_bytes > room:
            shares.append([])
            room = PIECE_BYTES
        shares[-1].append(piece)
        room -= piece.n_bytes
    return shares


def cells_of(
    run: Run,
    files: Mapping[Path, str],
    what: str,
    compute: Callable[[Sequence[Piece]], pd.DataFrame],
) -> list[Cell]:
    """A cell of `run` for each share of a corpus (file -> digest), which costs its bytes.

    How many bytes a packed file holds is stored with the run, and is not looked for again.
    """

    def size_of(path: Path) -> int:
        def found() -> Answers:
            return pd.DataFrame({"n_bytes": [unpacked_size(path)]}), None

        return int(run.cell(f"unpacked size of {files[path]}", found)["n_bytes"].iloc[0])

    return [
        Cell(
            f"{what}from byte {share[0].start} of {share[0].path}",
            model="",
            identity=[files[piece.path] for piece in share],
            compute=partial(_answers, compute, share),
            cost=sum(piece.n_bytes for piece in share),
        )
        for share in shares_of(pieces_of(files, size_of))
    ]


def _answers(
    compute: Callable[[Sequence[Piece]], pd.DataFrame], share: Sequence[Piece], _: object
) -> Answers:
    return compute(share), None


def _most(path: Path) -> int:
    """How many bytes a packed file may unpack to."""
    return max(FREE_BYTES, MAX_RATIO * path.stat().st_size)


def _check_size(path: Path, n_bytes: int, most: int) -> None:
    if n_bytes > most:
        raise UserError(
            f"{path} unpacks to more than {MAX_RATIO} times its size: unpack it yourself if "
            "that is right"
        )


def read_chunks(
    piece: Piece, text_field: str, skipped: Skipped, advance: Callable[[int], None] = lambda n: None
) -> Iterator[str]:
    """About a megabyte of lines at a time; `advance` hears of bytes that were read on disk.

    Lines that are no UTF-8 or longer than a megabyte are skipped and counted. A
    packed file that breaks off is read as far as it goes, and noted. Raises `UserError` for a
    line that is not the JSON it should be.
    """
    path = piece.path
    if piece.file_size not in (None, path.stat().st_size):
        raise UserError(f"{path} is not the file that it was when the work began: put it back")
    packed = path.suffix in OPENERS
    inner = path.with_suffix("").suffix if packed else path.suffix
    lines: list[str] = []
    size = 0
    with path.open("rb") as raw:
        stream: IO[bytes] = OPENERS[path.suffix](raw) if packed else raw  # type: ignore[operator]
        try:
            stream.seek(max(piece.start - 1, 0))
            read = raw.tell()
            for start, line in _lines(stream, piece, packed, skipped):
                text = _text(line, start == 0, skipped)
                if text and inner == ".jsonl":
                    text = _field(text, text_field, piece, start)
                if text is None:
                    continue
                lines.append(text)
                size += len(line)
                if size >= CHUNK_BYTES:
                    advance(raw.tell() - read)
                    read = raw.tell()
                    yield "\n".join(lines)
                    lines, size = [], 0
            advance(raw.tell() - read)
        except _DAMAGE as error:
            skipped.notes.append(f"{path}: damaged ({error}): read as far as it goes")
    if lines:
        yield "\n".join(lines)
    elif path.stat().st_size == 0:
        skipped.notes.append(f"{path}: empty")


def _lines(
    stream: IO[bytes], piece: Piece, packed: bool, skipped: Skipped
) -> Iterator[tuple[int, bytes]]:
    """(first byte, line) of each line that begins in the piece; one too long is never held.

    The stream stands at the byte before the piece, whose line is another piece's.
    """
    most = _most(piece.path) if packed else sys.maxsize
    position = max(piece.start - 1, 0)
    is_others, is_rest = piece.start > 0, False
    while is_rest or position < piece.end:
        if not (part := stream.readline(MAX_LINE_BYTES)):
            return
        start, position = position, position + len(part)
        _check_size(piece.path, position, most)
        is_whole = part.endswith(b"\n") or len(part) < MAX_LINE_BYTES
        if not is_others and not is_rest:
            if is_whole:
                yield start, part
            else:
                skipped.n_long += 1
        is_rest = not is_whole
        is_others = is_others and is_rest


def _text(line: bytes, is_first: bool, skipped: Skipped) -> str | None:
    try:
        return line.decode("utf-8-sig" if is_first else "utf-8").strip()
    except UnicodeDecodeError:
        skipped.n_undecodable += 1
        return None


def _field(text: str, name: str, piece: Piece, start: int) -> str:
    """The text under `name` in the line of JSONL that begins at byte `start`."""
    try:
        value = parse_json(text, "the line")
        if not isinstance(value, dict) or name not in value:
            raise UserError(f"no JSON object with a {quoted(name)} field: name it with --field")
        if not isinstance(value[name], str):
            raise UserError(f"{name} must be a text, not {quoted(value[name])}: correct it")
    except UserError as error:
        raise UserError(f"{piece.path}:{_line_number(piece.path, start)}: {error}") from error
    return str(value[name])


def _line_number(path: Path, start: int) -> int:
    """The number, from 1, of the line that begins at byte `start`."""
    opener: Callable[..., IO[bytes]] = OPENERS.get(path.suffix, open)  # type: ignore[assignment]
    with opener(path, "rb") as stream:
        n_lines = 1
        while start > 0 and (block := stream.read(min(start, CHUNK_BYTES))):
            n_lines += block.count(b"\n")
            start -= len(block)
        return n_lines


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
