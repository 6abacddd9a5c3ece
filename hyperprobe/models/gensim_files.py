"""gensim's own files (`.kv`, `.wordvectors`, `.model`), read as data.

They are pickles, of which nothing is made or run (`hyperprobe.models.pickles`). Anything but
gensim's vectors and numpy's arrays is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.errors import quoted
from hyperprobe.models.pickles import (
    ARRAYS,
    FLOATS,
    Record,
    as_name,
    as_record,
    read_array,
    read_pickle,
)

_KEYED = "gensim.models.keyedvectors"
_BUILTINS = ("builtins", "__builtin__")
# What stands in files that gensim writes; all of it is read over but arrays and the vectors.
NAMES = ARRAYS | (
    {(_KEYED, n) for n in ("KeyedVectors", "Word2VecKeyedVectors", "EuclideanKeyedVectors")}
    | {(_KEYED, "Vocab"), ("gensim.utils", "call_on_class_only")}
    | {("gensim.models.word2vec", n) for n in ("Word2Vec", "Word2VecTrainables", "Word2VecVocab")}
    | {("numpy.random._pickle", n) for n in ("__randomstate_ctor", "__bit_generator_ctor")}
    | {("numpy.random._mt19937", "MT19937")}
    | {(m, n) for m in _BUILTINS for n in ("set", "frozenset", "int", "float", "object", "hash")}
    | {("collections", n) for n in ("OrderedDict", "defaultdict")}
    | {(module, "_reconstructor") for module in ("copyreg", "copy_reg")}
)
# How the files begin: protocols 2 to 5, and what protocols 0 and 1 make an object with.
PICKLES = (b"\x80", b"ccopy_reg\n_reconstructor\n")


def read_native(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Words and their vectors [n_words, width]. Raises `ValueError` and its like on what is no
    such file, or asks for more than vectors need."""
    held = as_record(_read(path.read_bytes()))
    beside = path.name
    state = _state(held)
    if held.name == ("gensim.models.word2vec", "Word2Vec"):
        held = as_record(state.get("wv"))
        state = _state(held)
        beside += ".wv"
    if _class(held)[0] != _KEYED:
        raise ValueError(f"it holds {quoted('.'.join(_class(held)))}, not word vectors")
    words = next(
        (state[key] for key in ("index_to_key", "index2word", "index2entity") if key in state),
        None,
    )
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("it has no list of words")
    if "vectors" in _strings(state.get("__numpys")):
        matrix = _beside(path.with_name(f"{beside}.vectors.npy"))
    else:
        matrix = read_array(as_record(state.get("vectors")))
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise ValueError(f"{len(words)} words and vectors of shape {matrix.shape}")
    return words, matrix.astype(np.float32)


def _read(data: bytes) -> Any:
    try:
        return read_pickle(data, NAMES)
    except ValueError as error:
        if "'gensim.models.fasttext" in str(error):
            raise ValueError(
                "it is a fastText model of gensim, which is not read: write it with gensim's "
                "save_facebook_model and name that file"
            ) from error
        raise


def _class(record: Record) -> tuple[str, str]:
    """What a record is one of; protocols 0 and 1 write it as an argument."""
    if record.name[1] == "_reconstructor" and isinstance(record.args, tuple) and record.args:
        return as_name(record.args[0])
    return record.name


def _state(record: Record) -> dict[Any, Any]:
    if not isinstance(record.state, dict):
        raise ValueError("it has no attributes")
    return record.state


def _strings(value: Any) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else ()


def _beside(path: Path) -> NDArray[Any]:
    """The array in a `.npy` file, whose pickles are never read."""
    if not path.is_file():
        raise ValueError(f"{path.name} is not beside it")
    # (as a map, the file has to hold all that its header promises)
    matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(matrix, np.ndarray) or matrix.dtype.str[1:] not in FLOATS:
        raise ValueError(f"{path.name} holds no array of numbers")
    return matrix
