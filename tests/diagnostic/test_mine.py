import bz2
import gzip
import json
import lzma
import os
import signal
from pathlib import Path

import pytest

from hyperprobe.built import build
from hyperprobe.diagnostic import corpus, mine
from hyperprobe.diagnostic.check import check
from hyperprobe.diagnostic.corpus import (
    Piece,
    Skipped,
    corpus_files,
    pieces_of,
    read_chunks,
    split_sentences,
)
from hyperprobe.diagnostic.sentences import read_contexts
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.errors import UserError
from tests.commands import end_of, wait_until

PROBE = "From the top of the hedge the {} sang and then carried a worm to its nest."
ORDINARY = "There was never a {} to be heard in the frozen park that winter."
WORDS = "osprey stork swan owl puffin mosque tavern canoe chisel dahlia".split()


def write_corpus(folder: Path, n: int = 400) -> Path:
    lines = []
    for i in range(n):
        word = WORDS[i % len(WORDS)]
        lines.append(f"Mr. J. Smith of St. Ives wrote letter {i} that day. " + PROBE.format(word))
        lines.append(f"On page {i} we read: nothing. " + ORDINARY.format(word))
        lines.append(f"In the year {1000 + i} the birds gathered on the roofs of the town again.")
    path = folder / "corpus.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_mine(path: Path, results: Path, **options: object) -> mine.MineResult:
    return mine.mine([path], ["lm-diagnostic-extended"], results=results, **options)


def test_sentences_end_where_they_end():
    text = 'Mr. J. Smith met Dr. Brown, e.g. on Monday. "Really?" he said. It was 3.5 km.\nNext'
    assert list(split_sentences(text)) == [
        "Mr. J. Smith met Dr. Brown, e.g. on Monday.",
        '"Really?" he said.',
        "It was 3.5 km.",
        "Next",
    ]


def test_what_is_found_breaks_no_rule(tmp_path: Path):
    found = run_mine(write_corpus(tmp_path), tmp_path / "results", best=5)
    contexts = list(read_contexts(found.path))
    assert [f for f in check(contexts) if f.rule != "duplicate"] == []
    kinds = {(c.word, c.kind) for c in contexts}
    assert kinds == {(w, k) for w in WORDS for k in ("probe", "hyponym")} | {("birds", "hypernym")}
    # One probe for each word (it is the same sentence), five of the birds.
    assert sum(c.kind == "probe" for c in contexts) == len(WORDS)
    assert sum(c.word == "birds" for c in contexts) == 5
    assert found.counts.set_index("kind")["n_words"].to_dict() == {
        "hypernym": 1, "hyponym": len(WORDS), "probe": len(WORDS),
    }  # fmt: skip


def test_processes_and_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_corpus(tmp_path)
    expected = run_mine(path, tmp_path / "a", best=5).path.read_bytes()
    monkeypatch.setattr(corpus, "CHUNK_BYTES", 2000)
    assert run_mine(path, tmp_path / "b", best=5, processes=3).path.read_bytes() == expected
    assert run_mine(path, tmp_path / "c", best=5, seed=1).path.read_bytes() != expected


def test_a_killed_search_ends_at_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_corpus(tmp_path, n=2000)
    expected = run_mine(path, tmp_path / "whole").path.read_bytes()
    monkeypatch.setattr(corpus, "PIECE_BYTES", 20_000)
    child = os.fork()
    if not child:
        os.setsid()  # with the processes that it starts
        run_mine(path, tmp_path / "results")
        os._exit(0)
    wait_until(child, lambda: list(tmp_path.glob("results/*/cells/*.parquet")))
    os.killpg(child, signal.SIGKILL)
    assert end_of(child) == -signal.SIGKILL
    assert not list(tmp_path.glob("results/*/contexts.tsv"))
    done = {cell: cell.stat().st_mtime_ns for cell in tmp_path.glob("results/*/cells/*.parquet")}
    assert run_mine(path, tmp_path / "results").path.read_bytes() == expected
    assert all(cell.stat().st_mtime_ns == time for cell, time in done.items())


def test_a_finished_search_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_corpus(tmp_path, n=20)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"An osprey is a bird of prey."))

    def run() -> mine.MineResult:
        corpora = [path, tmp_path / "empty.txt", tmp_path / "packed.txt.gz"]
        return mine.mine(corpora, ["lm-diagnostic-extended"], best=3, results=tmp_path / "results")

    first = run()
    with monkeypatch.context() as patched:
        patched.delattr(mine, "_search_chunk")
        patched.delattr(corpus, "unpacked_size")
        again = run()
    assert again.path == first.path and again.skipped == first.skipped != Skipped()
    assert again.counts.to_dict() == first.counts.to_dict()
    # What was damaged is searched again, and so is a corpus that is another of the same size.
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:-20])
    assert run().path.read_bytes() == whole
    path.write_text(path.read_text().replace("osprey", "plover"))
    assert run().path != first.path


@pytest.mark.parametrize(
    ("options", "named"),
    [({"best": 0}, "--best"), ({"processes": 0}, "--processes"), ({"text_field": ""}, "--field")],
)
def test_options_that_are_none(tmp_path: Path, options: dict[str, object], named: str):
    with pytest.raises(UserError, match=named):
        run_mine(write_corpus(tmp_path), tmp_path / "results", **options)
    assert not (tmp_path / "results").exists()


PACKINGS = (".txt", ".txt.gz", ".txt.xz", ".txt.bz2", ".jsonl", ".jsonl.gz")


