"""gensim's own files (`.kv`, `.wordvectors`, `.model`), read as data.

They are pickles, which may run any code when they are loaded the usual way. Here no object
is made, imported or called: a machine of its own walks through the opcodes, and whatever a
pickle would call becomes a record of the call. Records of anything but gensim's vectors and
numpy's arrays are refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.errors import quoted

_KEYED = "gensim.models.keyedvectors"
_NUMPY = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
_BUILTINS = ("builtins", "__builtin__")
# What stands in files that gensim writes; all of it is read over but arrays and the vectors.
NAMES = frozenset(
    {(_KEYED, n) for n in ("KeyedVectors", "Word2VecKeyedVectors", "EuclideanKeyedVectors")}
    | {(_KEYED, "Vocab"), ("gensim.utils", "call_on_class_only")}
    | {("gensim.models.word2vec", n) for n in ("Word2Vec", "Word2VecTrainables", "Word2VecVocab")}
    | {(module, n) for module in _NUMPY for n in ("_reconstruct", "scalar", "ndarray", "dtype")}
    | {(f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")}
    | {("numpy.random._pickle", n) for n in ("__randomstate_ctor", "__bit_generator_ctor")}
    | {("numpy.random._mt19937", "MT19937"), ("_codecs", "encode")}
    | {(m, n) for m in _BUILTINS for n in ("set", "frozenset", "int", "float", "object", "hash")}
    | {("collections", n) for n in ("OrderedDict", "defaultdict")}
    | {(module, "_reconstructor") for module in ("copyreg", "copy_reg")}
)
# How the files begin: protocols 2 to 5, and what protocols 0 and 1 make an object with.
PICKLES = (b"\x80", b"ccopy_reg\n_reconstructor\n")
_DTYPES = ("f2", "f4", "f8")


class Record:
    """Something that a pickle would make: by which `name`, of what `args`, with what `state`;
    `items` has what it would set in a dict."""

    __slots__ = ("args", "items", "name", "state")

    def __init__(self, name: tuple[str, str], args: Any) -> None:
        self.name = name
        self.args = args
        self.state: Any = None
        self.items: dict[Any, Any] = {}


_PUSHED = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING "
    "BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE BINUNICODE SHORT_BINUNICODE "
    "BINUNICODE8".split()
)
_MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_SET": list,  # the members as they come: nothing in them is hashed
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})


class _Machine:
    """A stack, a memo, and what each opcode does with them."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        """The value that the pickle leaves, as lists, dicts, tuples, texts, numbers, `Record`s.

        Raises `ValueError`, `IndexError`, `KeyError` or `TypeError` on what is no such pickle.
        """
        stack, memo = self.stack, self.memo
        arg: Any
        for opcode, arg, _ in pickletools.genops(data):
            name = opcode.name
            if name in _PUSHED:
                stack.append(arg)
            elif name in _PUTS:
                memo[len(memo) if name == "MEMOIZE" else arg] = stack[-1]
            elif name in _GETS:
                stack.append(memo[arg])
            elif name in _MADE:
                stack.append(_MADE[name]())
            elif name == "STOP":
                return stack.pop()
            else:
                self._step(name, arg)
        raise ValueError("it has no end")

    def _step(self, name: str, arg: Any) -> None:
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name == "MARK":
            self.marks.append(len(stack))
        elif name == "POP":
            stack.pop()
        elif name == "POP_MARK":
            self._marked()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name in _TUPLES:
            n = _TUPLES[name]
            stack.append(tuple(self._popped() for _ in range(n))[::-1])
        elif name in ("TUPLE", "LIST", "FROZENSET"):
            members = self._marked()
            stack.append(tuple(members) if name == "TUPLE" else members)
        elif name in ("APPEND", "APPENDS", "ADDITEMS"):
            members = [self._popped()] if name == "APPEND" else self._marked()
            _list(stack[-1]).extend(members)
        elif name == "DICT":
            stack.append(_set_items({}, self._marked()))
        elif name in ("SETITEM", "SETITEMS"):
            members = self._marked() if name == "SETITEMS" else [self._popped(), self._popped()]
            if name == "SETITEM":
                members.reverse()
            _set_items(stack[-1], members)
        elif name in ("GLOBAL", "INST"):
            module, _, attribute = arg.partition(" ")
            called = _allowed(module, attribute)
            stack.append(called if name == "GLOBAL" else Record(called, tuple(self._marked())))
        elif name == "STACK_GLOBAL":
            attribute, module = self._popped(), self._popped()
            stack.append(_allowed(module, attribute))
        elif name in ("REDUCE", "NEWOBJ", "NEWOBJ_EX"):
            if name == "NEWOBJ_EX":
                self._popped()
            args = self._popped()
            stack.append(Record(_called(self._popped()), args))
        elif name == "OBJ":
            called, *members = self._marked()
            stack.append(Record(_called(called), tuple(members)))
        elif name == "BUILD":
            state = self._popped()
            _record(stack[-1]).state = state
        else:
            raise ValueError(f"it uses {name}, which no vectors need")

    def _popped(self) -> Any:
        if self.marks and self.marks[-1] >= len(self.stack):
            raise ValueError("its stack is out of order")
        return self.stack.pop()

    def _marked(self) -> list[Any]:
        at = self.marks.pop()
        members = self.stack[at:]
        del self.stack[at:]
        return members


class _Name(tuple[str, str]):
    """A module and a name in it, neither of which is looked up."""


def _allowed(module: Any, name: Any) -> _Name:
    if isinstance(module, str) and isinstance(name, str):
        if module.startswith("gensim.models.fasttext"):
            raise ValueError(
                "it is a fastText model of gensim, which is not read: write it with gensim's "
                "save_facebook_model and name that file"
            )
        if (module, name) in NAMES:
            return _Name((module, name))
    raise ValueError(f"it asks for {quoted(f'{module}.{name}')}, which no vectors need")


def _called(value: Any) -> _Name:
    if not isinstance(value, _Name):
        raise ValueError("it calls what has no name")
    return value


def _record(value: Any) -> Record:
    if not isinstance(value, Record):
        raise ValueError("it gives a state to what has none")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("it adds to what is no list")
    return value


def _set_items(target: Any, members: list[Any]) -> Any:
    items = target.items if isinstance(target, Record) else target
    if not isinstance(items, dict) or len(members) % 2:
        raise ValueError("it sets an item of what has none")
    for key, value in zip(members[::2], members[1::2], strict=True):
        if not isinstance(key, str | int):
            raise ValueError("it has a key that is neither text nor number")
        items[key] = value
    return target


# -- arrays and vectors -----------------------------------------------------------------------


def read_native(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Words and their vectors [n_words, width]. Raises `ValueError` and its like on what is no
    such file, or asks for more than vectors need."""
    held = _record(_Machine().run(path.read_bytes()))
    beside = path.name
    state = _state(held)
    if held.name == ("gensim.models.word2vec", "Word2Vec"):
        held = _record(state.get("wv"))
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
        matrix = _array(_record(state.get("vectors")))
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise ValueError(f"{len(words)} words and vectors of shape {matrix.shape}")
    return words, matrix.astype(np.float32)


