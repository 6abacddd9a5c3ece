"""What is read from outside is checked: each kind of damage is one line with file and remedy."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperprobe import documents
from hyperprobe.delimited import read_tsv
from hyperprobe.documents import Document, read_json, read_jsonl, read_lines, read_text
from hyperprobe.errors import UserError, one_line, printable


class Person(Document):
    name: str
    age: float


def rows(path: Path) -> list[tuple[int, Person]]:
    return list(read_jsonl(path, Person, "people"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"name": "a"', "line 1: not JSON"),
        (b'{"name": "a", "age": 1}\n{"name": 3, "age": 1}', "line 2: name: should be a valid"),
        (b'{"name": "a"}', "line 1: age: Field required"),
        (b'{"name": "a", "age": true}', "age: should be a valid number"),
        (b'{"name": "a", "age": 1e999}', "age: should be a finite number"),
        (b'{"name": "a", "age": NaN}', "NaN is not a number"),
        (b'{"name": "a", "age": ' + b"9" * 5000 + b"}", "line 1: "),
        (b'{"name": "\\ud800", "age": 1}', "lone surrogate"),
        (b'{"name": "\xff", "age": 1}', "line 1: not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "should be a valid dictionary"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "people.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        rows(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_good_rows_have_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_bytes('\ufeff{"name": "é", "age": 1}\r\n\n{"name": "b", "age": 2.5}'.encode())
    assert [(n, p.name, p.age) for n, p in rows(path)] == [(1, "é", 1), (3, "b", 2.5)]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_lines(tmp_path: Path, pack: object) -> None:
    suffix = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}[pack]  # type: ignore[index]
    path = tmp_path / f"text{suffix}"
    packed: bytes = pack(b"one\ntwo\n")  # type: ignore[operator]
    path.write_bytes(packed)
    assert list(read_lines(path, "text")) == [(1, "one"), (2, "two")]
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UserError, match=r"cannot read text"):
        list(read_lines(path, "text"))


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "FREE_BYTES", 1 << 20)
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a line\n" * 2_000_000))
    with pytest.raises(UserError, match="unpacks to more than 200 times its size"):
        for _ in read_lines(path, "text"):
            pass
    path.write_bytes(gzip.compress(b"x" * 5_000_000))
    with pytest.raises(UserError, match="line 1: longer than"):
        list(read_lines(path, "text", 1 << 20))
    with pytest.raises(UserError, match="larger than 1 MB"):
        read_text(path, "text", 1 << 20)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no text .*: check the name"):
        read_text(tmp_path / "none", "text")
    with pytest.raises(UserError, match="is a folder"):
        read_text(tmp_path, "text")
    with pytest.raises(UserError, match="check the name"):
        read_text(tmp_path / "a\0b", "text")
    with pytest.raises(UserError, match="cannot read text"):
        read_text(tmp_path / ("n" * 300), "text")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a\tb\n", "a header and no rows"),
        ("a\tc\n1\t2\n", "no column b"),
        ("a\tb\ta\n1\t2\t3\n", "two columns are called 'a'"),
        ("a\tb\t\n1\t2\t\n", "column 3 has no name"),
        ("a\tb\n1\t2\n1\t2\t\n", "line 3: 3 cells where the header has 2"),
        ("a\tb\n1\n", "line 2: 1 cells"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "table.tsv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read_tsv(path, ("a", "b"), "table")


def test_cells_stand_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    path.write_bytes('\ufeffa\tb\r\n"x\tNA\r\n\r\ny\t'.encode() + b"z" * 200_000)
    table = read_tsv(path, ("a", "b"), "table")
    assert table[0] == (2, {"a": '"x', "b": "NA"})
    assert table[1][0] == 4
    assert len(table[1][1]["b"]) == 200_000


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_value_or_a_user_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    for read in (
        lambda: rows(path),
        lambda: read_json(path, Person, "person"),
        lambda: documents.read_toml(path, Person, "person"),
        lambda: read_tsv(path, ("a",), "table"),
    ):
        try:
            read()
        except UserError as error:
            assert "\n" not in one_line(str(error))


def test_printable_text_cannot_steer_a_terminal() -> None:
    assert printable("a\x1b[31mb\u202ec\ud800é") == "a\\x1b[31mb\\u202ec\\ud800é"
    assert one_line("a\n b\t c") == "a b c"
