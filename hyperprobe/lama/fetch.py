"""The official LAMA archive: fetched on request, verified, unpacked safely."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from hyperprobe.errors import UserError
from hyperprobe.progress import progress
from hyperprobe.runs import file_digest

# Size and checksum as recorded for the `lama` set of Hugging Face's datasets library.
# The archive with the negated probes: the facts of data.zip and the negations.
URL = "https://dl.fbaipublicfiles.com/LAMA/negated_data.tar.gz"
SHA256 = "1a151058e6608e47983ea4c99c50bb69248c1c0763a04a3793b0a0b657aa0b61"
LICENCE = "CC BY-NC 4.0: no commercial use"
CHUNK = 1 << 16


def fetch(target: Path, url: str = URL, sha256: str = SHA256) -> Path:
    """Download, verify and unpack the archive as the folder `target`; returns it.

    A download that was cut off goes on where it stopped. Raises `UserError` when
    there is no network, the checksum differs, or the archive would write outside
    its folder.
    """
    if (target / "TREx").is_dir():
        return target
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
        found = next(Path(scratch).rglob("TREx"), None)
        if found is None:
            raise UserError(f"the archive of {url} holds no TREx folder: report it")
        if target.exists():
            target.rmdir()
        shutil.move(found.parent, target)
    archive.unlink()
    return target


def _download(url: str, archive: Path) -> None:
    """Fill `archive`, from where an earlier try stopped."""
    done = archive.stat().st_size if archive.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            resumed = answer.status == 206
            rest = int(answer.headers.get("Content-Length") or 0)
            with (
                archive.open("ab" if resumed else "wb") as file,
                progress("downloading LAMA", rest, "bytes") as advance,
            ):
                while chunk := answer.read(CHUNK):
                    file.write(chunk)
                    advance(len(chunk))
                if rest and file.tell() != rest + (done if resumed else 0):
                    raise UserError(f"{url} was cut off: the same command goes on from there")
    except urllib.error.HTTPError as error:
        if error.code == 416 and done:  # nothing is missing
            return
        raise UserError(f"{url} answered {error.code}: try again later") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise UserError(f"cannot reach {url} ({error}): check the network, then repeat") from error


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive) as packed:
            # The filter refuses absolute paths, "..", links that lead out, and devices.
            packed.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"cannot unpack the archive ({error}): nothing was kept") from error
