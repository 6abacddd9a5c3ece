"""Documents near a question: scores by hand, DrQA's own, built or read, damaged or evil."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hyperprobe.errors import UserError
from hyperprobe.reading import build, texts
from hyperprobe.reading.answers import RetrieveRead, check_documents
from hyperprobe.reading.build import open_or_build
from hyperprobe.reading.drqa_index import open_drqa
from hyperprobe.reading.index import Index
from hyperprobe.reading.ngrams import bucket, ngrams, search_words
from tests.reading.drqa_files import INDEX, N_BUCKETS, save_database, save_index

TEXTS = {
    "a": "robin robin sparrow",
    "b": "a sparrow of the oak",
    "c": "trout",
    "d": "the car",
    "e": "hammer",
}


@pytest.fixture
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables: quick, and no two n-grams of `TEXTS` share a row."""
    monkeypatch.setattr(build, "N_BUCKETS", N_BUCKETS)
    asked = {ngram for text in TEXTS.values() for ngram in ngrams(search_words(text))}
    assert len({bucket(one, N_BUCKETS) for one in asked}) == len(asked)


def jsonl(path: Path, documents: dict[str, str]) -> Path:
    rows = [json.dumps({"id": name, "text": text}) for name, text in documents.items()]
    path.write_text("\n".join(rows))
    return path


def named(index: Index, question: str) -> dict[str, float]:
    return {index.document(column)[0]: score for column, score in index.scores(question)}


def ways(tmp_path: Path) -> dict[str, Index]:
    """The same documents from each kind of file."""
    found = {}
    for kind in ("jsonl", "mapped", "packed"):
        folder = tmp_path / kind
        folder.mkdir()
        if kind == "jsonl":
            found[kind] = open_or_build([jsonl(folder / "d.jsonl", TEXTS)], folder / "own")
        else:
            path = save_index(folder, TEXTS, packed=kind == "packed")
            found[kind] = open_drqa(path, folder / "own")
    return found


@pytest.mark.usefixtures("few_buckets")
def test_scores_are_those_of_a_hand_computation(tmp_path: Path):
    once, twice = log(4.5 / 1.5), log(3.5 / 2.5)  # idf of what one and two of five have
    for kind, index in ways(tmp_path).items():
        found = named(index, "Sparrow, robin, robin?")
        # Robin twice on both sides, sparrow once; the comma parts what would be a pair.
        a = log(2) ** 2 * twice**2 + log(3) ** 2 * once**2
        assert found == {"a": pytest.approx(a), "b": pytest.approx(log(2) ** 2 * twice**2)}, kind
        assert next(iter(found)) == "a"
        assert named(index, "xylophone?") == named(index, "who is it?") == named(index, "") == {}
        assert index.document(1) == ("b", TEXTS["b"])


def test_drqas_index_gives_its_scores(shared: Path, unpacked: Path, tmp_path: Path):
    folder = shared / "lama_models/drqa"
    expected = json.loads((folder / "expected.json").read_text())["retriever"]
    read = RetrieveRead(folder, folder / "reader.mdl", unpacked).index
    built = open_or_build([folder / "documents.jsonl"], tmp_path / "built")
    assert len(read.data) == len(built.data) == expected["stored_values"]
    for query in expected["queries"]:
        for index in (read, built):
            buckets, weights = index.question(query["query"])
            vector = query.get("query_vector", [])
            assert buckets.tolist() == [one for one, _ in vector]
            assert weights == pytest.approx([weight for _, weight in vector], abs=1e-12)
            scores = named(index, query["query"])
            assert scores == pytest.approx(query.get("scores_above_zero", {}), abs=1e-12)


def test_documents_of_plain_text_end_at_empty_lines_and_when_they_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(texts, "PASSAGE", 10)
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n\n\n three \nfour five six\nseven")
    assert list(texts.read_texts(path)) == [
        (f"{path}:1", "one\ntwo"),
        (f"{path}:5", "three\nfour five six"),
        (f"{path}:7", "seven"),
    ]


@pytest.mark.usefixtures("few_buckets")
def test_a_killed_build_continues_and_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(texts, "BLOCK", 15)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    path = jsonl(tmp_path / "d.jsonl", TEXTS)
    count, counted = build.count_texts, []

    def killed_once(some: list[str], first: int) -> Any:
        counted.append(first)
        if len(counted) == 3:
            raise KeyboardInterrupt
        return count(some, first)

    monkeypatch.setattr(build, "count_texts", killed_once)
    with pytest.raises(KeyboardInterrupt):
        open_or_build([path], tmp_path / "own")
    continued = open_or_build([path], tmp_path / "own")
    # A block each for a, for b, and for the rest: only the last is counted again.
    assert counted == [0, 1, 2, 2]
    monkeypatch.setattr(texts, "BLOCK", 4_000_000)
    monkeypatch.setattr(build, "count_texts", count)
    whole = open_or_build([path], tmp_path / "again")
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(continued, name), getattr(whole, name))
    assert [continued.document(i) for i in range(5)] == list(TEXTS.items())


