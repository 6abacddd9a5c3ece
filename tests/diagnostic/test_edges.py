"""A taxonomy of one's own: its leaves and their paths, and edges that make none."""

import time
from pathlib import Path

import pytest

from hyperprobe.errors import UserError
from hyperprobe.lexicon.taxonomy import path_up
from tests.diagnostic.own_sets import taxonomy


def test_leaves_of_a_taxonomy_and_its_paths(tmp_path: Path):
    own, made, review = taxonomy(tmp_path)
    # The kinds of the only root are the categories; the toy duck has two right answers.
    assert dict(zip(own.frame["hyponym"], own.frame["hypernym"], strict=True)) == {
        "chair": "thing", "lamp": "thing",
        "robin": "animal", "snow goose": "animal", "goose": "animal",
    }  # fmt: skip
    notes = " ".join(made.notes)
    assert "(toy duck): they are below two categories" in notes
    assert "(goose): they have several parents" in notes
    assert review.loc["goose", "path"] == "bird < animal < all"
    assert own.taxonomy.parents("goose") == ["bird", "pet"]
    assert path_up(own.taxonomy, "goose", "pet") == ["pet", "animal", "all"]
    assert review.loc["snow goose", "plural"] == "snow geese"


def test_categories_of_a_taxonomy_can_be_named(tmp_path: Path):
    own, _, _ = taxonomy(tmp_path, categories=["bird", "thing"])
    assert set(own.frame["hyponym"]) == {
        "robin",
        "snow goose",
        "goose",
        "chair",
        "lamp",
        "toy duck",
    }
    with pytest.raises(UserError, match="'bird' is below the category 'animal'"):
        taxonomy(tmp_path, categories=["animal", "bird"])
    with pytest.raises(UserError, match="'fish' is no node"):
        taxonomy(tmp_path, categories=["fish", "bird"])
    with pytest.raises(UserError, match="'robin' has nothing below it"):
        taxonomy(tmp_path, categories=["robin", "thing"])
    with pytest.raises(UserError, match="one category, 'bird'"):
        taxonomy(tmp_path, categories=["bird"])


def test_a_path_leads_to_the_category(tmp_path: Path):
    text = "duck\tgift\nduck\tbird\ngift\tthing\nwren\tbird\npike\tfish\ncod\tfish\n"
    own, made, review = taxonomy(tmp_path, text, categories=["bird", "fish"])
    assert review.loc["duck", "path"] == "bird" and "(duck): they have several" in made.notes[0]
    assert len(own.frame) == 4


def test_roots_of_a_forest_are_categories(tmp_path: Path):
    own, _, _ = taxonomy(tmp_path, "robin\tbird\nwren\tbird\noak\ttree\nelm\ttree\nrobin\tbird\n")
    assert list(own.categories) == ["bird", "tree"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nb\tc\nx\ty\nc\ta\n", r"line 4: closes a cycle \((a < b < c < a)\)"),
        ("a\ta\n", r"line 1: closes a cycle \(a < a\)"),
        ("a\tb\nc\tb\n", "one category"),
        ("child,parent,child_plural\na,b,as\na,c,aa\n", "line 3: 'a' has the forms 'as' and 'aa'"),
    ],
)
def test_bad_taxonomies_are_named_with_their_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(UserError, match=message):
        taxonomy(tmp_path, text)


def test_a_long_chain_and_a_long_cycle(tmp_path: Path):
    n = 20_000  # deeper than Python's own stack
    chain = "".join(f"n{i}\tn{i + 1}\n" for i in range(n))
    with pytest.raises(UserError, match=r"line 20001: closes a cycle \(n0 < n1 .* \.\.\. < n0\)"):
        taxonomy(tmp_path, chain + f"n{n}\tn0\n")


def test_many_edges_take_linear_time(tmp_path: Path):
    """Five thousand edges in a twentieth of the minute that 100,000 may take, and some seconds."""
    rows = [f"k{i}\tc{i % 40}\n" for i in range(4_960)]
    start = time.process_time()
    own, _, _ = taxonomy(tmp_path, "".join(f"c{i}\troot\n" for i in range(40)) + "".join(rows))
    assert len(own.frame) == 4_960 and time.process_time() - start < 15
