"""Whatever stands in a file of a set, of contexts, folds, counts or text: a value or one line."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hyperprobe.analysis.corpus_counts import PairCounter, count_pieces, read_pair_counts
from hyperprobe.diagnostic import corpus
from hyperprobe.diagnostic.check import check
from hyperprobe.diagnostic.corpus import Piece, Skipped, read_chunks
from hyperprobe.diagnostic.edges import read_edges
from hyperprobe.diagnostic.own_items import from_pairs, from_taxonomy
from hyperprobe.diagnostic.sentences import read_contexts
from hyperprobe.diagnostic.sets import article_note, load_set
from hyperprobe.diagnostic.templates import Templates, read_templates
from hyperprobe.errors import UserError, one_line
from hyperprobe.lexicon.wordnet import open_wordnet
from hyperprobe.probes.classify.folds import read_folds
from hyperprobe.probes.classify.pairs import COLUMNS as FOLD_COLUMNS
from hyperprobe.runs.files import corpus_digests

PREDICTIONS = pd.DataFrame({"hyponym": ["robin", "oak"], "hypernym": ["bird", "tree"]})
TSV = (
    b"hyponym\thyponym_plural\thypernym\thypernym_plural\tsingular\tplural\tzipf\n"
    b"robin\trobins\tbird\tbirds\tA robin is a [MASK].\tRobins are [MASK].\t3.5\n"
    b"oak\toaks\ttree\ttrees\tAn oak is a [MASK].\tOaks are [MASK].\t\n"
)
JSONL = b"".join(
    b'{"hyponym": "%b", "hyponym_plural": "%bs", "hypernym": "%b", "hypernym_plural": "%bs", '
    b'"singular": "A [MASK].", "plural": "[MASK].", "zipf": 4.5, "group": null}\n' % (w, w, c, c)
    for w, c in ((b"robin", b"bird"), (b"oak", b"tree"))
)
CONTEXTS = (
    b"word\tcategory\tkind\tsentence\n"
    b"robin\tbird\tprobe\tFrom the hedge the robin sang, then carried a worm to its nest.\n"
)
FOLDS = "\t".join(FOLD_COLUMNS).encode() + b"".join(
    b"\nseen\t1\t%b\tg\t%b\t%b\t%d\tThe %b.\tThe %b is no %b."
    % (part, word, category, label, word, category, word)
    for part, word in ((b"train", b"robin"), (b"dev", b"wren"), (b"test", b"owl"))
    for label, category in ((1, b"bird"), (0, b"fish"))
)
COUNTS = b"robin\tbird\t12\noak\ttree\t3\n"
PAIRS = b"hyponym\thypernym\tsynset\nrobin\tbird\trobin.n.01\noak\ttree\t\nash\ttree\t\n"
EDGES = b"child\tparent\tchild_plural\nrobin\tbird\t\noak\ttree\toaks\nelm\ttree\t\n"
TEMPLATES = b'language = "de"\nsingular = "{A} {x} ist {b} [MASK]."\nwordings = ["{x} [MASK]"]\n'
TEXT = b"The robin is a bird. Birds such as robins sing.\nOaks are trees.\n" * 3
LINES = b'{"text": "The robin is a bird."}\n{"text": ""}\n'


def read_corpus(path: Path) -> None:
    corpus_digests([path])
    list(read_chunks(Piece(path), "text", Skipped()))
    count_pieces([Piece(path)], PREDICTIONS, "text")


def read_set(path: Path) -> None:
    article_note(load_set(str(path)))


def read_pairs(path: Path) -> None:
    from_pairs(path, Templates(), open_wordnet())


def read_taxonomy(path: Path) -> None:
    from_taxonomy(read_edges(path), (), Templates())


READERS: list[tuple[str, bytes, Callable[[Path], Any]]] = [
    ("set.tsv", TSV, read_set),
    ("set.jsonl", JSONL, read_set),
    ("pairs.tsv", PAIRS, read_pairs),
    ("pairs.csv", PAIRS.replace(b"\t", b","), read_pairs),
    ("edges.tsv", EDGES, read_taxonomy),
    ("t.toml", TEMPLATES, read_templates),
    ("contexts.tsv", CONTEXTS, lambda path: check(read_contexts(path))),
    ("folds.tsv", FOLDS, read_folds),
    ("counts.tsv", COUNTS, lambda path: read_pair_counts(path, PREDICTIONS)),
    ("counts.tsv.gz", gzip.compress(COUNTS), lambda path: read_pair_counts(path, PREDICTIONS)),
    ("corpus.txt", TEXT, read_corpus),
    ("corpus.jsonl", LINES, read_corpus),
    ("corpus.txt.gz", gzip.compress(TEXT), read_corpus),
    ("corpus.txt.xz", lzma.compress(TEXT), read_corpus),
    ("corpus.txt.bz2", bz2.compress(TEXT), read_corpus),
    ("corpus.jsonl.gz", gzip.compress(LINES), read_corpus),
]
PIECES = [
    b"", b"\t", b"\n", b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"-1", b"1e999", b"NaN", b"null",
    b"{}", b"[[", b"\\ud800", "²".encode(), b"[MASK]", b" ", b"\r", "\u2028".encode(), b"9" * 5000,
    b"[" * 5000, b"x" * 140_000,
]  # fmt: skip
CHANGES = st.tuples(st.integers(0, 10_000), st.integers(0, 12), st.sampled_from(PIECES))


@pytest.mark.parametrize(("name", "valid", "read"), READERS, ids=[name for name, _, _ in READERS])
def test_any_bytes_end_in_a_value_or_a_user_error(
    tmp_path: Path, name: str, valid: bytes, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / name

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read(path)
        except UserError as error:
            assert str(path) in str(error) and len(one_line(str(error))) < 400 + len(str(path))

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=100))
    def any_bytes(content: bytes) -> None:
        attempt(content)

    @settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(CHANGES, max_size=3))
    def mutated(changes: list[tuple[int, int, bytes]]) -> None:
        content = valid
        for place, n_gone, piece in changes:
            start = place % (len(content) + 1)
            content = content[:start] + piece + content[start + n_gone :]
        attempt(content)

    path.write_bytes(valid)
    read(path)
    any_bytes()
    mutated()


@pytest.mark.parametrize("count", ["²", "-1", "1e5", "", "9" * 5000, "1.0", "٣"])
def test_counts_are_numbers(tmp_path: Path, count: str) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text(f"robin\tbird\t1\nrobin\tbird\t{count}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"counts\.tsv:2: write hyponym"):
        read_pair_counts(path, PREDICTIONS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"text": 3}', ":1: text must be a text, not 3"),
        ('{"text": null}', ":1: text must be a text, not None"),
        ('{"body": "a"}', ":1: no JSON object with a 'text' field"),
        ("[1]", ":1: no JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": "\\ud800"}', "lone surrogate"),
        ('{"text": ' + "9" * 5000 + "}", ":1: "),
    ],
)
def test_the_field_of_a_line_is_text(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(line)
    with pytest.raises(UserError) as caught:
        list(read_chunks(Piece(path), "text", Skipped()))
    assert words in str(caught.value)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "FREE_BYTES", 1 << 16)
    path = tmp_path / "corpus.txt.gz"
    for line in (b"a line\n", b"x"):
        path.write_bytes(gzip.compress(line * 300_000))
        with pytest.raises(UserError, match="unpacks to more than 200 times its size"):
            list(read_chunks(Piece(path), "text", Skipped()))


def test_a_damaged_body_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-30:-8] = b"\xff" * 22
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(packed)
    skipped = Skipped()
    list(read_chunks(Piece(path), "text", skipped))
    assert len(skipped.notes) == 1 and "damaged" in skipped.notes[0]


def test_a_category_is_no_pattern() -> None:
    counter = PairCounter({"robin": "bi(rd", "oak": "t*ee"})
    counter.add("a robin is a bi(rd, and an oak is a t*ee, not a ttee")
    assert counter.table()["n_is_a"].tolist() == [1, 1]
