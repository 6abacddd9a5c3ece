import pytest

from hyperprobe.lexicon.morphology import is_mass, is_plural_only, plural
from hyperprobe.lexicon.nouns import is_noun_in, only_noun
from hyperprobe.lexicon.taxonomy import EdgeTaxonomy, below


@pytest.mark.parametrize(
    ("word", "sentence", "is_noun"),
    [
        ("saw", "I saw a robin in the garden.", False),
        ("saw", "He took the old saw from the wall.", True),
        ("saw", "The man that saw it took a saw.", False),  # one of them is a verb
        ("plane", "She used a plane to smooth the door.", True),
        ("plane", "They plane the boards.", False),
        ("file", "Nobody came with file or hammer.", True),
        ("robin", "Nobody fed robin or wren.", True),  # it is nothing but a noun
        ("flowers", "It flowers in May.", False),
        ("flowers", "A vase of flowers stood there.", True),
        ("fish", "In the lake they fish for hours.", False),
        ("pipe wrench", "He had pipe wrench in hand.", True),
        ("drill", "Over the door, drill a hole.", False),
    ],
)
def test_a_word_that_may_be_a_verb_is_a_noun_after_a_determiner(
    word: str, sentence: str, is_noun: bool
):
    assert is_noun_in(word, sentence) == is_noun


def test_words_that_are_nothing_but_nouns():
    assert only_noun("robin") and only_noun("blorpf") and not only_noun("saws")


def test_plurals_of_names_and_of_what_is_one_already():
    assert [plural(name) for name in ("snow goose", "glass of wine", "attorney general")] == [
        "snow geese", "glasses of wine", "attorneys general",
    ]  # fmt: skip
    assert is_mass("office furniture") and is_mass("beachwear") and not is_mass("chair")
    assert is_plural_only("bloomers") and not is_plural_only("dress") and not is_plural_only("bus")


def test_nodes_below_and_cycles():
    edges = [("a", "b"), ("b", "c"), ("d", "c"), ("a", "d"), ("e", "f")]
    tree = EdgeTaxonomy(edges)
    assert below(tree, "c") == ["b", "d", "a"] and tree.roots() == ["c", "f"]
    assert tree.cycle() == [] and sorted(tree.edges) == sorted(edges)
    assert EdgeTaxonomy([*edges, ("c", "a")]).cycle() == ["a", "d", "c", "a"]
