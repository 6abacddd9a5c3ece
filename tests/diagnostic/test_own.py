"""A set of one's own of pairs and of WordNet: what is built, what is read back, what is refused."""

from pathlib import Path

import pytest

from hyperprobe.built import build
from hyperprobe.diagnostic.sets import default_article, load_set
from hyperprobe.diagnostic.templates import Noun
from hyperprobe.errors import UserError
from hyperprobe.lexicon.taxonomy import path_up
from tests.diagnostic.own_sets import EXAMPLES, PAIRS, built, prompts, taxonomy

# -- pairs ------------------------------------------------------------------------------------


def test_pairs_are_filled_in(tmp_path: Path):
    own, _, _ = built(tmp_path, PAIRS)
    assert prompts(own) == [
        "A robin is a [MASK].",
        "A wren is a [MASK].",
        "An oak is a [MASK].",
        "An ash tree is a [MASK].",
        "A chair is [MASK].",
    ]
    assert prompts(own, "plural")[-2:] == ["Ash trees are [MASK].", "Chairs are [MASK]."]
    assert prompts(own, "negated")[0] == "A robin is not a [MASK]."
    assert own.categories["furniture"] == Noun("furniture", "furniture", "")
    # The only sense of robin below a sense of bird is not the one: there are two robins.
    nodes = own.frame.set_index("hyponym")["synset"]
    assert nodes["wren"] == "wren.n.02" and nodes["chair"] == "chair.n.01"


@pytest.mark.parametrize(
    "text",
    [
        "hyponym,hypernym\n" + PAIRS.replace("\t", ","),
        PAIRS.replace("\t", ", "),
        "Hypernym;Hyponym\n" + "".join(
            ";".join(reversed(line.split("\t"))) + "\n" for line in PAIRS.splitlines()
        ),
        b"\xef\xbb\xbf" + PAIRS.replace("\n", "\r\n").encode(),
        "hyponym\thypernym\tmine\n" + PAIRS.replace("\n", "\tx\n") + "\n\n",
        '"robin","bird"\n' + PAIRS.replace("\t", ",").removeprefix("robin,bird\n"),
        PAIRS + "robin\tbird\n",
    ],
)  # fmt: skip
def test_a_table_is_recognised(tmp_path: Path, text: str | bytes):
    own, made, _ = built(tmp_path, text)
    assert own.frame["hyponym"].tolist() == ["robin", "wren", "oak", "ash tree", "chair"]
    assert any("twice" in note for note in made.notes) == (text == PAIRS + "robin\tbird\n")


def test_a_comma_in_a_cell_of_tabs_or_quotes_is_no_separator(tmp_path: Path):
    own, _, _ = built(tmp_path, PAIRS + "wine, red\ttree\n")
    assert own.frame["hyponym"].tolist()[-1] == "wine, red"
    own, _, _ = built(tmp_path, PAIRS.replace("\t", ",") + '"wine, red",tree\n')
    assert own.frame["hyponym"].tolist()[-1] == "wine, red"


def test_forms_that_are_given_stand(tmp_path: Path):
    header = "hyponym\thypernym\thyponym_plural\thypernym_article\tgroup\n"
    rows = "pike\tfish\tpike\t\tg\noak\ttree\t\t\tg\nherb\tplant\t\tthe\th\n"
    own, _, review = built(tmp_path, header + rows)
    assert prompts(own) == ["A pike is a [MASK].", "An oak is a [MASK].", "A herb is the [MASK]."]
    assert prompts(own, "plural") == ["Pike are [MASK].", "Oaks are [MASK].", "Herbs are [MASK]."]
    assert own.frame["group"].tolist() == ["g", "g", "h"]
    assert review["check_forms"]["pike"] == "" and "article: a?" in review["check_forms"]["herb"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "is empty"),
        ("robin\n", "line 1: one column"),
        ("robin\tbird\tx\n", "line 1: 3 columns without a header"),
        ("hyponym\tkind\n", "line 1: no column hypernym"),
        ("hyponym\thypernym\n", "a header and no rows"),
        ("hyponym\thypernym\thypernym\n", "two columns are called 'hypernym'"),
        (PAIRS + "owl\n", "line 6: 1 cells, not 2: separate them by single tabs"),
        (PAIRS + "owl,bird\n", "line 6: 1 cells, not 2"),
        (PAIRS + "\tbird\n", "line 6: hyponym is empty"),
        (PAIRS + "robin\ttree\n", "line 6: 'robin' is in two categories, 'bird' .line 1. and"),
        (PAIRS + "bird\tanimal\n", "line 6: 'bird' is the category of line 1"),
        (PAIRS + "owl\towl\n", "line 6: 'owl' is its own hypernym"),
        (PAIRS + "o\0wl\tbird\n", "line 6: 'o.x00wl' holds control characters"),
        ("robin\tbird\nwren\tbird\n", "all pairs have one hypernym, 'bird'"),
        ('robin,bird\n"oak,tree\n', "line 2: .* close its quotes"),
        ("a,b,bird\n", "line 1: 3 columns without a header"),
        ("robin,bird\nwine, red,drink\n", "line 2: 3 cells, not 2: .* quote a cell"),
        ("hyponym,hypernym,synset\nrobin,bird,robin.n.77\noak,tree,\n",
         "line 2: synset 'robin.n.77': no noun synset of WordNet: choose from robin.n.01"),
        ("hyponym,hypernym,hypernym_plural\nrobin,bird,birds\nwren,bird,birdies\noak,tree,\n",
         "line 3: 'bird' has another hypernym_plural in line 2"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)  # fmt: skip