@pytest.mark.usefixtures("few_buckets")
def test_an_index_is_made_once_by_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(texts, "BLOCK", 20)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    path = jsonl(tmp_path / "d.jsonl", TEXTS)
    first = open_or_build([path], tmp_path / "own")
    path.unlink()  # it is not read again
    second = open_or_build([path], tmp_path / "own")
    assert first.scores("robin oak") == second.scores("robin oak") != []


@pytest.mark.usefixtures("few_buckets")
def test_files_of_one_name_in_two_folders(tmp_path: Path):
    for name, text in TEXTS.items():
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "wiki.jsonl").write_text(json.dumps({"text": text}))
    index = open_or_build(check_documents(tmp_path / "all"), tmp_path / "own")
    [(column, _)] = index.scores("hammer")
    assert index.document(column) == (str(tmp_path / "all/e/wiki.jsonl:1"), "hammer")


BROKEN: dict[str, tuple[str, str]] = {
    "twice": ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', "two documents have the id"),
    "no text": ('{"id": "a"}', "line 1: text: Field required"),
    "a number": ('{"id": "a", "text": 5}', "line 1: text"),
    "no json": ("{", "line 1: not JSON"),
    "empty": ("\n \n", "no text in"),
}


@pytest.mark.usefixtures("few_buckets")
@pytest.mark.parametrize("kind", BROKEN)
def test_documents_that_cannot_be_read(kind: str, tmp_path: Path):
    content, message = BROKEN[kind]
    path = tmp_path / "d.jsonl"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        open_or_build([path], tmp_path / "own")


class Evil:
    """Unpickled the usual way, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, (f"touch {self.path}",)


def test_an_evil_index_is_refused_and_not_run(tmp_path: Path):
    path = save_index(tmp_path, TEXTS, tokenizer=Evil(tmp_path / "ran"))
    with pytest.raises(UserError, match="system'?, which no such file needs"):
        open_drqa(path, tmp_path / "own")
    assert not (tmp_path / "ran").exists()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "tokenizer": ({"tokenizer": "corenlp"}, "made with the tokenizer 'corenlp'"),
    "ngram": ({"ngram": 0}, "its ngram is 0"),
    "buckets": ({"hash_size": 5}, "hash_size is not that of doc_freqs"),
    "documents": ({"doc_dict": ({}, ["a"])}, "does not fit its 1 documents"),
    "ids": ({"doc_dict": ({}, [1] * 5)}, "no list of ids"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_index_that_says_something_else(kind: str, tmp_path: Path):
    metadata, message = WRONG[kind]
    path = save_index(tmp_path, TEXTS, **metadata)
    with pytest.raises(UserError, match=message):
        open_drqa(path, tmp_path / "own")


def test_a_damaged_index(tmp_path: Path):
    path = save_index(tmp_path, TEXTS)
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"PK\x03\x04" + bytes(200), whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(UserError, match="cannot read the index"):
            open_drqa(path, tmp_path / "own")
    np.savez(path, data=np.ones(3))
    with pytest.raises(UserError, match="cannot read the index .*indices.npy"):
        open_drqa(path, tmp_path / "own")


def test_documents_that_an_index_lacks(tmp_path: Path):
    path = save_index(tmp_path, TEXTS)
    (tmp_path / "docs.db").unlink()
    save_database(tmp_path / "docs.db", {"a": "robin"})
    with pytest.raises(UserError, match="no document 'c', which the index has"):
        open_drqa(path, tmp_path / "own").document(2)
    (tmp_path / "docs.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(UserError, match="no database of documents"):
        open_drqa(path, tmp_path / "own")
    (tmp_path / "docs.db").unlink()
    with sqlite3.connect(tmp_path / "docs.db") as database:
        database.execute("CREATE TABLE other (id)")
    database.close()
    with pytest.raises(UserError, match=r"documents\(id, text\)"):
        open_drqa(path, tmp_path / "own")


def test_which_files_are_documents(tmp_path: Path):
    path = save_index(tmp_path, TEXTS)
    assert check_documents(tmp_path) == check_documents(path) == [path, tmp_path / "docs.db"]
    shutil.copy(path, tmp_path / f"other-{INDEX}")
    with pytest.raises(UserError, match="2 indexes in"):
        check_documents(tmp_path)
    (tmp_path / "docs.db").unlink()
    with pytest.raises(UserError, match="no file .*docs.db"):
        check_documents(path)
    with pytest.raises(UserError, match="no corpus"):
        check_documents(tmp_path / "nowhere")
