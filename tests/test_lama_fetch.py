"""Fetching the official archive: from a local server, cut off, damaged, hostile."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hyperprobe.errors import UserError
from hyperprobe.lama.fetch import fetch

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


def archive(names: tuple[str, ...] = ("data/TREx/P19.jsonl", "data/relations.jsonl")) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            packed.addfile(info, io.BytesIO(b"{}\n"))
    return buffer.getvalue()


class Server:
    """Serves `body` with byte ranges; notes what was asked for."""

    def __init__(self, body: bytes) -> None:
        self.body, self.stop_after, self.ranges = body, len(body), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range")
                outer.ranges.append(asked)
                start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
                self.send_response(206 if asked else 200)
                self.send_header("Content-Length", str(len(outer.body) - start))
                self.end_headers()
                self.wfile.write(outer.body[start : outer.stop_after])

            def log_message(self, *_: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/lama.tar.gz"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server(socket_enabled: None) -> Iterator[Server]:
    served = Server(archive())
    yield served
    served.http.shutdown()
    served.http.server_close()


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def test_fetch_verifies_and_unpacks_once(server: Server, tmp_path: Path):
    target = tmp_path / "lama-data"
    assert fetch(target, server.url, digest(server.body)) == target
    assert (target / "TREx" / "P19.jsonl").read_text() == "{}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["lama-data"]
    fetch(target, server.url, digest(server.body))
    assert len(server.ranges) == 1


def test_a_download_that_was_cut_off_goes_on(server: Server, tmp_path: Path):
    server.stop_after = 40
    with pytest.raises(UserError, match="goes on from there"):
        fetch(tmp_path / "data", server.url, digest(server.body))
    assert not (tmp_path / "data").exists()
    server.stop_after = len(server.body)
    fetch(tmp_path / "data", server.url, digest(server.body))
    assert server.ranges == [None, "bytes=40-"]
    assert (tmp_path / "data" / "relations.jsonl").is_file()


def test_another_file_than_expected_is_refused(server: Server, tmp_path: Path):
    with pytest.raises(UserError, match="another file than expected"):
        fetch(tmp_path / "data", server.url, "0" * 64)
    assert not list(tmp_path.iterdir())


def test_an_absolute_path_stays_inside(server: Server, tmp_path: Path):
    server.body = archive(("data/TREx/P19.jsonl", "/data/escaped"))
    server.stop_after = len(server.body)
    fetch(tmp_path / "data", server.url, digest(server.body))
    assert not Path("/data/escaped").exists()


@pytest.mark.parametrize("name", ["../escaped", "data/../../escaped"])
def test_an_archive_that_reaches_outside_is_refused(server: Server, tmp_path: Path, name: str):
    server.body = archive(("data/TREx/P19.jsonl", name))
    server.stop_after = len(server.body)
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(UserError, match="cannot unpack"):
        fetch(inner / "data", server.url, digest(server.body))
    assert not (inner / "data").exists()
    assert not list(tmp_path.rglob("escaped"))


def test_a_folder_with_other_files_is_spared(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UserError, match="holds other files"):
        fetch(tmp_path, "http://127.0.0.1:9/", "")


def test_no_network(socket_enabled: None, tmp_path: Path):
    with pytest.raises(UserError, match="check the network"):
        fetch(tmp_path / "data", "http://127.0.0.1:9/", "")
