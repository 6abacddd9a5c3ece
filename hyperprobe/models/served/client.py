"""Requests to a server: so many at a time, tried again where that helps, none without an end."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from hyperprobe.errors import UserError, printable
from hyperprobe.options import KEY_ENV

Item = TypeVar("Item")
Answer = TypeVar("Answer")

ATTEMPTS, FIRST_WAIT = 8, 0.5  # the wait doubles: about a minute in all
ATTEMPTS_AT_ERRORS = 4  # HTTP 500 may be a server's way to refuse
DEADLINE = 600.0  # seconds for one question, all attempts and waits included
CONNECT = 10.0  # seconds to reach the server
MAX_BYTES = 64 << 20  # of an answer; log-probabilities of 250,000 tokens are 20 MB
PASSING = (408, 409, 425, 429, 502, 503, 504)  # states that pass


class RefusedError(Exception):
    """The server understands a request and does not do what it asks; the message says why."""


class _PassingError(Exception):
    """Worth another attempt, after `wait` seconds if the server says so, up to `attempts` in all;
    what fails then is a `refusal`, or a server that is not all right."""

    def __init__(
        self,
        reason: str,
        wait: float | None = None,
        attempts: int = ATTEMPTS,
        refusal: bool = False,
    ) -> None:
        super().__init__(reason)
        self.wait, self.attempts, self.refusal = wait, attempts, refusal


class Client:
    """A server's address with the key for it, which only the requests contain.

    Every method raises `UserError` for a server that cannot be reached, wants another key, or
    does not answer before the deadline.
    """

    def __init__(self, url: str, concurrency: int, key_env: str = KEY_ENV) -> None:
        self.url, self.concurrency = url, concurrency
        self._address = urlsplit(url)
        self._key_env, self._key = key_env, os.environ.get(key_env, "").strip()
        if not self._key.isascii() or any(not "!" <= letter <= "~" for letter in self._key):
            raise UserError(f"the key in {key_env} has characters that no key has: correct it")
        self._idle: list[HTTPConnection] = []
        self._busy: set[HTTPConnection] = set()
        self._lock = threading.Lock()
        self._reached = False
        self._start()

    def _start(self) -> None:
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(self.concurrency, "hyperprobe-request")

    # -- many questions ---------------------------------------------------------------------

    def map(
        self, ask: Callable[[Item], Answer], items: Sequence[Item]
    ) -> Generator[tuple[Item, Answer]]:
        """(item, `ask(item)`) as the answers come in. After an error or an interrupt nothing goes
        on in the background."""
        futures = {self._pool.submit(ask, item): item for item in items}
        try:
            for future in as_completed(futures):
                yield futures.pop(future), future.result()
        finally:
            if futures:
                self._abandon()

    def _abandon(self) -> None:
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for connection in self._busy:
                _cut(connection)
        self._start()

    # -- one question -----------------------------------------------------------------------

    def post(self, url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers. Raises `RefusedError`."""
        return self._ask("POST", url, json.dumps(body).encode())

    def get(self, url: str) -> dict[str, Any]:
        """The JSON object at `url`. Raises `RefusedError`."""
        return self._ask("GET", url, None)

    def _ask(self, method: str, url: str, body: bytes | None) -> dict[str, Any]:
        stopped, ends = self._stopped, time.monotonic() + DEADLINE
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(method, url, body, ends)
            except _PassingError as error:
                wait = FIRST_WAIT * 2 ** (attempt - 1) if error.wait is None else error.wait
                if time.monotonic() + wait >= ends or attempt >= error.attempts:
                    if error.refusal:
                        raise RefusedError(str(error)) from None
                    raise UserError(f"{self.url}: {error}: look at the log of the server") from None
                if stopped.wait(wait):
                    raise UserError(f"{self.url}: not asked any more") from None
        raise AssertionError

    def _once(self, method: str, url: str, body: bytes | None, ends: float) -> dict[str, Any]:
        left = max(ends - time.monotonic(), 0.001)
        with self._connection() as connection:
            # (the socket's own limit is for each read: a server may send a byte at a time)
            timer = threading.Timer(left, _cut, [connection])
            timer.daemon = True
            timer.start()
            reused = connection.sock is not None
            try:
                try:
                    response, data = self._exchange(connection, method, url, body, left)
                except (OSError, HTTPException):
                    if not reused:
                        raise
                    connection.close()  # a server may close a connection that waits
                    response, data = self._exchange(connection, method, url, body, left)
            except (OSError, HTTPException) as error:
                connection.close()
                if ends <= time.monotonic():
                    raise _PassingError(f"no answer within {DEADLINE:.0f} s") from None
                reason = getattr(error, "strerror", None) or type(error).__name__
                raise _PassingError(f"no connection ({printable(reason)})") from None
            finally:
                timer.cancel()
            if len(data) > MAX_BYTES:
                connection.close()
                raise UserError(f"{self.url} answers with more than {MAX_BYTES >> 20} MB")
        if response.status != 200:
            self._fail(response.status, data, response.getheader("Retry-After", ""))
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise _PassingError("its answer is no JSON") from None
        if not isinstance(answer, dict):
            raise RefusedError("its answer is no JSON object")
        return answer

    def _exchange(
        self, connection: HTTPConnection, method: str, url: str, body: bytes | None, seconds: float
    ) -> tuple[HTTPResponse, bytes]:
        """The server's response and its body. Raises `OSError` or `HTTPException`."""
        self._reach(connection, seconds)
        connection.sock.settimeout(seconds)
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection.request(method, urlsplit(url).path, body, headers)
        response = connection.getresponse()
        data = response.read(MAX_BYTES + 1)
        if response.length and len(data) <= MAX_BYTES:  # (what is left to be read)
            raise IncompleteRead(data)
        return response, data

    def _reach(self, connection: HTTPConnection, seconds: float) -> None:
        """Open the connection; one that was never open before is not worth another attempt."""
        if connection.sock is not None:
            return
        connection.timeout = min(seconds, CONNECT)
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:  # (of names that no host can have)
            if self._reached:
                raise
            reason = getattr(error, "strerror", None) or str(error)
            raise UserError(
                f"cannot reach {self.url} ({printable(reason)}): is the server running there?"
            ) from None
        self._reached = True

    def _fail(self, status: int, data: bytes, retry_after: str) -> NoReturn:
        """Raise what this HTTP status asks for."""
        if status in (401, 403):
            said = f"does not take the key in {self._key_env}" if self._key else "wants a key"
            raise UserError(
                f"{self.url} {said} (HTTP {status}): put the right one into the environment "
                f"variable {self._key_env}"
            )
        if 300 <= status < 400:
            raise UserError(
                f"{self.url} redirects (HTTP {status}): write the address where it leads"
            )
        if status in PASSING:
            wait = min(float(retry_after), DEADLINE) if retry_after.isdecimal() else None
            raise _PassingError(f"HTTP {status}", wait)
        said = f"HTTP {status}{self._message(data)}"
        if status == 500:
            raise _PassingError(said, attempts=ATTEMPTS_AT_ERRORS, refusal=True)
        raise RefusedError(said)

    def _message(self, data: bytes) -> str:
        """What the server says about its refusal, without the key."""
        text = data[:2000].decode("utf-8", "replace")
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            said = json.loads(data)
            error = said.get("error", said)
            text = str(error["message"] if isinstance(error, dict) else error)
        text = " ".join(text.replace(self._key or "\0", "[key]").split())
        return f": {printable(text[:80])}" if text else ""

    @contextmanager
    def _connection(self) -> Iterator[HTTPConnection]:
        """A connection that nobody else uses, kept open for the next one."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
            if connection is None:
                made = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
                connection = made(self._address.netloc)
            self._busy.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._busy.discard(connection)
                self._idle.append(connection)


def _cut(connection: HTTPConnection) -> None:
    """End whatever a thread waits for on this connection."""
    if sock := connection.sock:
        with suppress(OSError):
            sock.shutdown(2)
