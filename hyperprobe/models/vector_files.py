"""Words and vectors from word2vec's and GloVe's files, row by row, and from those that ship.

No promise of a file is believed: the matrix grows with the rows that are really there, and
every row is checked. Errors name the line (text) or the vector (binary).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from hyperprobe.documents import FREE_BYTES, MAX_RATIO
from hyperprobe.errors import quoted

LONGEST_WORD = 4096  # bytes
LONGEST_LINE = 1 << 20  # bytes; 30,000 numbers
MAX_WIDTH = 65_536
CHUNK = 1 << 20
# Control characters: numbers as bytes are full of them, texts have none.
_CONTROLS = frozenset(range(32)) - set(b"\t\n\r")

Words = tuple[list[str], NDArray[np.float32]]


class VectorsError(ValueError):
    """What is wrong with a file of vectors; the message says where in it."""


class Table:
    """Words with their rows as they come; a word that comes again keeps its first row."""

    def __init__(self, width: int) -> None:
        if not 1 <= width <= MAX_WIDTH:
            raise VectorsError(f"vectors of width {width}")
        self.width = width
        self.words: dict[str, int] = {}
        self.matrix = np.empty((1024, width), dtype=np.float32)
        self.n_again = 0
        self.first_again = ""

    def add(self, word: str, row: NDArray[np.float32], where: str) -> None:
        if not word:
            raise VectorsError(f"{where}: no word before the numbers")
        if not np.isfinite(row).all():
            raise VectorsError(f"{where}: a number of {quoted(word)} is not finite")
        if word in self.words:
            self.first_again = self.first_again or f"{where}: {quoted(word)} stands here again"
            self.n_again += 1
            if self.n_again > max(1000, len(self.words)):
                self._check_again()  # now, and not after all of it was read
            return
        n = len(self.words)
        if n == len(self.matrix):
            # (in place: the system moves large blocks without a copy)
            self.matrix.resize((n + n // 2, self.width), refcheck=False)
        self.matrix[n] = row
        self.words[word] = n

    def _check_again(self) -> None:
        """Real files repeat a word now and then, not many."""
        if self.n_again > (len(self.words) + self.n_again) // 1000 + 1:
            raise VectorsError(f"{self.first_again}, and {self.n_again} words in all do")

    def whole(self) -> Words:
        """The words and the matrix."""
        n = len(self.words)
        if not n:
            raise VectorsError("it holds no vectors")
        self._check_again()
        self.matrix.resize((n, self.width), refcheck=False)
        return list(self.words), self.matrix


def read_rows(path: Path) -> Words:
    """Words and vectors [n_words, width] of a word2vec or GloVe file, packed (`.gz`) or not.

    Raises `VectorsError`, and what `gzip` and the system raise on damaged files.
    """
    size = path.stat().st_size
    packed = path.suffix == ".gz"
    most = max(FREE_BYTES, MAX_RATIO * size) if packed else size
    opened: IO[bytes] = (gzip.open if packed else open)(path, "rb")  # type: ignore[assignment]
    with opened as file:
        first = file.readline(LONGEST_LINE + 1)
        parts = first.split()
        if len(parts) != 2 or not all(part.isdigit() for part in parts):
            return _read_text(file, first, None, most)
        if len(first) > 100:
            raise VectorsError("line 1: it promises more vectors than fit into the file")
        n, width = int(parts[0]), int(parts[1])
        table = Table(width)
        head = file.read(4096)
        binary = _is_binary(head)
        shortest = n * (4 * width + 2 if binary else 2 * width + 2) - 1
        if shortest > most:
            raise VectorsError(
                f"line 1: it promises {n} vectors of width {width}, more than fit into the file"
            )
        if binary:
            return _read_binary(file, head, table, n)
        file.seek(len(first))
        return _read_text(file, b"", (n, width), most)


def write_quantized(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write vectors [n_words, width] as safetensors of 8 bits a number: each a whole multiple, of
    -127 to 127, of its row's step."""
    steps = (np.abs(matrix).max(axis=1) / 127).astype("<f4")
    multiples = np.rint(matrix / np.where(steps > 0, steps, 1)[:, None]).astype(np.int8)
    # Of each column together: that packs smaller.
    columns = np.ascontiguousarray(multiples.T)
    save_file({"columns": columns, "steps": steps}, path, {"words": "\n".join(words)})


