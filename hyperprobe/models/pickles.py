"""Pickles, read as data: no object is made, imported or called.

A pickle may run any code when it is loaded the usual way. Here a machine of its own walks through
the opcodes, and whatever the pickle would call becomes a record of the call. Only what its reader
expects (`names`) may be recorded; anything else is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperprobe.errors import quoted

_NUMPY = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
# What arrays stand as in a pickle.
ARRAYS = frozenset(
    {(module, n) for module in _NUMPY for n in ("_reconstruct", "scalar", "ndarray", "dtype")}
    | {(f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")}
    | {("_codecs", "encode")}
)
FLOATS = ("f2", "f4", "f8")


def read_pickle(data: bytes, names: Set[tuple[str, str]]) -> Any:
    """The value in a pickle, as lists, dicts, tuples, texts, numbers and `Record`s of `names`.

    Raises `ValueError`, `IndexError`, `KeyError` or `TypeError` on what is no such pickle.
    """
    return _Machine(names).run(data)


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

    def __init__(self, names: Set[tuple[str, str]]) -> None:
        self.names = names
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
            called = self._allowed(module, attribute)
            stack.append(called if name == "GLOBAL" else Record(called, tuple(self._marked())))
        elif name == "STACK_GLOBAL":
            attribute, module = self._popped(), self._popped()
            stack.append(self._allowed(module, attribute))
        elif name in ("REDUCE", "NEWOBJ", "NEWOBJ_EX"):
            if name == "NEWOBJ_EX":
                self._popped()
            args = self._popped()
            stack.append(Record(as_name(self._popped()), args))
        elif name == "OBJ":
            called, *members = self._marked()
            stack.append(Record(as_name(called), tuple(members)))
        elif name == "BUILD":
            state = self._popped()
            as_record(stack[-1]).state = state
        else:
            raise ValueError(f"it uses {name}, which no such file needs")

    def _allowed(self, module: Any, name: Any) -> _Name:
        if isinstance(module, str) and isinstance(name, str) and (module, name) in self.names:
            return _Name((module, name))
        raise ValueError(f"it asks for {quoted(f'{module}.{name}')}, which no such file needs")

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


def as_name(value: Any) -> _Name:
    if not isinstance(value, _Name):
        raise ValueError("it calls what has no name")
    return value


def as_record(value: Any) -> Record:
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


def read_array(record: Record, dtypes: tuple[str, ...] = FLOATS) -> NDArray[Any]:
    """The array that numpy's pickles describe, of one of `dtypes`."""
    if record.name[1] == "_frombuffer":  # protocol 5
        data, dtype, shape, order = record.args
        fortran = order == "F"
    elif record.name[1] == "_reconstruct":
        _, shape, dtype, fortran, data = record.state
    else:
        raise ValueError("it holds no array")
    if isinstance(data, Record):  # bytes, as protocols 0 to 2 write them
        if data.name != ("_codecs", "encode") or data.args[1:] != ("latin1",):
            raise ValueError("its array has no bytes")
        data = data.args[0]
    if isinstance(data, str):
        data = data.encode("latin-1")
    kind = as_record(dtype).args[0]
    byte_order = as_record(dtype).state[1]
    if kind not in dtypes or byte_order not in ("<", ">", "="):
        raise ValueError("its array holds other numbers than it should")
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError("its array has no shape")
    flat = np.frombuffer(data, dtype=np.dtype(f"{byte_order}{kind}"))
    return flat.reshape(shape, order="F" if fortran else "C")
