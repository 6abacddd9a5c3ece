"""Templates: another language end to end, and files of them that are wrong."""

from pathlib import Path

import pytest

from hyperprobe.built import build
from hyperprobe.diagnostic.templates import Noun, Templates, as_toml, read_templates
from hyperprobe.errors import UserError
from tests.diagnostic.own_sets import EXAMPLES, built


def test_another_language_end_to_end(tmp_path: Path):
    own, _, review = built(
        tmp_path, pairs=EXAMPLES / "deutsch.csv", templates=EXAMPLES / "deutsch.toml"
    )
    rows = own.frame.set_index("hyponym")
    assert rows.loc["Amsel", "singular"] == "Eine Amsel ist ein [MASK]."
    assert rows.loc["Amsel", "plural"] == "Amseln sind [MASK]."
    assert rows.loc["Rose", "singular"] == "Eine Rose ist eine [MASK]."
    assert rows.loc["Apfel", "singular"] == "Ein Apfel ist [MASK]."  # Obst takes no article
    assert own.noun("Birne") == Noun("Birne", "Birnen", "eine")
    assert own.noun("Ding") == Noun("Ding", "", "")  # nothing is guessed
    assert own.templates.language == "de" and not review["check_forms"].any()
    assert own.articles == {"ein": 3, "eine": 1, "": 1} and own.common_article == "ein"


def test_forms_that_another_language_needs(tmp_path: Path):
    path = tmp_path / "de.toml"
    path.write_text('language = "de"\nsingular = "{A} {x} ist {b} [MASK]."\n')
    for text, message in (
        ("Amsel\tVogel\nRose\tBlume\n", "line 1: no column hyponym_article, but the template"),
        ("hyponym,hypernym,hyponym_article,hypernym_article\nAmsel,Vogel,eine,ein\nRose,Blume,,x\n",
         "line 3: hyponym_article is empty, but the template '{A} {x} ist"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            built(tmp_path, text, templates=path)
    edges = tmp_path / "edges.tsv"
    edges.write_text("Amsel\tVogel\nRose\tBlume\n")
    with pytest.raises(UserError, match="line 1: no article of 'Amsel', but .* child_article"):
        build(taxonomy=edges, templates=path, results=tmp_path)
    with pytest.raises(UserError, match="WordNet's nouns are English"):
        build(categories=["bird.n.01", "fish.n.01"], templates=path, results=tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('singular = ""\n', "line 1: singular is empty"),
        ('\nsingular = " "\n', "line 2: singular is empty"),
        ('wordings = ["A {x} [MASK].", ""]\n', "wordings is empty"),
        ('singular = "A {x} is a bird."\n', "line 1: singular .* has 0 slots"),
        ('plural = "{xs} [MASK] [MASK]"\n', "has 2 slots"),
        ('singular = "{noun} is a [MASK]."\n', "{noun} is no mark: write {x}, {X}"),
        ('singular = "{x!r} is a [MASK]."\n', "no mark"),
        ('singular = "{} is a [MASK]."\n', "no mark"),
        ('singular = "{x is a [MASK]."\n', "expected '}'"),
        ('singular = "It is a [MASK]."\n', "names no noun"),
        ('noun_free = "{A} {x} is a [MASK]."\n', "is to name no noun"),
        ('singular = "{x} {b} nice [MASK]."\n', "{b} is the article of the answer"),
        (
            '# x\nsingle = "{x} [MASK]."\n',
            "line 2: unknown template 'single': choose from singular",
        ),
        ('language = "de"\n', "no template singular for the language de"),
        ('language = "Deutsch!"\n', "line 1: language must be a code"),
        ("singular = 3\n", "singular: should be a valid string"),
        ('wordings = "x"\n', "wordings: should be a valid list"),
        ("singular =\n", "not TOML"),
        ('wordings = [\n  "The {x} is [MASK].",\n  "The {y} is [MASK].",\n]\n', "line 3: wordings"),
    ],
)
def test_bad_templates_are_named_with_their_line(tmp_path: Path, text: str, message: str):
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_templates(path)


def test_templates_are_written_as_they_are_read(tmp_path: Path):
    path = tmp_path / "t.toml"
    for templates in (
        Templates(),
        Templates(wordings=('"{x}" \\ [MASK]…', "{Xs} [MASK]"), negated=""),
        read_templates(EXAMPLES / "deutsch.toml"),
    ):
        path.write_text(as_toml(templates), encoding="utf-8")
        assert read_templates(path) == templates