def read_quantized(path: Path) -> Words:
    """Words and vectors [n_words, width] of a file that `write_quantized` wrote."""
    with safe_open(path, "np") as file:
        words = (file.metadata() or {}).get("words", "").split("\n")
        if not {"columns", "steps"} <= set(file.keys()) or not words[0]:
            raise VectorsError("it holds no words: of a model, name the folder")
        columns, steps = file.get_tensor("columns"), file.get_tensor("steps")
    if columns.ndim != 2 or not len(words) == columns.shape[1] == len(steps):
        raise VectorsError(f"{len(words)} words, vectors {columns.shape} and steps {steps.shape}")
    return words, np.ascontiguousarray((columns * steps).T, dtype=np.float32)


def _is_binary(head: bytes) -> bool:
    """Whether the rows behind a header are numbers as bytes; `head` is their beginning."""
    numbers = head.split(b"\n", 1)[0].partition(b" ")[2]
    try:
        [float(part) for part in numbers.split(b" ")[:3]]
    except ValueError:
        return not numbers.isascii() or not _CONTROLS.isdisjoint(head)
    return False


# -- text -----------------------------------------------------------------------------------


def _lines(file: IO[bytes], first: bytes, number: int, most: int) -> Iterator[tuple[int, bytes]]:
    """(number, line) of `first` and what follows it in `file`; not more than `most` bytes."""
    n_bytes = 0
    line = first or file.readline(LONGEST_LINE + 1)
    while line:
        n_bytes += len(line)
        if len(line) > LONGEST_LINE:
            raise VectorsError(f"line {number}: longer than {LONGEST_LINE >> 20} MB")
        if n_bytes > most:
            raise VectorsError(f"it unpacks to more than {MAX_RATIO} times its size")
        yield number, line
        number += 1
        line = file.readline(LONGEST_LINE + 1)


def _read_text(file: IO[bytes], first: bytes, promised: tuple[int, int] | None, most: int) -> Words:
    """Rows of a word and numbers; `promised` are the header's number of rows and their width."""
    table = Table(promised[1]) if promised else None
    n_rows = 0
    blank = 0  # line number of the first blank line: only the last ones may be
    for number, line in _lines(file, first, 2 if promised else 1, most):
        if not line.strip():
            blank = blank or number
            continue
        where = f"line {blank or number}"
        if blank:
            raise VectorsError(f"{where}: blank")
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
        word, *numbers = text.rstrip(" \t\r\n").split(" ")
        if table is None:
            if not numbers:
                raise VectorsError(f"{where}: {quoted(word)} and no numbers: a word list?")
            table = Table(len(numbers))
        if promised and n_rows == promised[0]:
            raise VectorsError(f"{where}: more rows than the {promised[0]} that line 1 promises")
        table.add(word, _row(numbers, table.width, where), where)
        n_rows += 1
    if promised and n_rows < promised[0]:
        raise VectorsError(f"{n_rows} of the {promised[0]} vectors that line 1 promises")
    if table is None:
        raise VectorsError("it is empty")
    return table.whole()


def _row(numbers: list[str], width: int, where: str) -> NDArray[np.float32]:
    if len(numbers) != width:
        raise VectorsError(f"{where}: {len(numbers)} numbers where the others have {width}")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        wrong = next(number for number in numbers if not _is_number(number))
        hint = " (write a point, not a comma)" if _is_number(wrong.replace(",", ".", 1)) else ""
        raise VectorsError(f"{where}: {quoted(wrong)} is no number{hint}") from None
    with np.errstate(over="ignore"):  # what is no float32 becomes infinite, and is refused
        return np.array(values, dtype=np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- binary ---------------------------------------------------------------------------------


def _read_binary(file: IO[bytes], data: bytes, table: Table, n: int) -> Words:
    """`n` rows of a word, a space and the bytes of float32 numbers; `data` has been read."""
    n_bytes = 4 * table.width
    at = 0
    for number in range(1, n + 1):
        where = f"vector {number}"
        if len(data) - at < LONGEST_WORD + n_bytes:
            data, at = data[at:] + file.read(max(CHUNK, n_bytes)), 0
        space = data.find(b" ", at, at + LONGEST_WORD)
        if space < 0 and len(data) - at >= LONGEST_WORD:
            raise VectorsError(f"{where}: no word before the numbers")
        start = space + 1
        if space < 0 or len(data) - start < n_bytes:
            raise VectorsError(f"{number - 1} of the {n} vectors that line 1 promises")
        word = data[at:space].decode("utf-8", "replace").lstrip("\n")
        table.add(word, np.frombuffer(data, "<f4", table.width, start), where)
        at = start + n_bytes
    if (data[at:] + file.read(1)).strip():
        raise VectorsError(f"more behind the {n} vectors that line 1 promises")
    return table.whole()
