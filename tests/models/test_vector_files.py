"""Vectors files that are damaged, lie, or attack: one line about each, and nothing is run."""

import gzip
import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from gensim.models.fasttext import save_facebook_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperprobe.errors import UserError
from hyperprobe.models.fasttext_files import MAGIC
from hyperprobe.models.static import load_vectors
from hyperprobe.models.vector_files import write_quantized
from tests.vector_files import MATRIX, SUFFIXES, WORDS, refusal, vectors

# -- text -------------------------------------------------------------------------------------

BROKEN = {
    "a decimal comma": ("robin 0,5 0,25\nbird 0,5 0,5\n", "line 1: '0,5' is no number .*comma"),
    "one behind a header": ("2 2\nrobin 0,5 0,25\nbird 1 1\n", "line 2: '0,5' is no number"),
    "text for a number": ("robin 1 2\nbird 1 x\n", "line 2: 'x' is no number"),
    "a nan": ("robin 1 2\nbird 1 nan\n", "line 2: a number of 'bird' is not finite"),
    "an inf": ("robin 1 2\nbird -inf 1\n", "line 2: .* not finite"),
    "too large": ("robin 1 2\nbird 1 1e999\n", "line 2: .* not finite"),
    "too large for float32": ("robin 1 2\nbird 1 1e300\n", "line 2: .* not finite"),
    "another width": ("robin 1 2\nbird 1 2 3\n", "line 2: 3 numbers where .* 2"),
    "a row without numbers": ("robin 1 2\nbird\n", "line 2: 0 numbers where .* 2"),
    "another width than promised": ("2 3\nrobin 1 2\nbird 1 2\n", "line 2: 2 numbers .* 3"),
    "tabs": ("robin\t1\t2\n", "line 1: .* no numbers"),
    "two spaces": ("robin 1  2\n", "line 1: '' is no number"),
    "a word list": ("robin\nbird\n", "line 1: 'robin' and no numbers: a word list"),
    "prose": ("no vectors here\nat all\n", "line 1: 'vectors' is no number"),
    "a blank line": ("robin 1 2\n\nbird 1 2\n", "line 2: blank"),
    "no word": ("robin 1 2\n 1 2\n", "line 2: no word"),
    "width 0": ("2 0\nrobin\nbird\n", "width 0"),
    "no rows": ("0 5\n", "no vectors"),
    "nothing": ("", "empty"),
    "white space": ("\n\n\n", "empty"),
    "too few": ("3 1\na 1\nb 1\n", "2 of the 3 vectors"),
    "too many": ("1 1\na 1\nb 1\n", "line 3: more rows than the 1"),
    "the same word": ("a 1 2\nb 1 2\na 1 2\nb 1 2\n", "line 3: 'a' stands here again"),
    "absurdly many": (f"1{'0' * 30} 5\na 1 1 1 1 1\n", "line 1: it promises 10+ vectors"),
    "absurdly wide": (f"5 1{'0' * 30}\na 1 1 1 1 1\n", "vectors of width 10+"),
    "more than fit": ("900000000 300\na 1 1 1 1 1\n", "more than fit into the file"),
    "a number of 10,000 digits": (f"{'9' * 10_000} 5\na 1\n", "line 1"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", BROKEN)
def test_rows_that_are_no_vectors_are_named(tmp_path: Path, case: str, packed: bool):
    text, message = BROKEN[case]
    path = tmp_path / ("x.txt.gz" if packed else "x.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    if packed and case == "more than fit":
        text = text.replace("300", "60000")
        path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(UserError, match=message):
        load_vectors(path)


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path):
    (tmp_path / "x.txt").write_bytes("\ufeffrobin 1 2\nbird 3 4\n".encode())
    assert load_vectors(tmp_path / "x.txt").index_to_key == ["robin", "bird"]


def test_words_need_not_be_utf_8(tmp_path: Path):
    (tmp_path / "x.txt").write_bytes(b"2 2\nd\xe9j\xe0 1 2 \nbird 3 4 \n")
    assert (load_vectors(tmp_path / "x.txt")["bird"] == [3, 4]).all()


def test_one_word_in_a_thousand_may_come_twice(tmp_path: Path):
    (tmp_path / "x.txt").write_text("".join(f"w{i % 1500} {i} 1\n" for i in range(1502)))
    read = load_vectors(tmp_path / "x.txt")
    assert len(read) == 1500
    assert (read["w0"] == [0, 1]).all()  # the first row is kept


# -- binary -----------------------------------------------------------------------------------


def binary(header: str, rows: list[tuple[str, list[float]]]) -> bytes:
    body = b"".join(f"{w} ".encode() + np.array(v, "<f4").tobytes() + b"\n" for w, v in rows)
    return f"{header}\n".encode() + body


BROKEN_BINARY = {
    "a nan": (binary("2 2", [("a", [1, 2]), ("b", [1, np.nan])]), "vector 2: .* not finite"),
    "an inf": (binary("2 2", [("a", [1, np.inf]), ("b", [1, 2])]), "vector 1: .* not finite"),
    "too few": (binary("3 2", [("a", [1, 2]), ("b", [1, 3.3])]), "more than fit|2 of the 3"),
    "too many": (binary("1 2", [("a", [1, 2]), ("b", [1, 3.3])]), "more behind the 1 vectors"),
    "the same word": (binary("4 1", [(w, [0.1]) for w in "abab"]), "'a' stands here again"),
    "no word": (b"5000 1\n" + b"\0" * 50_000, "vector 1: no word"),
}


@pytest.mark.parametrize("case", BROKEN_BINARY)
def test_binary_rows_that_are_no_vectors(tmp_path: Path, case: str):
    data, message = BROKEN_BINARY[case]
    (tmp_path / "x.bin").write_bytes(data)
    with pytest.raises(UserError, match=message):
        load_vectors(tmp_path / "x.bin")


# -- fastText ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fasttext(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("fasttext") / "x.bin"
    model = FastText([WORDS] * 5, vector_size=8, min_count=1, bucket=50, epochs=1, seed=1)
    save_facebook_model(model, str(path))
    return path.read_bytes()


def with_number(data: bytes, place: int, number: int, kind: str = "<i") -> bytes:
    changed = bytearray(data)
    struct.pack_into(kind, changed, place, number)
    return bytes(changed)


# Places of the header's numbers, in bytes (fastText, args.cc and dictionary.cc).
LIES = {
    "version": (4, 99, "version 99"),
    "width": (8, 10**9, "do not fit"),
    "no width": (8, 0, "do not fit"),
    "a classifier": (36, 3, "a fastText classifier, not word vectors"),
    "labels": (72, 2, "a fastText classifier, not word vectors"),
    "buckets": (40, 2 * 10**9, "do not fit"),
    "negative buckets": (40, -1, "damaged"),
    "entries": (64, 10**9, "damaged"),
    "words": (68, -5, "damaged"),
    "long n-grams": (48, 10**6, "damaged"),
}


@pytest.mark.parametrize("case", LIES)
def test_fasttext_headers_that_lie(tmp_path: Path, fasttext: bytes, case: str):
    place, number, message = LIES[case]
    (tmp_path / "x.bin").write_bytes(with_number(fasttext, place, number))
    with pytest.raises(UserError, match=message):
        load_vectors(tmp_path / "x.bin")


def test_fasttext_with_words_beyond_the_file(tmp_path: Path, fasttext: bytes):
    data = with_number(with_number(fasttext, 64, 10**9), 68, 10**9)
    (tmp_path / "x.bin").write_bytes(data)
    assert "at word" in refusal(tmp_path / "x.bin")


@pytest.mark.parametrize("seed", range(20))
def test_noise_behind_fasttexts_magic_number(tmp_path: Path, seed: int):
    noise = random.Random(seed).randbytes(5000)
    head = struct.pack("<2i", MAGIC, 12) if seed % 2 else struct.pack("<i", MAGIC)
    (tmp_path / "x.bin").write_bytes(head + noise)
    refusal(tmp_path / "x.bin")


# -- bombs and noise --------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"\0" * 100, b"robin 1 2\n", b"9", b"a" * 99 + b" "])
def test_bombs_end_early(tmp_path: Path, line: bytes):
    path = tmp_path / "x.txt.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(10):
            file.write(line * (2**20 // len(line)))
    tracemalloc.start()
    refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04" + b"r\xff\xff\xff\x7f" + b".",  # a memo of two milliard places
        b"\x80\x04N" + b"r\xff\xff\xff\x7f" + b".",
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x00abc.",  # bytes without end
        b"\x80\x04\x8b\xff\xff\xff\x7f" + b"1.",
        b"\x80\x04" + b"(" * 100_000 + b".",
        b"\x80\x04)" + b"\x85" * 50_000 + b"}\x94" + b"s.",
        b"\x80\x04}" + b")" + b"\x85" * 50_000 + b"Ns.",  # a deep tuple as a key
        b"\x80\x04" + b"]" + b"2a" * 1000 + b".",
        b"\x80\x04\x95" + b"\xff" * 8 + b".",
    ],
)
def test_pickles_that_would_fill_the_memory(tmp_path: Path, data: bytes):
    (tmp_path / "x.kv").write_bytes(data)
    tracemalloc.start()
    refusal(tmp_path / "x.kv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


STARTS = (
    b"",
    b"2 3\n",
    b"2 3\nrobin ",
    b"\x80\x02",
    b"\x80\x04",
    b"\x80\x05",
    b"ccopy_reg\n_reconstructor\n",
    struct.pack("<2i", MAGIC, 12),
    b"\x1f\x8b\x08",
)
FEW = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def is_read_or_refused(path: Path) -> None:
    """Anything but vectors or one line fails the test; so does much memory."""
    tracemalloc.start()
    try:
        read = load_vectors(path)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert len(read) == len(read.index_to_key) > 0
        assert np.isfinite(read.vectors).all()
        assert read.vectors.shape == (len(read), read.vector_size)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 200e6


@FEW
@given(suffix=st.sampled_from(SUFFIXES), start=st.sampled_from(STARTS), rest=st.binary())
def test_any_bytes(tmp_path: Path, suffix: str, start: bytes, rest: bytes):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(start + rest)
    is_read_or_refused(path)
    path.write_bytes(gzip.compress(start + rest) if suffix == ".gz" else start)
    is_read_or_refused(path)


@FEW
@given(rows=st.lists(st.text(st.sampled_from("01ab. ,e-\t\n\r\0\ufeffé9")), max_size=8))
def test_any_text(tmp_path: Path, rows: list[str]):
    path = tmp_path / "x.txt"
    path.write_bytes("\n".join(rows).encode())
    is_read_or_refused(path)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, fasttext: bytes) -> dict[str, bytes]:
    """A whole file of every format."""
    folder = tmp_path_factory.mktemp("real")
    made = vectors()
    made.save_word2vec_format(str(folder / "x.txt"))
    made.save_word2vec_format(str(folder / "x.vec"), write_header=False)
    made.save_word2vec_format(str(folder / "plain"), binary=True)
    made.save(str(folder / "x.kv"))
    made.save(str(folder / "x.wordvectors"), pickle_protocol=0)
    Word2Vec([WORDS] * 5, vector_size=8, min_count=1, epochs=1).save(str(folder / "x.model"))
    (folder / "x.bin.gz").write_bytes(gzip.compress((folder / "plain").read_bytes()))
    (folder / "x.fasttext").write_bytes(fasttext)
    write_quantized(folder / "x.safetensors", WORDS, MATRIX)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@FEW
@given(data=st.data())
def test_real_files_changed(tmp_path: Path, real: dict[str, bytes], data: st.DataObject):
    name = data.draw(st.sampled_from(sorted(real)))
    changed = bytearray(real[name])
    for _ in range(data.draw(st.integers(0, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(changed))))
    path = tmp_path / name
    path.write_bytes(bytes(changed[:cut]) + data.draw(st.binary(max_size=20)))
    is_read_or_refused(path)
