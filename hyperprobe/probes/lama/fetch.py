"""The official LAMA archive: fetched on request, verified, unpacked safely."""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any

from hyperprobe.errors import UserError, quoted
from hyperprobe.progress import progress
from hyperprobe.runs.files import file_digest

# Size and checksum as recorded for the `lama` set of Hugging Face's datasets library.
# The archive with the negated probes: the facts of data.zip and the negations.
URL = "https://dl.fbaipublicfiles.com/LAMA/negated_data.tar.gz"
SHA256 = "1a151058e6608e47983ea4c99c50bb69248c1c0763a04a3793b0a0b657aa0b61"
LICENCE = "CC BY-NC 4.0: no commercial use"
CHUNK = 1 << 16
TIMEOUT = 60.0  # seconds without a byte
WINDOW, MIN_RATE = 60.0, 1024  # seconds, and the fewest bytes a second over so many
MAX_ARCHIVE = 1 << 30  # bytes; the official one has 75 MB
MAX_UNPACKED, MAX_MEMBERS = 8 << 30, 20_000


def fetch(target: Path, url: str = URL, sha256: str = SHA256) -> Path:
    """Download, verify and unpack the archive as the folder `target`; returns it.

    A download that was cut off continues where it stopped. Raises `UserError` when
    there is no network or a bad server, the checksum differs, the disk is full, or the
    archive would write outside its folder.
    """
    with _on_disk(target):
        if (target / "TREx").is_dir():
            return target
        if target.exists() and not target.is_dir():
            raise UserError(f"{target} is a file: choose a folder with --to")
        if target.exists() and any(target.iterdir()):
            raise UserError(f"{target} holds other files: choose another folder with --to")
        target.parent.mkdir(parents=True, exist_ok=True)
        archive = target.with_name(f"{target.name}.tar.gz.partial")
        _download(url, archive)
        if file_digest(archive) != sha256:
            archive.unlink()
            raise UserError(f"{url} gave another file than expected: try again, or report it")
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            _unpack(archive, Path(scratch))
            found = next((p for p in Path(scratch).rglob("TREx") if p.is_dir()), None)
            if found is None:
                raise UserError(f"the archive of {url} holds no TREx folder: report it")
            if target.exists():
                target.rmdir()
            shutil.move(found.parent, target)
        archive.unlink()
    return target


@contextmanager
def _on_disk(path: Path) -> Iterator[None]:
    """Within it an error of the disk is one line."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot write {error.filename or path} ({error.strerror or error}): check the path, "
            "its permissions and the space on the disk"
        ) from error


# -- download -------------------------------------------------------------------------------


class _Paced(io.RawIOBase):
    """The bytes of a socket. Raises `TimeoutError` when fewer than `MIN_RATE` a second come."""

    def __init__(self, raw: Any) -> None:
        self._raw, self._since, self._n = raw, time.monotonic(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._raw.readinto(buffer)
        self._n += n
        passed = time.monotonic() - self._since
        if passed > WINDOW:
            if self._n < MIN_RATE * passed:
                raise TimeoutError(f"fewer than {MIN_RATE} bytes a second")
            self._since, self._n = time.monotonic(), 0
        return n

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    """An answer that must come at a bearable pace, head and body."""

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Paced(sock.makefile("rb", buffering=0)))


class _Connection(HTTPConnection):
    response_class = _Response


class _SecureConnection(HTTPSConnection):
    response_class = _Response


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, request)


def _opener() -> urllib.request.OpenerDirector:
    """Opens http and https, also after a redirect, and no other scheme: no file, no ftp."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Http(),
        _Https(),
    ):
        opener.add_handler(handler)
    return opener


def _download(url: str, archive: Path) -> None:
    """Fill `archive`, from where an earlier try stopped."""
    if not url.startswith(("http://", "https://")):
        raise UserError(f"{quoted(url)} is no address of the web: it begins with https://")
    done = archive.stat().st_size if archive.is_file() else 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 (checked above)
        with _opener().open(request, timeout=TIMEOUT) as answer:
            _receive(answer, archive, done, url)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and done:  # nothing is missing
            return
        raise UserError(f"{url} answered {error.code}: try again later") from error
    # (a ValueError is a header or a redirect that does not parse)
    except (OSError, HTTPException, ValueError) as error:
        raise UserError(
            f"cannot reach {url} ({error or type(error).__name__}): check the network, then repeat"
        ) from error


def _receive(answer: Any, archive: Path, done: int, url: str) -> None:
    """Append the body of an answer to `archive`, or write it anew."""
    resumed = answer.status == 206
    if answer.status not in (200, 206):
        raise UserError(f"{url} answered {answer.status}: try again later")
    if resumed:
        part = answer.headers.get("Content-Range", f"bytes {done}-")
        if not part.startswith(f"bytes {done}-"):
            with _on_disk(archive):
                archive.unlink(missing_ok=True)
            raise UserError(
                f"{url} gave {quoted(part)} from byte {done} on: repeat, from the start"
            )
    length = answer.headers.get("Content-Length") or "0"
    if not re.fullmatch("[0-9]{1,18}", length):
        raise UserError(f"{url} gives its length as {quoted(length)}: try again later")
    rest, start = int(length), done if resumed else 0
    with _on_disk(archive):
        file = archive.open("ab" if resumed else "wb")
    with file, progress("downloading LAMA", rest, "bytes") as advance:
        n = 0
        while n + start <= MAX_ARCHIVE and rest <= MAX_ARCHIVE and (chunk := answer.read1(CHUNK)):
            with _on_disk(archive):
                file.write(chunk)
            advance(len(chunk))
            n += len(chunk)
        with _on_disk(archive):
            file.flush()
    if n + start > MAX_ARCHIVE or rest > MAX_ARCHIVE:
        archive.unlink()
        raise UserError(f"{url} gives more than {MAX_ARCHIVE >> 20} MB: it is not LAMA's archive")
    if rest and n != rest:
        raise UserError(f"{url} was cut off: the same command continues from there")


# -- archive --------------------------------------------------------------------------------


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack into `folder`; what cannot be unpacked is removed."""
    try:
        with tarfile.open(archive) as packed:
            n_bytes = 0
            for n_members, member in enumerate(packed, start=1):
                n_bytes += member.size
                if n_members > MAX_MEMBERS or n_bytes > MAX_UNPACKED:
                    raise tarfile.TarError("it unpacks to far more than LAMA has")
                _extract(packed, member, folder)
    # (a damaged header of a member is a ValueError, also one of text or of a number)
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError) as error:
        archive.unlink(missing_ok=True)
        raise UserError(f"cannot unpack the archive ({error}): nothing was kept") from error


def _extract(packed: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a file or a folder of an archive below `folder`. Raises `TarError` for anything else.

    tarfile's own filter does so too, but Python has it from 3.11.4 on, and Debian 12 has 3.11.2.
    """
    path = folder / member.name.lstrip("/")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise tarfile.TarError(f"{quoted(member.name)} lies outside")
    content = packed.extractfile(member) if member.isreg() else None
    if content is None and not member.isdir():
        raise tarfile.TarError(f"{quoted(member.name)} is neither a file nor a folder")
    (path.parent if content else path).mkdir(parents=True, exist_ok=True)
    if content:
        with content, path.open("wb") as file:
            shutil.copyfileobj(content, file)
