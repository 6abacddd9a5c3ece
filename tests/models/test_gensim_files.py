"""Files of gensim: of every protocol, damaged, and with something to run in them."""

import gzip
import io
import os
import pickle
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, Word2Vec
from safetensors.numpy import save_file

from hyperprobe.errors import UserError
from hyperprobe.models.static import load_vectors
from hyperprobe.models.vector_files import write_quantized
from tests.vector_files import MATRIX, SUFFIXES, WORDS, refusal, vectors


@pytest.mark.parametrize("sep_limit", [0, 10**7])
@pytest.mark.parametrize("protocol", range(6))
def test_gensims_own_files_of_every_protocol(tmp_path: Path, protocol: int, sep_limit: int):
    path = tmp_path / "x.kv"
    vectors().save(str(path), pickle_protocol=protocol, sep_limit=sep_limit)
    read = load_vectors(path)
    assert read.index_to_key == WORDS
    assert (read.vectors == MATRIX).all()
    assert (tmp_path / "x.kv.vectors.npy").exists() == (sep_limit == 0)


@pytest.mark.parametrize("sep_limit", [0, 10**7])
@pytest.mark.parametrize("suffix", [".model", ".wordvectors"])
def test_a_trained_model_and_its_vectors(tmp_path: Path, suffix: str, sep_limit: int):
    model = Word2Vec([WORDS] * 5, vector_size=8, min_count=1, epochs=1, seed=1)
    path = tmp_path / f"x{suffix}"
    (model if suffix == ".model" else model.wv).save(str(path), sep_limit=sep_limit)
    read = load_vectors(path)
    assert read.index_to_key == model.wv.index_to_key
    assert (read.vectors == model.wv.vectors).all()


def test_vectors_in_8_bits_are_off_by_half_a_step(tmp_path: Path):
    by_hand = [[127, -127, 63.4, 0.4, 0, 0, 0, -1], [0] * 8, [-0.5, 0.25, 0, 0, 0, 0, 0, 0]]
    matrix = np.concatenate([by_hand, MATRIX]).astype(np.float32)
    words = ["whole", "none", "small", *WORDS]
    for name in ("a.safetensors", "b.safetensors"):
        write_quantized(tmp_path / name, words, matrix)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    read = load_vectors(tmp_path / "a.safetensors")
    assert read.index_to_key == words and read.vectors.dtype == np.float32
    assert read["whole"].tolist() == [127, -127, 63, 0, 0, 0, 0, -1] and not read["none"].any()
    assert read["small"][:2] == pytest.approx([-0.5, 64 * 0.5 / 127])
    off = np.abs(read.vectors - matrix).max(axis=1)
    assert (off <= np.abs(matrix).max(axis=1) / 254 * (1 + 1e-5)).all()


@pytest.mark.parametrize(("of", "end"), [("columns", 5), ("steps", 1)])
def test_fewer_vectors_than_words(tmp_path: Path, of: str, end: int):
    whole = {"columns": np.ones((8, 6), np.int8), "steps": np.ones(6, np.float32)}
    cut = whole | {of: whole[of][..., :end]}
    save_file(cut, tmp_path / "x.safetensors", {"words": "\n".join(WORDS)})
    assert "6 words, vectors (8, " in refusal(tmp_path / "x.safetensors")


def test_weights_of_a_model_are_refused_as_vectors(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    save_file({"vectors": MATRIX}, path)
    with pytest.raises(UserError, match="it holds no words: of a model, name the folder"):
        load_vectors(path)


def test_gensims_own_fasttext_is_refused(tmp_path: Path):
    model = FastText([WORDS] * 5, vector_size=8, min_count=1, bucket=50, epochs=1)
    model.save(str(tmp_path / "x.model"))
    assert "save_facebook_model" in refusal(tmp_path / "x.model")


class Call:
    """Pickles as the call of a function."""

    def __init__(self, function: object, *args: object) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple:
        return self.call


def walk(dotted: tuple[str, str], argument: str) -> bytes:
    """A pickle of protocol 4 that calls `module` and a name with dots in it."""
    pushed = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in dotted)
    word = b"X" + struct.pack("<I", len(argument)) + argument.encode()
    return b"\x80\x04" + pushed + b"\x93" + word + b"\x85R."


