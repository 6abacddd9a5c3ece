"""Answers of a server by token ids, kept on disk: what was asked is not asked again."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from hyperprobe.errors import UserError
from hyperprobe.models.served.dialects import Tokens

SECONDS = 60.0  # that another process may hold the file


def folder() -> Path:
    """Where the answers of servers lie."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hyperprobe" / "served"


class Cache:
    """The answers of one server. It outlives a process that is killed, and serves several.

    Raises `UserError` if the file cannot be read or written.
    """

    def __init__(self, identity: object) -> None:
        """`identity` (JSON) is all that decides the answers."""
        text = json.dumps(identity, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = folder() / f"{name}.sqlite"
        with self._named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, SECONDS, check_same_thread=False)
            self._file.execute(
                "create table if not exists answers (asked blob primary key, answer blob) "
                "without rowid"
            )

    def get(self, ids: Tokens, start: int) -> list[float] | None:
        """The log-probabilities of `ids[start:]`, if they are stored and whole."""
        key = _key(ids, start)
        with self._named():
            row = self._file.execute("select answer from answers where asked = ?", [key]).fetchone()
        if row is None:
            return None
        data, sum_ = row[0][:-4], row[0][-4:]
        if sum_ != _sum(key, data):
            return None
        return array("d", data).tolist()

    def put(self, answers: Iterable[tuple[Tokens, int, list[float]]]) -> None:
        """Store log-probabilities of `ids[start:]`, all or none."""
        rows = []
        for ids, start, log_probs in answers:
            key, data = _key(ids, start), array("d", log_probs).tobytes()
            rows.append((key, data + _sum(key, data)))
        with self._named(), self._file:
            self._file.executemany("insert or replace into answers values (?, ?)", rows)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"cannot use {self.path} ({error}): delete it, or set XDG_CACHE_HOME to a folder "
                "that can be written"
            ) from error


def _key(ids: Tokens, start: int) -> bytes:
    return array("q", [start, *ids]).tobytes()


def _sum(key: bytes, data: bytes) -> bytes:
    return crc32(data, crc32(key)).to_bytes(4, "little")
