"""Fetching the official archive: from a local server, cut off, damaged, hostile."""

import hashlib
import io
import socketserver
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hyperprobe.errors import UserError, one_line
from hyperprobe.probes.lama import fetch as fetching
from hyperprobe.probes.lama.fetch import fetch

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
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


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
    with pytest.raises(UserError, match="continues from there"):
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


# -- hostile servers and archives -----------------------------------------------------------


@pytest.fixture
def raw_server(socket_enabled: None) -> Iterator[Callable[..., str]]:
    """Starts a server that answers each connection with the given bytes; its address."""
    started: list[socketserver.ThreadingTCPServer] = []

    def start(answer: bytes, drip: float = 0.0) -> str:
        gone = threading.Event()

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                try:
                    self.request.recv(4096)
                    if not drip:
                        self.request.sendall(answer)
                    for i in range(len(answer) if drip else 0):
                        self.request.sendall(answer[i : i + 1])
                        if gone.wait(drip):
                            return
                except OSError:  # the client has gone
                    return

        class Quick(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False

        server = Quick(("127.0.0.1", 0), Handler)
        server.gone = gone  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        started.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/lama.tar.gz"

    yield start
    for server in started:
        server.gone.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()


OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "redirect to a file": (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "302"),
    "redirect to ftp": (b"HTTP/1.1 302 Found\r\nLocation: ftp://x/y\r\n\r\n", "unknown url type"),
    "redirect to itself": (b"HTTP/1.1 302 Found\r\nLocation: /lama.tar.gz\r\n\r\n", "302"),
    "redirect nowhere": (b"HTTP/1.1 302 Found\r\n\r\n", "302"),
    "redirect to nonsense": (b"HTTP/1.1 302 Found\r\nLocation: http://[a\r\n\r\n", "cannot reach"),
    "not found": (b"HTTP/1.1 404 Not Found\r\n\r\n", "answered 404"),
    "forbidden": (b"HTTP/1.1 403 No\r\n\r\n", "answered 403"),
    "error": (b"HTTP/1.1 500 Error\r\n\r\n", "answered 500"),
    "unknown code": (b"HTTP/1.1 999 What\r\n\r\n", "answered 999"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "answered 204"),
    "range without need": (b"HTTP/1.1 416 Range\r\n\r\n", "answered 416"),
    "nothing": (b"", "cannot reach"),
    "no status": (b"hello\r\n\r\n", "cannot reach"),
    "status without end": (b"HTTP/1.1 " + b"2" * 100_000, "cannot reach"),
    "a long header": (OK + b"A: " + b"b" * 100_000 + b"\r\n\r\n", "cannot reach"),
    "many headers": (OK + b"A: b\r\n" * 200 + b"\r\n", "cannot reach"),
    "negative length": (OK + b"Content-Length: -5\r\n\r\nabc", "length as"),
    "length in words": (OK + b"Content-Length: many\r\n\r\nabc", "length as"),
    "length of 30 digits": (OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nabc", "length as"),
    "huge length": (OK + b"Content-Length: 99999999999\r\n\r\nabc", "gives more than"),
    "too short": (OK + b"Content-Length: 50\r\n\r\nabc", "was cut off"),
    "another part": (
        b"HTTP/1.1 206 Part\r\nContent-Range: bytes 7-9/10\r\nContent-Length: 3\r\n\r\nabc",
        "from byte 0 on",
    ),
    "broken chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", "cannot reach"),
    "half a chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc", "cannot reach"),
    "no archive": (OK + b"Content-Length: 3\r\n\r\nabc", "another file than expected"),
}  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS)
def test_a_bad_answer_is_one_line(raw_server: Callable[..., str], tmp_path: Path, case: str):
    answer, says = ANSWERS[case]
    with pytest.raises(UserError, match=says) as caught:
        fetch(tmp_path / "data", raw_server(answer), "0" * 64)
    assert len(one_line(str(caught.value))) < 400
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("head", [b"", OK + b"A: b", OK + b"\r\n"])
def test_a_server_that_drips_is_left(
    raw_server: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
):
    monkeypatch.setattr(fetching, "WINDOW", 0.05)
    url = raw_server((head or b"HTTP/1.1 2") + b"0" * 2000, drip=0.005)
    with pytest.raises(UserError, match="fewer than 1024 bytes a second"):
        fetch(tmp_path / "data", url, "0" * 64)


