"""A set of one's own: what is built from each source, what is read back, and what is refused."""

import csv
import time
from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.built import BuiltSets, build
from hyperprobe.diagnostic.review import form_doubts
from hyperprobe.diagnostic.sets import DiagnosticSet, default_article, load_set
from hyperprobe.diagnostic.templates import Noun, Templates, as_toml, read_templates
from hyperprobe.errors import UserError
from hyperprobe.lexicon.taxonomy import path_up

PAIRS = "robin\tbird\nwren\tbird\noak\ttree\nash tree\ttree\nchair\tfurniture\n"
EDGES = """child\tparent
thing\tall
animal\tall
bird\tanimal
robin\tbird
snow goose\tbird
goose\tbird
pet\tanimal
goose\tpet
chair\tthing
lamp\tthing
toy duck\tthing
toy duck\tanimal
all\t""".removesuffix("\nall\t")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def built(tmp_path: Path, pairs: str | bytes | Path = "", name: str = "own.tsv", **options: object):
    """The built set read back, what was built, and the review."""
    given = dict(options)
    if isinstance(pairs, Path):
        given["pairs"] = pairs
    elif pairs:
        path = tmp_path / name
        path.write_bytes(pairs if isinstance(pairs, bytes) else pairs.encode())
        given.setdefault("pairs", path)
    made = build(results=tmp_path / "results", **given)
    path = made.folder / f"{made.settings['name']}.tsv"
    return load_set(str(path)), made, review_of(made)


def review_of(made: BuiltSets) -> pd.DataFrame:
    path = made.folder / f"{made.settings['name']}.review.tsv"
    table = pd.read_csv(path, sep="\t", keep_default_na=False, quoting=csv.QUOTE_NONE)
    return table.set_index("noun")


def taxonomy(tmp_path: Path, text: str = EDGES, **options: object):
    path = tmp_path / "edges.tsv"
    path.write_text(text)
    return built(tmp_path, taxonomy=path, **options)


def prompts(one: DiagnosticSet, column: str = "singular") -> list[str]:
    return one.frame[column].tolist()


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


# -- a taxonomy -------------------------------------------------------------------------------


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


# -- templates --------------------------------------------------------------------------------


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


# -- the review -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "doubt"),
    [
        ("robin", None), ("hammer", None), ("berry", None), ("claw hammer", None), ("fox", None),
        ("sheep", "same as the singular"), ("bacterium", "plural: bacteria?"), ("piano", "-o?"),
        ("hour", "article: an?"), ("unicorn", "article: a?"), ("European", "article: a?"),
        ("NGO", "article: an?"), ("x-ray", "article: an?"), ("furniture", "mass noun"),
        ("tendinitis", "a mass noun?"), ("glass of wine", "of which of its words"),
        ("Lego brick", "capital letter"), ("type_2", "other characters"),
        ("pliers", "same as the singular"),
    ],
)  # fmt: skip
def test_doubtful_forms_are_marked(word: str, doubt: str | None):
    found = "; ".join(form_doubts(Noun.english(word)))
    assert doubt in found if doubt else found == ""
    assert list(form_doubts(Noun.english(word), {f"{word} plural", f"{word} article"})) == [
        one for one in found.split("; ") if one.startswith("spelling")
    ]


def test_items_to_look_at(tmp_path: Path):
    text = "robin\tbird\nsnowbird\tbird\ntree sparrow\tbird\noak\ttree\nblorpf\ttree\n"
    _, _, review = built(tmp_path, text)
    marks = review["check_item"]
    assert marks["snowbird"].startswith("spells its category")
    assert "spells another category: tree" in marks["tree sparrow"]
    assert "2 senses as a noun" in marks["robin"] and "not in wordfreq" in marks["blorpf"]
    assert review["role"].tolist().count("category") == 2
