"""Static vectors: every format in use, and the files that are none of them."""

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, Word2Vec

from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.models.static import StaticModel, load_vectors

WORDS = ["robin", "robins", "bird", "birds", "fish", "tool"]
MATRIX = np.random.default_rng(1).normal(size=(len(WORDS), 8)).astype(np.float32)


def vectors() -> KeyedVectors:
    made = KeyedVectors(8)
    made.add_vectors(WORDS, MATRIX)
    return made


def write(folder: Path, kind: str) -> Path:
    path = folder / kind
    made = vectors()
    if kind == "word2vec.txt":
        made.save_word2vec_format(str(path))
    elif kind == "word2vec.bin":
        made.save_word2vec_format(str(path), binary=True)
    elif kind == "word2vec.bin.gz":
        made.save_word2vec_format(str(folder / "plain.bin"), binary=True)
        path.write_bytes(gzip.compress((folder / "plain.bin").read_bytes()))
    elif kind == "glove.txt":
        made.save_word2vec_format(str(path), write_header=False)
    elif kind in ("glove-with-header.txt", "fasttext.vec"):
        made.save_word2vec_format(str(path))
    elif kind == "gensim.kv":
        made.save(str(path))
    elif kind == "gensim-split.kv":
        made.save(str(path), sep_limit=1)
    return path


KINDS = (
    "word2vec.txt",
    "word2vec.bin",
    "word2vec.bin.gz",
    "glove.txt",
    "glove-with-header.txt",
    "fasttext.vec",
    "gensim.kv",
    "gensim-split.kv",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_vectors(tmp_path: Path, kind: str):
    read = load_vectors(write(tmp_path, kind))
    assert list(read.index_to_key) == WORDS
    assert np.abs(read.vectors - MATRIX).max() < 1e-5


def test_fasttext_binaries_spell_unseen_words(tmp_path: Path):
    from gensim.models.fasttext import save_facebook_model

    model = FastText([WORDS] * 5, vector_size=8, min_count=1, bucket=50, epochs=1, seed=1)
    save_facebook_model(model, str(tmp_path / "fasttext.bin"))
    read = load_vectors(tmp_path / "fasttext.bin")
    assert np.abs(read["robin"] - model.wv["robin"]).max() < 1e-5
    assert "robinet" in read


def test_a_whole_gensim_model_is_read_too(tmp_path: Path):
    model = Word2Vec([WORDS] * 5, vector_size=8, min_count=1, epochs=1, seed=1)
    model.save(str(tmp_path / "word2vec.model"))
    read = load_vectors(tmp_path / "word2vec.model")
    assert np.allclose(read["robin"], model.wv["robin"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short_is_refused(tmp_path: Path, kind: str):
    path = write(tmp_path, kind)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 3 // 5])
    if kind == "glove.txt":
        # Without a header, a file that ends inside a line is the sign.
        path.write_bytes(whole[:-40])
    with pytest.raises(UserError, match="cannot read vectors"):
        load_vectors(path)


@pytest.mark.parametrize("content", [b"", b"no vectors here\nat all\n", b"\x80\x05garbage"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "x.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot read vectors"):
        load_vectors(path)


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path):
    class Trap:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "trap.kv").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(UserError, match="which no such file needs"):
        load_vectors(tmp_path / "trap.kv")
    assert not (tmp_path / "sprung").exists()


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UserError, match="no vectors file"):
        load_model(str(tmp_path / "none.bin"))


def cloze(subject: str) -> Cloze:
    return Cloze(subject, "", "", subject)


def test_scores_are_cosines():
    model = StaticModel("x", vectors(), {})
    scores = model.score([cloze("Robin"), cloze("wren")], CandidateSet(("bird", "shrub", "fish")))
    unit = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
    assert scores[0, 0] == pytest.approx(unit[0] @ unit[2], abs=1e-6)
    assert scores[0, 1] == -np.inf  # a candidate without a vector
    assert np.isnan(scores[1]).all()  # a subject without one


def test_a_word_is_not_its_own_nearest():
    model = StaticModel("x", vectors(), {})
    ranking = model.rank([cloze("robin")], CandidateSet(tuple(WORDS)), [2], len(WORDS))
    assert ranking.top[0, -1] == WORDS.index("robin")
    missing = model.rank([cloze("wren")], CandidateSet(tuple(WORDS)), [2], 1)
    assert missing.gold_rank[0] == 0
