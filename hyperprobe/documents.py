"""Files from outside, checked at the door: text, JSON, JSONL, TSV and TOML.

What comes back has been read whole and checked: it is UTF-8 of a bearable size, it parses, and
where a schema is given it has the schema's shape. Everything else is a `UserError` of one line
with the file, the line, the field and the remedy. Schemas are pydantic models that derive from
`Document`.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import tomllib
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hyperprobe.errors import UserError, quoted

MAX_DOCUMENT = 64 << 20  # bytes of a document that is read as one piece
MAX_LINE = 16 << 20  # bytes; LAMA's facts bring all their evidence sentences in one line
# A packed text is seldom a tenth of its size; what unpacks to more than this is a bomb.
MAX_RATIO, FREE_BYTES = 200, 256 << 20
OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

T = TypeVar("T")


class Document(BaseModel):
    """A checked value: exact types, finite numbers, unchangeable; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


# -- text -----------------------------------------------------------------------------------


def read_bytes(path: Path, what: str, limit: int = MAX_DOCUMENT) -> bytes:
    """The bytes of a file that is not larger than `limit`; `what` names it in messages."""
    try:
        with _open(path, what) as file:
            data: bytes = file.read(limit + 1)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise _unreadable(path, what, error) from error
    if len(data) > limit:
        raise UserError(f"{what} {path} is larger than {limit >> 20} MB: is it the right file?")
    return data


def read_text(path: Path, what: str, limit: int = MAX_DOCUMENT) -> str:
    """A UTF-8 text, without its byte order mark."""
    data = read_bytes(path, what, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        raise UserError(f"{path}, line {number}: not UTF-8: save the file as UTF-8") from error


def read_lines(path: Path, what: str, limit: int = MAX_LINE) -> Iterator[tuple[int, str]]:
    """(number, line) of a UTF-8 text, packed or not, without line ends; empty lines too.

    Streams: holds one line at a time, of at most `limit` bytes. A packed file that unpacks to
    more than `MAX_RATIO` times its size is refused.
    """
    try:
        with _open(path, what) as file:
            packed = path.suffix in OPENERS
            most = max(FREE_BYTES, MAX_RATIO * path.stat().st_size) if packed else None
            n_bytes = number = 0
            while line := file.readline(limit + 1):
                number += 1
                n_bytes += len(line)
                if len(line) > limit:
                    raise UserError(
                        f"{path}, line {number}: longer than {limit >> 20} MB: "
                        "is it the right file?"
                    )
                if most is not None and n_bytes > most:
                    raise UserError(
                        f"{what} {path} unpacks to more than {MAX_RATIO} times its size: "
                        "unpack it yourself if that is right"
                    )
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise UserError(
                        f"{path}, line {number}: not UTF-8: save the file as UTF-8"
                    ) from error
                yield number, text.rstrip("\r\n")
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise _unreadable(path, what, error) from error


def _open(path: Path, what: str) -> IO[bytes]:
    try:
        if path.is_dir():
            raise UserError(f"{what} {path} is a folder: name a file")
        if path.exists() and not path.is_file():
            raise UserError(f"{what} {path} is not a regular file: name another")
        opened: IO[bytes] = OPENERS.get(path.suffix, open)(path, "rb")  # type: ignore[operator]
    except ValueError as error:  # a null byte in the name
        raise UserError(f"no {what} {quoted(str(path))}: check the name") from error
    except OSError as error:
        raise _unreadable(path, what, error) from error
    return opened


def _unreadable(path: Path, what: str, error: Exception) -> UserError:
    if isinstance(error, FileNotFoundError):
        return UserError(f"no {what} {path}: check the name")
    if isinstance(error, PermissionError):
        return UserError(f"{what} {path} may not be read: change its permissions")
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return UserError(f"cannot read {what} {path} ({reason}): it is damaged, or no such file")


# -- JSON and TOML --------------------------------------------------------------------------


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_json(text: str, where: str) -> Any:
    """The value in a JSON text; `where` names the text in messages."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = f", line {error.lineno}" if "\n" in text else ""
        raise UserError(f"{where}{line}: not JSON ({error.msg}): correct it") from error
    except RecursionError as error:
        raise UserError(f"{where}: nested too deeply: simplify it") from error
    except ValueError as error:  # NaN, or an integer of thousands of digits
        raise UserError(f"{where}: {str(error).split(':')[0]}: correct it") from error
    if _ESCAPED_SURROGATE.search(text) and _has_surrogate(value):
        raise UserError(f"{where}: half a character (a lone surrogate): save it as UTF-8")
    return value


def _has_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_SURROGATE.search(value))
    if isinstance(value, dict):
        return any(_has_surrogate(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(map(_has_surrogate, value))


def read_json(path: Path, schema: type[T], what: str) -> T:
    """A JSON file of the shape `schema`."""
    return check(schema, parse_json(read_text(path, what), str(path)), str(path))


def read_jsonl(path: Path, schema: type[T], what: str) -> Iterator[tuple[int, T]]:
    """(line number, value) of each line that is not blank, of the shape `schema`."""
    for number, line in read_lines(path, what):
        if line.strip():
            where = f"{path}, line {number}"
            yield number, check(schema, parse_json(line, where), where)


def read_toml(path: Path, schema: type[T], what: str) -> T:
    """A TOML file of the shape `schema`."""
    text = read_text(path, what)
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:150]
        raise UserError(f"{path}: not TOML ({reason}): correct it") from error
    return check(schema, value, str(path))


# -- tables ---------------------------------------------------------------------------------


@cache
def _adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)


def check(schema: type[T], value: Any, where: str) -> T:
    """`value` as the schema has it. Raises `UserError` with the first field that is wrong."""
    try:
        checked: T = _adapter(schema).validate_python(value)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        found = "" if first["type"] == "missing" else f", not {quoted(first['input'])}"
        raise UserError(
            f"{where}: {f'{quoted_field(field)}: ' if field else ''}{message}{found}: correct it"
        ) from error
    except RecursionError as error:
        raise UserError(f"{where}: nested too deeply: simplify it") from error
    return checked


def quoted_field(field: str) -> str:
    """A field's path, short enough for a message."""
    return field if len(field) <= 60 else f"{field[:57]}..."
