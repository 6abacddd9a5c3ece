from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic.build import CATEGORIES, NAMES
from hyperprobe.diagnostic.check import Finding, check
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sentences import (
    Context,
    put_slot,
    read_all,
    read_contexts,
    shipped_files,
    shipped_probes,
)
from hyperprobe.errors import UserError
from hyperprobe.lexicon.morphology import plural

GOOD = "From the hedge the robin sang, then carried a worm to its nest."


def probe(sentence: str, word: str = "robin", category: str = "bird", kind: str = "probe"):
    return Context(word, category, kind, sentence, "file:2")


def rules(*contexts: Context) -> list[str]:
    return [finding.rule for finding in check(contexts)]


def test_a_good_probe_has_no_finding():
    assert check([probe(GOOD)]) == []


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("From the hedge the bird sang, then flew off to its nest.", "once"),
        ("The robin fed another robin on the snowy lawn at dawn.", "once"),
        ("The robins of the garden carried worms to their nests.", "once"),
        ("The robin is the songbird of our garden, and builds a nest.", "category"),
        ("The robin sang from the tree, then carried a worm to its nest.", "category"),
        ("The robin was pecking at fishes left on the wet planks.", "category"),
        ("The robin, or redbreast, carried a worm to its mossy nest.", "synonym"),
        ("High in the hedge a robin sang and guarded its nest.", "article"),
        ("The smallest robin of the brood opened its beak and begged.", "entailment"),
        ("The robin did not leave its nest until the evening came.", "entailment"),
        ("Every morning the robin didn't mind our steps below its nest.", "entailment"),
        ("If the robin sings from its nest, spring has come.", "entailment"),
        ("The robin sang in its nest.", None),
        ("The robin sang.", "length"),
        ("The robin " + "sang and " * 15 + "slept.", "length"),
        ("The robin sang from the hedge above its nest", "encoding"),
        ("The robin sang  from the hedge above its nest.", "encoding"),
        ("The robin sang from the hedge above its ne\u0301st.", "encoding"),
        ("The robin sang from the hedge\u200b above its nest.", "encoding"),
    ],
)
def test_each_rule_finds_its_breach(sentence: str, rule: str | None):
    found = rules(probe(sentence))
    assert rule in found if rule else found == []


@pytest.mark.parametrize("word", ["forest", "nest", "guest", "harvest", "chest", "west"])
def test_nouns_in_est_are_no_superlatives(word: str):
    assert rules(probe(f"The robin carried a worm past the {word} and sang.")) == []


def test_ordinary_sentences_may_say_no_and_take_an_article():
    sentence = "There was not a robin to be heard in the frozen park."
    assert rules(probe(sentence, kind="hyponym")) == []
    assert rules(probe(sentence)) == ["article", "entailment"]
    of_bird = Context(
        "birds", "bird", "hypernym", "In autumn the birds gather on the wires.", "f:1"
    )
    assert check([of_bird]) == []


def test_duplicates_are_found_across_words():
    again = Context("wren", "bird", "probe", GOOD.replace("robin", "wren"), "file:9")
    (finding,) = check([probe(GOOD), again])
    assert finding == Finding("file:9", "duplicate", "nearly the same sentence as file:2")
    same = Context("robin", "bird", "probe", GOOD, "file:9")
    assert check([probe(GOOD), same])[0].message == "the same sentence as file:2"


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), max_size=12))
def test_near_duplicates_are_those_of_all_pairs(sentences: list[list[str]]):
    contexts = [
        Context("robin", "bird", "probe", " ".join(words), str(i))
        for i, words in enumerate(sentences)
    ]
    expected = [
        (str(i), str(j))
        for i in range(len(sentences))
        for j in range(i)
        if (a := set(sentences[i])) | (b := set(sentences[j])) and len(a & b) >= 0.75 * len(a | b)
    ]
    found = [f for f in check(contexts) if f.rule == "duplicate"]
    assert [(f.where, f.message.split()[-1]) for f in found] == expected


def test_a_slot_takes_the_words_place():
    assert (
        put_slot(probe(GOOD)) == f"From the hedge the {SLOT} sang, then carried a worm to its nest."
    )
    hyphens = probe("The robin-like robin sang all day long.")
    assert put_slot(hyphens) == f"The robin-like {SLOT} sang all day long."


HEAD = "word\tcategory\tkind\tsentence\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"word\tsentence\n", "line 1: no column category"),
        (HEAD.encode() + b"robin\tbird\tprobe\n", "line 2: 3 cells where the header has 4"),
        (HEAD.encode() + b"robin\t \tprobe\tThe robin sang.\n", ":2: category is empty"),
        (HEAD.encode(), "a header and no rows"),
        (HEAD.encode() + b"robin\tbird\tproof\tThe robin sang.\n", ":2: kind 'proof'"),
        (HEAD.encode() + b"robin\tbird\tprobe\tThe r\xffbin sang.\n", "line 2: not UTF-8"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "own.tsv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        list(read_contexts(path))
    with pytest.raises(UserError, match="no contexts file"):
        list(read_contexts(tmp_path / "none.tsv"))


def test_the_shipped_sentences_have_no_finding():
    assert [str(finding) for finding in check(read_all(shipped_files()))] == []


def test_every_item_has_a_probe_and_three_more_sentences():
    read = list(read_all(shipped_files()))
    for name in NAMES:
        table = load_diagnostic(name)
        assert table["contextual"].tolist() == [shipped_probes()[w] for w in table["hyponym"]]
        for word in table["hyponym"]:
            own = [c for c in read if c.word == word and c.kind == "hyponym"]
            assert len({c.sentence for c in own}) >= 3, word


def test_every_category_has_enough_sentences_in_both_numbers():
    read = [c for c in read_all(shipped_files()) if c.kind == "hypernym"]
    for category in CATEGORIES:
        for word, enough in ((category, 40), (plural(category), 20)):
            sentences = {c.sentence for c in read if c.word == word and c.category == category}
            assert len(sentences) >= (enough if category != "fish" else 40), word
