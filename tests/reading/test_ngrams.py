"""Words, pairs of them, and buckets: by hand, and as DrQA has them."""

import json
from pathlib import Path

from hyperprobe.reading.ngrams import STOP_WORDS, bucket, ngrams, search_words, tokenise


def test_words_and_marks_stand_where_they_stand():
    tokens = tokenise("Don't go, Kraków!")
    assert [token.text for token in tokens] == ["Don", "'", "t", "go", ",", "Kraków", "!"]
    assert all("Don't go, Kraków!"[t.start : t.end] == t.text for t in tokens)
    assert tokenise(" \u200b\n") == []


def test_pairs_are_adjacent_and_without_function_words():
    words = search_words("Marie Curie was born , Warsaw 1867")
    assert ngrams(words) == [
        "marie", "marie curie", "curie", "born", "warsaw", "warsaw 1867", "1867",
    ]  # fmt: skip
    assert ngrams(search_words("Who is he, and what?")) == []


def test_letters_and_marks_are_taken_apart_before_they_are_hashed():
    # (murmur3 of no bytes with seed 0 is 0)
    assert bucket("") == 0
    assert search_words("KRAKÓW") == ["krako\u0301w"] == search_words("Krako\u0301w")


def test_drqa_has_the_same(shared: Path):
    of_drqa = json.loads((shared / "lama_models/drqa/expected.json").read_text())["retriever"]
    assert set(of_drqa["stop_words"]) == STOP_WORDS
    for text, (_, place) in of_drqa["hash_examples_murmur_and_bucket"].items():
        assert bucket(text) == place
    for text, tokens in of_drqa["token_examples"].items():
        assert [token.text for token in tokenise(text)] == tokens
    for query in of_drqa["queries"]:
        words = search_words(query["query"])
        assert (words, ngrams(words)) == (query["tokens"], query["ngrams"])
        assert [bucket(ngram) for ngram in ngrams(words)] == query.get("hashes", [])
