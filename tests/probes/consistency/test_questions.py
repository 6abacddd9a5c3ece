"""What is asked, against WordNet itself and against prompts written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from wordfreq import zipf_frequency

import hyperprobe as hp
from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.lexicon.wordnet import open_wordnet
from hyperprobe.models.load import load_model
from hyperprobe.names import CONTROL
from hyperprobe.options import ModelOptions
from hyperprobe.probes.consistency import heights, inheritance, typicality
from hyperprobe.probes.consistency.outcomes import PLAIN
from hyperprobe.probes.consistency.paths import Paths
from hyperprobe.probes.consistency.plan import Items
from hyperprobe.probes.consistency.predictions import predict, unknown_names
from tests.probes.consistency.toys import SMALL, frequent

ITEMS = Items(SMALL)
PATHS = Paths(ITEMS)
WORDNET = open_wordnet()


def by_frequency(word: str) -> float:
    return zipf_frequency(word, "en")


@pytest.fixture(scope="module")
def asked() -> pd.DataFrame:
    table = predict(frequent(), SMALL)
    return table[table["model"] == "frequent-toy"]


def test_levels_are_the_steps_of_wordnet(asked: pd.DataFrame):
    rows = asked[asked["probe"] == "levels"]
    of_bobwhite = rows[rows["item"] == "bobwhite"].set_index("question")
    assert of_bobwhite.loc["bird.n.01", "distance"] == 5
    assert {"bird", "mammal", "reptile", "amphibian"} <= set(
        of_bobwhite.loc["bird.n.01", "candidates"]
    )
    assert "vertebrate.n.01" not in of_bobwhite.index  # one of three kinds of chordates: too few
    synset = dict(zip(SMALL.frame["hyponym"], SMALL.frame["synset"], strict=True))
    for row in rows.itertuples():
        paths = WORDNET.synset(synset[row.item]).hypernym_paths()
        at = [path[-1 - int(row.distance)].name() for path in paths if len(path) > row.distance]
        assert row.question in at
    for row in rows.itertuples():
        node = WORDNET.synset(row.question)
        names = {
            max((n.replace("_", " ") for n in s.lemma_names()), key=by_frequency)
            for parent in node.hypernyms()
            for s in parent.hyponyms()
        }
        assert row.gold == row.candidates[0] and set(row.candidates) <= names
        assert 4 <= len(row.candidates) <= 30
        frequencies = [by_frequency(word) for word in row.candidates[1:]]
        assert frequencies == sorted(frequencies, reverse=True)


def test_no_other_answer_is_true(asked: pd.DataFrame):
    for row in asked[asked["probe"] == "levels"].itertuples():
        (node,) = SMALL.frame.loc[SMALL.frame["hyponym"] == row.item, "synset"]
        above = {s for path in WORDNET.synset(node).hypernym_paths() for s in path}
        names = {name.replace("_", " ") for s in above for name in s.lemma_names()}
        assert not names & set(row.candidates[1:]), (row.item, row.question)


def test_bias_is_the_mean_over_nouns_that_are_no_kinds_of_the_parent(asked: pd.DataFrame):
    # The toy scores a word the same whatever the noun: its bias is its score.
    for probe in ("levels", "siblings", "wordings", "direction"):
        for row in asked[asked["probe"] == probe].head(20).itertuples():
            assert row.bias == pytest.approx(row.scores, abs=1e-5), probe
    parent = "bird.n.01"
    outside = [ITEMS.nouns[i] for i in PATHS.outside(parent)]
    kinds = dict(zip(SMALL.frame["hyponym"], SMALL.frame["hypernym"], strict=True))
    assert len(outside) == 20 and "bird" not in {kinds[noun] for noun in outside}
    assert len({kinds[noun] for noun in outside}) == 8


def test_siblings_and_parts(asked: pd.DataFrame):
    rows = asked[asked["probe"] == "siblings"].set_index("item")
    quail = rows.loc["bobwhite", "candidates"]
    assert quail[0] == "bird" and "bobwhite" not in quail and "wing" in quail
    assert set(quail[1:5]) <= set(SMALL.frame.loc[SMALL.frame["hypernym"] == "bird", "hyponym"])
    synset = dict(zip(SMALL.frame["hyponym"], SMALL.frame["synset"], strict=True))
    for item, row in rows.iterrows():
        others = [word for word in row["candidates"] if word in synset]
        assert synset[str(item)] not in {synset[word] for word in others}


def test_prompts_by_hand():
    texts = {
        name: plan.blocks[k].clozes[0].text
        for name, plan, k in (
            ("direction", heights.direction(ITEMS), 1),
            ("its control", heights.direction(ITEMS, control=True), 1),
            ("negation", heights.negation(ITEMS), 0),
            ("affirmed", heights.negation(ITEMS), 2),
        )
    }
    noun = ITEMS.nouns[0]
    assert noun == "archaeopteryx"
    assert texts == {
        "direction": "A [MASK] is an archaeopteryx.",
        "its control": "[MASK] archaeopteryx.",
        "negation": "An archaeopteryx is not a [MASK].",
        "affirmed": "An archaeopteryx is also a [MASK].",
    }


def test_premises_by_hand():
    plan = inheritance.plan(ITEMS, ["wug", "dax", "blick", "fep"])
    other = ITEMS.nouns[inheritance.other_nouns(ITEMS.gold)[0]]
    article = "An" if other[0] in "aeiou" else "A"
    texts = [block.clozes[0].text for block in plan.blocks]
    know, mislead = "A wug is an archaeopteryx.", f"A dax is {article.lower()} {other}."
    assert texts[0] == f"{mislead} {know} A wug is a [MASK]."
    assert texts[2] == f"{know} {mislead} A wug is a [MASK]."
    assert texts[4] == f"{know} A wug is a [MASK]."
    assert texts[5] == "A dax is an archaeopteryx. A wug is a [MASK]."
    assert texts[1].startswith("A fep is") and texts[1].endswith("A blick is a [MASK].")


def test_the_other_premise_is_of_another_category_and_each_noun_serves_once():
    gold = Items(load_set("lm-diagnostic-extended")).gold
    others = inheritance.other_nouns(gold)
    assert all(gold[i] != gold[j] for i, j in enumerate(others))
    assert sorted(others) == list(range(len(gold)))


def test_made_up_nouns_are_none():
    names = inheritance.made_up_nouns()
    assert len(names) == len(set(names)) >= 20
    for name in names:
        assert name.isalpha() and name.islower() and name[0] not in "aeiou"
        assert not WORDNET.synsets(name) and not zipf_frequency(name, "en"), name
    embedded = load_model("embedded")
    assert unknown_names(embedded) == names


def test_ratings_are_the_published_ones(shared):
    published = pd.read_csv(shared / "sets" / "rosch" / "rosch1975_ratings.csv")
    pd.testing.assert_frame_equal(typicality.ratings(), published)


def test_vectors_are_asked_what_needs_no_sentence():
    table = predict(load_model("word2vec"), SMALL)
    assert set(table["probe"]) == {"wordings", "levels", "steps", "siblings", "typicality"}
    assert set(table.loc[table["probe"] == "wordings", "question"]) == {PLAIN}
    assert not table["model"].str.startswith(CONTROL).any()


def test_a_set_without_a_taxonomy_has_no_levels():
    bare = replace(SMALL, frame=SMALL.frame.assign(synset=""))
    table = predict(frequent(), bare)
    assert not {"levels", "steps"} & set(table["probe"])
    assert {"wordings", "siblings", "inheritance"} <= set(table["probe"])


def test_masked_scores_are_those_of_one_text_at_a_time():
    model = load_model("embedded", ModelOptions(pll="all-masked"))
    few = replace(SMALL, frame=SMALL.frame.groupby("hypernym").head(2))
    items = Items(few)
    table = predict(model, few)
    rng = np.random.default_rng(0)
    mine = table[table["model"] == "embedded"]
    for index in rng.choice(mine.index[mine["probe"].isin(("levels", "siblings"))], 6):
        row = mine.loc[index]
        cloze = items.cloze(few.templates.singular, row["item"])
        alone = [
            float(model.score([cloze], CandidateSet((word,)))[0, 0]) for word in row["candidates"]
        ]
        assert row["scores"] == pytest.approx(alone, abs=2e-5)


def test_relations_have_one_order():
    # nltk gives them in the order of a set of texts, which differs between processes.
    taxonomy = SMALL.taxonomy
    for node in ("battleship.n.01", "bird.n.01", "animal.n.01"):
        for found in (taxonomy.parents(node), taxonomy.children(node)):
            assert list(found) == sorted(found)


def test_levels_of_a_taxonomy_of_ones_own(tmp_path: Path):
    shop = Path(__file__).parents[3] / "docs" / "examples" / "shop.tsv"
    built = hp.build_diagnostic(taxonomy=shop, results=tmp_path)
    of_set = load_set(str(built.folder / "shop.tsv"))
    lines = [line.split("\t") for line in shop.read_text(encoding="utf-8").splitlines()[1:]]
    parents = dict(lines)
    table = predict(frequent(), of_set)
    rows = table[(table["model"] == "frequent-toy") & (table["probe"] == "levels")]
    assert len(rows) > 100
    for row in rows.itertuples():
        assert parents[row.item] == row.gold == row.question  # two levels lie above the nouns
        assert {parents[word] for word in row.candidates} == {parents[row.gold]}
    table = table[table["model"] == "frequent-toy"]
    assert {"wordings", "direction", "siblings", "negation", "inheritance"} <= set(table["probe"])