def test_a_server_that_says_nothing_is_left(
    raw_server: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.05)
    with pytest.raises(UserError, match="timed out"):
        fetch(tmp_path / "data", raw_server(b"HTT", drip=30.0), "0" * 64)


def test_a_download_without_end_is_left(
    raw_server: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetching, "MAX_ARCHIVE", 1000)
    with pytest.raises(UserError, match="gives more than"):
        fetch(tmp_path / "data", raw_server(OK + b"\r\n" + b"a" * 200_000), "0" * 64)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "lama.tar.gz", "", "https:/x"])
def test_only_the_web_is_asked(tmp_path: Path, url: str):
    with pytest.raises(UserError, match="no address of the web"):
        fetch(tmp_path / "data", url, "0" * 64)


@pytest.mark.parametrize("url", ["http://127.0.0.1:port/", "http://a b/", "http://"])
def test_addresses_that_do_not_parse(tmp_path: Path, url: str):
    with pytest.raises(UserError, match="cannot reach"):
        fetch(tmp_path / "data", url, "0" * 64)


def test_a_part_of_another_file_is_thrown_away(server: Server, tmp_path: Path):
    (tmp_path / "data.tar.gz.partial").write_bytes(b"other")
    with pytest.raises(UserError, match="another file than expected"):
        fetch(tmp_path / "data", server.url, digest(server.body))
    fetch(tmp_path / "data", server.url, digest(server.body))
    assert (tmp_path / "data" / "TREx").is_dir()


def test_a_target_that_cannot_be_filled(server: Server, tmp_path: Path):
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file", tmp_path / "file" / "data", tmp_path / ("n" * 300)):
        with pytest.raises(UserError, match="is a file|cannot write"):
            fetch(target, server.url, digest(server.body))
    (tmp_path / "data.tar.gz.partial").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        fetch(tmp_path / "data", server.url, digest(server.body))


def test_a_full_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda *_: Full())
    with pytest.raises(UserError, match="cannot write .*No space left on device"):
        fetch(tmp_path / "data", server.url, digest(server.body))


def bad_archives() -> dict[str, bytes]:
    whole = archive()
    link = io.BytesIO()
    with tarfile.open(fileobj=link, mode="w:gz") as packed:
        info = tarfile.TarInfo("data/TREx")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc"
        packed.addfile(info)
    device = io.BytesIO()
    with tarfile.open(fileobj=device, mode="w:gz") as packed:
        info = tarfile.TarInfo("data/TREx/null")
        info.type = tarfile.CHRTYPE
        packed.addfile(info)
    return {
        "truncated": whole[: len(whole) // 2],
        "bytes changed": whole[:40] + b"xxxx" + whole[44:],
        "text": b"no archive",
        "nothing": b"",
        "link": link.getvalue(),
        "device": device.getvalue(),
        "no TREx": archive(("data/other.jsonl",)),
        "a file TREx": archive(("data/TREx",)),
    }


@pytest.mark.parametrize("case", bad_archives())
def test_a_bad_archive_leaves_nothing(server: Server, tmp_path: Path, case: str):
    server.body = bad_archives()[case]
    server.stop_after = len(server.body)
    with pytest.raises(UserError, match="cannot unpack|no TREx folder"):
        fetch(tmp_path / "data", server.url, digest(server.body))
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("limit", ["MAX_MEMBERS", "MAX_UNPACKED"])
def test_an_archive_bomb(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
):
    monkeypatch.setattr(fetching, limit, 1)
    with pytest.raises(UserError, match="far more than LAMA has"):
        fetch(tmp_path / "data", server.url, digest(server.body))
    assert not list(tmp_path.iterdir())
