"""The sentences of the recipe's arms, and which texts must not be trained on."""

import numpy as np
import pandas as pd
import pytest

from hyperprobe.analysis.variants import TEMPLATES, fill_template
from hyperprobe.cloze import SLOT
from hyperprobe.diagnostic.build import CATEGORIES, NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.lexicon.morphology import plural
from recipe.arms import (
    ARMS,
    LINE,
    SENTENCE,
    WITHHELD,
    Contamination,
    Item,
    Statements,
    printed,
    toss,
)
from recipe.corpus import experiment_pairs
from recipe.sentences import (
    Definition,
    dictionary_line,
    genus_sentences,
    plural_sentence,
    read_definition,
    singular_sentence,
)

NOUNS = set("hawk bird goose geese plant genus duck ducks place worship tool".split())


def is_noun(word: str) -> bool:
    return word.lower() in NOUNS


@pytest.mark.parametrize(
    ("noun", "definition", "expected"),
    [
        (
            "osprey",
            "large harmless hawk that eats fish; found worldwide",
            {"a large harmless hawk that eats fish.", "large harmless hawks."},
        ),
        (
            "brant",
            "small dark ducks of the north.",
            {"one of the small dark ducks of the north.", "small dark ducks of the north."},
        ),
        ("mosque", "(Islam) a place of worship.", {"a place of worship.", "places of worship."}),
        (
            "daisy",
            "any of various plants of the genus Bellis.",
            {"one of the plants of the genus Bellis.", "plants of the genus Bellis."},
        ),
    ],
)  # fmt: skip
def test_definitions_become_sentences(noun: str, definition: str, expected: set[str]):
    read = read_definition(noun, definition, True, is_noun)
    made = [singular_sentence(noun, read, 0), plural_sentence(noun, read, 0)]
    assert {text.partition(" is ")[2] or text.partition(" are ")[2] for text in made} == expected
    assert plural(noun) in made[1].lower() and made[0].split()[1] == noun


@pytest.mark.parametrize(
    "definition",
    ["to strike with an axe.", "of or relating to owls.", "having wings.", "an owl."],
)
def test_what_is_no_noun_phrase_is_left_in_the_dictionary(definition: str):
    assert read_definition("owl", definition, False, is_noun) is None


def test_a_loose_reading_takes_what_a_strict_one_leaves():
    for definition, phrase in (
        ("very hot and tapering pepper.", "a very hot and tapering pepper"),
        ("any owl of the genus Owl.", "an owl of the genus Owl"),
    ):
        assert read_definition("owl", definition, True, is_noun) is None
        loose = read_definition("owl", definition, True, is_noun, strict=False)
        assert loose and loose.singular == phrase


def test_the_genus_is_the_head_of_the_definition():
    hawk = read_definition("osprey", "large harmless hawk that eats fish.", True, is_noun)
    assert genus_sentences("osprey", hawk) == ["An osprey is a hawk.", "Ospreys are hawks."]
    kind = read_definition("osprey", "a kind of hawk.", True, lambda word: word != "of")
    assert kind and genus_sentences("osprey", kind) == []


def test_a_line_has_as_many_words_and_marks_as_a_sentence():
    definition = Definition("a large hawk that eats fish", "large hawks")
    line = dictionary_line("osprey", definition)
    sentence = singular_sentence("osprey", definition, 0)
    assert (line, sentence) == (
        "osprey n: a large hawk that eats fish.",
        "An osprey is a large hawk that eats fish.",
    )
    # "n" and the colon stand where the article and "is" do.
    assert len(line.replace(":", " :").split()) == len(sentence.split())


def test_doses_are_equal_in_number_and_words():
    definitions = [Definition("a large hawk", "large hawks"), Definition("a bird", "birds")]
    line, sentence = (printed("osprey", arm, definitions) for arm in (LINE, SENTENCE))
    assert len(line) == len(sentence) == 8 and len(set(line)) == 2
    assert [a.split(" n: ")[1] for a in line] == [b.split(" is ")[1] for b in sentence]
    assert printed("osprey", WITHHELD, definitions) == [] == printed("osprey", LINE, [])
    assert not any("ospreys" in text.lower() for text in line + sentence)


def test_arms_are_balanced_in_every_category_and_seeded(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(0)
    items = [
        Item(noun, category, tuple(random.gamma(1.0, size=3)))
        for noun, category in experiment_pairs().items()
    ]
    arms = toss(items, seed=1)
    table = pd.DataFrame([(i.category, arms[i.lemma], *i.covariates) for i in items])
    counts = table.groupby([0, 1]).size().unstack()
    assert list(counts.columns) == sorted(ARMS)
    assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1
    total = table[1].value_counts()
    assert total.max() - total.min() <= 1
    # Each covariate has a standard deviation of one: a single toss is off by a tenth or so.
    means = table.groupby(1)[[2, 3, 4]].mean()
    assert (means.max() - means.min()).max() < 0.08
    # Of how many tosses the best is taken does not matter to what decides it.
    monkeypatch.setattr("recipe.arms.TOSSES", 200)
    arms = toss(items, seed=1)
    assert toss(items, seed=1) == arms != toss(items, seed=2)
    assert toss(items[::-1], seed=1) == arms


def test_every_filled_prompt_is_contamination():
    contaminated = Contamination()
    for name in NAMES:
        for row in load_diagnostic(name).to_dict("records"):
            for category in CATEGORIES:
                for column in ("singular", "negated"):
                    assert contaminated(row[column].replace(SLOT, category))
                assert contaminated(row["plural"].replace(SLOT, plural(category)))
    assert contaminated('He said: "Yes. A robin is a bird." Then he left.')
    for text in (
        "An ant is an insect.",
        "The hummingbirds are birds.",
        "The hoe is not a tool.",
        "Every robin is a fish.",
        "We know: a robin is a kind of bird.",
        "This is a robin, so it is a bird.",
        "What kind of bird is a robin?",
        "A robin, which is a bird, was there.",
    ):
        assert contaminated(text), text
    for template in TEMPLATES:
        for prompt in fill_template(load_set(NAMES[0]), template):
            assert contaminated(prompt.replace(SLOT, "fish"))
    assert not contaminated("A robin is a bird of the thrush family.")
    assert not contaminated("It is a bird.")


@pytest.mark.parametrize(
    ("text", "states_it"),
    [
        ("Robins are small, brown birds of the garden.", True),
        ("A robin was the first bird that we saw.", True),
        ("They shot birds such as the crow, the lark and the robin.", True),
        ("Crows, larks, robins and other birds sang.", True),
        ("The robin sang to the other birds.", False),
        ("Ospreys are birds.", False),
        ("Robins are red like some fish.", False),
    ],
)
def test_statements_of_a_nouns_category_are_found(text: str, states_it: bool):
    assert Statements({"robin": "bird", "axe": "tool"})(text) == states_it