def test_bad_pairs_are_named_with_their_line(tmp_path: Path, text: str | bytes, message: str):
    with pytest.raises(UserError, match=message):
        built(tmp_path, text)
    assert not (tmp_path / "results").exists()


# -- WordNet ----------------------------------------------------------------------------------


def test_categories_of_wordnet(tmp_path: Path):
    chosen = ["fruit.n.01", "furniture.n.01", "instrument=musical_instrument.n.01"]
    own, _, review = built(tmp_path, categories=chosen, size=90)
    assert len(own.frame) == 90 and own.name.endswith("fruit-furniture-instrument.tsv")
    assert own.frame["hypernym"].value_counts().min() >= 20
    for word, synset in {"fruit": "fruit.n.01", "instrument": "musical_instrument.n.01"}.items():
        nodes = own.frame.loc[own.frame["hypernym"] == word, "synset"]
        assert all(synset in path_up(own.taxonomy, node, synset) for node in nodes)
    assert (
        review.loc["furniture", "article"] == ""
        and "mass noun" in review["check_forms"]["furniture"]
    )
    assert default_article([own.name]) == "marginal" != default_article(["lm-diagnostic"])


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["fruit", "bird.n.01"], "'fruit': no noun synset of WordNet: choose from fruit.n.01"),
        (["qqq.n.01", "bird.n.01"], "which has no such noun"),
        (["run.v.01", "bird.n.01"], "no noun synset of WordNet"),
        (["=bird.n.01", "fish.n.01"], "write a word before ="),
        (["bird.n.01"], "one category, 'bird'"),
        (["bird.n.01", "bird.n.01"], "one category, 'bird'"),
        (["fruit.n.01", "fruit.n.03"], "another category is called 'fruit' too"),
        (["animal.n.01", "bird.n.01"], "--category bird.n.01 is below animal.n.01"),
        (["robin.n.01", "bird.n.02"], "no noun of one word and one sense"),
    ],
)
def test_categories_that_are_none(tmp_path: Path, categories: list[str], message: str):
    with pytest.raises(UserError, match=message):
        build(categories=categories, results=tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- contexts, names, changes -----------------------------------------------------------------


def test_contexts_become_prompts(tmp_path: Path):
    path = tmp_path / "contexts.tsv"
    rows = [
        "robin\tbird\thyponym\tNo robin was seen.",
        "robin\tbird\tprobe\tThe robin sang.",
        "robin\tbird\tprobe\tLater the robin slept.",
        "oak\tbird\tprobe\tThe oak fell.",
        "birds\tbird\thypernym\tThe birds sang.",
    ]
    header = "word\tcategory\tkind\tsentence\n"
    path.write_text(header + "\n".join(rows) + "\n")
    own, made, _ = built(tmp_path, PAIRS, contexts=path)
    assert prompts(own, "contextual") == ["The [MASK] sang.", "", "", "", ""]
    assert "1 of 5 nouns have a context sentence" in made.notes
    path.write_text(header + "robin\tbird\tprobe\tA robin saw a robin.\n")
    with pytest.raises(UserError, match="contexts.tsv:2: 'robin' occurs 2 times"):
        built(tmp_path, PAIRS, contexts=path)


def test_a_corrected_set_is_read_and_not_overwritten(tmp_path: Path):
    own, made, _ = built(tmp_path, PAIRS)
    path = made.folder / "own.tsv"
    path.write_text(path.read_text().replace("oaks", "oaken"))
    corrected = load_set(str(path))
    assert corrected.noun("oak").plural == "oaken" and corrected.digest != own.digest
    assert "Oaken are [MASK]." in prompts(corrected, "plural")
    with pytest.raises(UserError, match=r"own\.tsv was changed since it was built"):
        built(tmp_path, PAIRS)


def test_what_lies_beside_a_set_is_part_of_it(tmp_path: Path):
    own, made, _ = taxonomy(tmp_path)
    folder = made.folder
    (folder / "edges.templates.toml").write_text('singular = "{A} {x} counts as {b} [MASK]."\n')
    other = load_set(own.name)
    assert prompts(other)[0] == "A chair counts as a [MASK]." and other.digest != own.digest
    (folder / "edges.templates.toml").unlink()
    assert load_set(own.name).digest == own.digest
    edges = folder / "edges.taxonomy.tsv"
    edges.write_text(edges.read_text().replace("robin", "wren"))
    with pytest.raises(UserError, match="'robin': 'robin' is no node of .*edges.taxonomy.tsv"):
        load_set(own.name)


def test_options_that_do_not_go_together(tmp_path: Path):
    pairs = tmp_path / "p.tsv"
    pairs.write_text(PAIRS)
    for options, message in (
        ({"names": ["lm-diagnostic"], "pairs": pairs}, "'lm-diagnostic': the sets that ship"),
        ({"pairs": pairs, "categories": ["bird.n.01"]}, "leave --taxonomy and --category out"),
        ({"templates": EXAMPLES / "deutsch.toml"}, "no words"),
        ({"pairs": pairs, "name": "a/b"}, "--name 'a/b'"),
        ({"pairs": pairs, "name": "lm-diagnostic"}, "--name 'lm-diagnostic'"),
        ({"pairs": pairs, "size": 1}, "--size 1 is out of range"),
        ({"pairs": tmp_path / "none.tsv"}, "no pairs .*none.tsv"),
    ):
        with pytest.raises(UserError, match=message):
            build(results=tmp_path / "results", **options)