@pytest.mark.parametrize("suffix", PACKINGS)
def test_every_packing_reads_the_same(tmp_path: Path, suffix: str):
    lines = ["The first line.", "", "The last line, with an é."]
    if ".jsonl" in suffix:
        data = "\n".join(json.dumps({"text": line}) for line in lines).encode()
    else:
        data = "\n".join(lines).encode()
    packers = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    path = tmp_path / f"a{suffix}"
    path.write_bytes(packers.get(path.suffix, bytes)(data))
    assert list(read_chunks(Piece(path), "text", Skipped())) == ["\n".join(lines)]


@pytest.mark.parametrize("suffix", PACKINGS)
def test_pieces_hold_every_line_once(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "MAX_LINE_BYTES", 40)
    lines = ["a", "", "bé " * 9, "c" * 100, "d" * 39, "e", "f" * 200, "g" * 9]
    texts = [json.dumps({"text": line}) if ".jsonl" in suffix else line for line in lines]
    data = "\n".join(texts).encode()
    path = tmp_path / f"a{suffix}"
    packers = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    path.write_bytes(packers.get(path.suffix, bytes)(data))
    whole = Skipped()
    expected = "\n".join(read_chunks(Piece(path), "text", whole)).split("\n")
    for size in range(1, len(data) + 2):
        monkeypatch.setattr(corpus, "PIECE_BYTES", size)
        monkeypatch.setattr(corpus, "PACKED_PIECE_BYTES", size)
        skipped, advanced = Skipped(), []
        pieces = pieces_of([path])
        chunks = [c for p in pieces for c in read_chunks(p, "text", skipped, advanced.append)]
        assert "\n".join(chunks).split("\n") == expected
        assert skipped.n_long == whole.n_long
        assert len(pieces) == -(-len(data) // size)


def test_bad_bytes_and_long_lines_are_skipped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(corpus, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\n" + b"x" * 5000 + b"\nb\xffd\nalso good\n")
    skipped = Skipped()
    assert list(read_chunks(Piece(path), "text", skipped)) == ["good\nalso good"]
    assert (skipped.n_long, skipped.n_undecodable) == (1, 1)


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path):
    random = os.urandom(50_000).hex()
    text = "\n".join(["The first line.", *(random[i : i + 100] for i in range(0, 99_000, 100))])
    whole = gzip.compress(text.encode())
    path = tmp_path / "a.txt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    skipped = Skipped()
    (chunk,) = read_chunks(Piece(path), "text", skipped)
    assert chunk.startswith("The first line.\n") and len(chunk) > 10_000
    assert "damaged" in skipped.notes[0] and str(path) in skipped.notes[0]


def test_an_empty_file_is_noted(tmp_path: Path):
    (tmp_path / "a.txt").touch()
    skipped = Skipped()
    assert list(read_chunks(Piece(tmp_path / "a.txt"), "text", skipped)) == []
    assert skipped.notes == [f"{tmp_path / 'a.txt'}: empty"]


def test_json_without_the_field_is_named_with_its_line(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n{"body": "x"}\n')
    with pytest.raises(UserError, match=r"a\.jsonl:2: no JSON object with a 'text' field"):
        list(read_chunks(Piece(path), "text", Skipped()))


def test_folders_are_searched_and_missing_ones_named(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.txt").touch()
    (tmp_path / "a.jsonl.gz").touch()
    (tmp_path / "picture.png").touch()
    assert corpus_files([tmp_path]) == [tmp_path / "a.jsonl.gz", tmp_path / "in" / "b.txt"]
    with pytest.raises(UserError, match="no corpus"):
        corpus_files([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no text files"):
        corpus_files([tmp_path / "empty"])


def test_words_of_ones_own(tmp_path: Path):
    """Several words, rivals of the set, no verbs; and what is found goes back as it is."""
    pairs = tmp_path / "own.tsv"
    pairs.write_text("saw\ttool\npipe wrench\ttool\npolka\tdance\nwaltz\tdance\n")
    own = build(pairs=pairs, results=tmp_path / "results")
    text = tmp_path / "corpus.txt"
    text.write_text(
        "On Monday morning we all saw nothing but rain over the dark hills.\n"
        "On Monday morning the rusty saw hung over the bench near the door.\n"
        "On Monday evening the pipe wrench hung over the bench near the door.\n"
        "On Friday evening the polka was louder than any tool in the shed.\n"
        "On Friday evening the polka went on in the square below the tower.\n"
        "On Friday evening they waltz on the square below the old stone tower.\n"
    )
    found = mine.mine(text, str(own.folder / "own.tsv"), results=tmp_path / "results")
    contexts = {(c.word, c.kind): c.sentence for c in read_contexts(found.path)}
    assert {word for word, _ in contexts} == {"saw", "pipe wrench", "polka", "tool"}
    assert "rusty saw" in contexts["saw", "probe"] and "square" in contexts["polka", "probe"]
    again = build(pairs=pairs, contexts=found.path, results=tmp_path / "results")
    prompts = load_set(str(again.folder / "own.tsv")).frame["contextual"].tolist()
    assert prompts == [
        "On Monday morning the rusty [MASK] hung over the bench near the door.",
        "On Monday evening the [MASK] hung over the bench near the door.",
        "On Friday evening the [MASK] went on in the square below the tower.",
        "",
    ]
    assert [f.rule for f in check(list(read_contexts(found.path)))] in ([], ["duplicate"])


def test_another_language_is_not_searched(tmp_path: Path):
    (tmp_path / "t.toml").write_text('language = "la"\nsingular = "{X} est [MASK]."\n')
    pairs = tmp_path / "own.tsv"
    pairs.write_text("aquila\tavis\nquercus\tarbor\n")
    own = build(pairs=pairs, templates=tmp_path / "t.toml", results=tmp_path)
    with pytest.raises(UserError, match="own.tsv is in la, but .* leave it out"):
        mine.mine(pairs, str(own.folder / "own.tsv"), results=tmp_path)