def payloads(mark: Path) -> Iterator[bytes]:
    """Pickles that would make the file `mark`."""
    touch = f"touch {mark}"
    for function, args in (
        (os.system, (touch,)),
        (Path.touch, (mark,)),
        (exec, (f"open({str(mark)!r}, 'w')",)),
        (eval, (f"open({str(mark)!r}, 'w')",)),
        (os.popen, (touch,)),
    ):
        for protocol in range(6):
            yield pickle.dumps(Call(function, *args), protocol)
            yield pickle.dumps({"vectors": [Call(function, *args)]}, protocol)
    for dotted in (
        ("gensim.models.word2vec", "os.system"),
        ("gensim.models.keyedvectors", "logging.os.system"),
        ("gensim.models.keyedvectors", "utils.os.system"),
        ("gensim.utils", "os.system"),
        ("numpy", "os.system"),
        ("os", "system"),
        ("posix", "system"),
    ):
        yield walk(dotted, touch)
    yield f"cos\nsystem\n(S{touch!r}\ntR.".encode()
    yield f"(S{touch!r}\nios\nsystem\n.".encode()
    yield f"(cos\nsystem\nS{touch!r}\no.".encode()
    # behind what begins as gensim's files do
    for protocol in range(6):
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol)
        pickler.dump([vectors(), Call(os.system, touch)])
        yield stream.getvalue()


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".kv.gz"])
def test_nothing_in_a_pickle_is_run(tmp_path: Path, suffix: str):
    mark = tmp_path / "sprung"
    path = tmp_path / f"x{suffix}"
    for payload in payloads(mark):
        path.write_bytes(gzip.compress(payload) if suffix.endswith(".gz") else payload)
        refusal(path)
        assert not mark.exists()


@pytest.mark.parametrize("attribute", ["vectors", "evil", "wv.vectors"])
def test_nothing_in_a_file_beside_is_run(tmp_path: Path, attribute: str):
    mark = tmp_path / "sprung"
    model = Word2Vec([WORDS] * 5, vector_size=8, min_count=1, epochs=1)
    path = tmp_path / ("x.model" if attribute == "wv.vectors" else "x.kv")
    if attribute == "evil":
        made = vectors()
        made.evil = np.zeros(3)
        made.save(str(path), sep_limit=0)
    else:
        (model if attribute == "wv.vectors" else vectors()).save(str(path), sep_limit=0)
    beside = tmp_path / f"{path.name}.{attribute}.npy"
    assert beside.exists()
    objects = np.array([[Call(os.system, f"touch {mark}")]], dtype=object)
    np.save(beside, objects, allow_pickle=True)
    as_array = beside.read_bytes()
    for payload in (as_array, pickle.dumps(Call(os.system, f"touch {mark}"))):
        beside.write_bytes(payload)
        if attribute == "evil":  # not needed, and so not read
            assert load_vectors(path).index_to_key == WORDS
        else:
            refusal(path)
        assert not mark.exists()


def test_a_file_beside_that_is_missing_or_short(tmp_path: Path):
    path = tmp_path / "x.kv"
    vectors().save(str(path), sep_limit=0)
    beside = tmp_path / "x.kv.vectors.npy"
    whole = beside.read_bytes()
    beside.write_bytes(whole[:-4])
    refusal(path)
    beside.write_bytes(whole.replace(b"(6, 8)", b"(9, 8)"))
    refusal(path)
    beside.unlink()
    assert "x.kv.vectors.npy is not beside it" in refusal(path)
