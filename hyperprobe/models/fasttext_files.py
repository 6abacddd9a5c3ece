"""fastText's own binary files: looked through before gensim reads them.

Layout (fastText's `FastText::saveModel`): magic, version, the training arguments, the
dictionary, and the input matrix [n_words + n_buckets, width]; all little-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path

MAGIC = 793712314
_HEADER = struct.Struct("<2i12id")
_DICTIONARY = struct.Struct("<3i2q")
_MATRIX = struct.Struct("<?2q")
_LONGEST_WORD = 1024  # bytes
_LONGEST_NGRAM = 32  # characters; fastText's own default is 6
_SUPERVISED = 3
_ENTRY_END = 9  # bytes behind a word: its count and its type


def starts_fasttext(head: bytes) -> bool:
    """Whether a file that begins so is fastText's own."""
    return head[:4] == struct.pack("<i", MAGIC)


def check_fasttext(path: Path) -> None:
    """Raises `ValueError` or `struct.error` if the file is no whole fastText model of words.

    Reads the words and the sizes; what passes is as large as it says.
    """
    data = path.read_bytes()
    _, version, width, *arguments, _ = _HEADER.unpack_from(data)
    model, bucket, shortest, longest = arguments[6:10]
    if version not in (11, 12):
        raise ValueError(f"fastText format of version {version}")
    n_entries, n_words, n_labels, _, n_pruned = _DICTIONARY.unpack_from(data, _HEADER.size)
    if model == _SUPERVISED or n_labels > 0:
        raise ValueError("it is a fastText classifier, not word vectors")
    if model not in (1, 2) or n_labels < 0 or n_entries != n_words or n_words < 1:
        raise ValueError("its fastText header is damaged")
    if n_pruned > 0:
        raise ValueError("it is a quantised fastText model: name the whole one")
    if bucket < 0 or shortest < 0 or not shortest <= max(longest, shortest) <= _LONGEST_NGRAM:
        raise ValueError("its fastText header is damaged")
    at = _HEADER.size + _DICTIONARY.size
    words = set()
    for i in range(n_words):
        end = data.find(b"\0", at, at + _LONGEST_WORD)
        if end < 0:
            raise ValueError(f"it ends, or is damaged, at word {i + 1} of {n_words}")
        words.add(data[at:end])
        at = end + 1 + _ENTRY_END
    if len(words) < n_words:
        raise ValueError(f"{n_words - len(words)} of its words stand twice")
    quantised, n_rows, n_columns = _MATRIX.unpack_from(data, at)
    if quantised:
        raise ValueError("it is a quantised fastText model: name the whole one")
    if (n_rows, n_columns) != (n_words + bucket, width) or width < 1:
        raise ValueError("its fastText header and its matrix do not fit together")
    if len(data) < at + _MATRIX.size + 4 * n_rows * n_columns:
        raise ValueError(f"it promises {n_rows} vectors of width {width} and is shorter")