def _class(record: Record) -> tuple[str, str]:
    """What a record is one of; protocols 0 and 1 write it as an argument."""
    if record.name[1] == "_reconstructor" and isinstance(record.args, tuple) and record.args:
        return _called(record.args[0])
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
    if not isinstance(matrix, np.ndarray) or matrix.dtype.str[1:] not in _DTYPES:
        raise ValueError(f"{path.name} holds no array of numbers")
    return matrix


def _array(record: Record) -> NDArray[Any]:
    """The array that numpy's pickles describe."""
    if record.name[1] == "_frombuffer":  # protocol 5
        data, dtype, shape, order = record.args
        fortran = order == "F"
    elif record.name[1] == "_reconstruct":
        _, shape, dtype, fortran, data = record.state
    else:
        raise ValueError("its vectors are no array")
    if isinstance(data, Record):  # bytes, as protocols 0 to 2 write them
        if data.name != ("_codecs", "encode") or data.args[1:] != ("latin1",):
            raise ValueError("its vectors are no bytes")
        data = data.args[0]
    if isinstance(data, str):
        data = data.encode("latin-1")
    kind = _record(dtype).args[0]
    byte_order = _record(dtype).state[1]
    if kind not in _DTYPES or byte_order not in ("<", ">", "="):
        raise ValueError("its vectors are no floating-point numbers")
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError("its vectors have no shape")
    flat = np.frombuffer(data, dtype=np.dtype(f"{byte_order}{kind}"))
    return flat.reshape(shape, order="F" if fortran else "C")
