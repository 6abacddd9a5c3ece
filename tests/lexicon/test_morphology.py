import csv
from importlib.resources import files

import pytest

from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.lexicon.morphology import indefinite_article, plural


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("robin", "robins"), ("trout", "trout"), ("salmon", "salmon"), ("aircraft", "aircraft"),
        ("goose", "geese"), ("secateurs", "secateurs"), ("titmouse", "titmice"),
        ("saman", "samans"),
        ("merchantman", "merchantmen"), ("adz", "adzes"), ("penknife", "penknives"),
        ("chateau", "chateaux"), ("goldfish", "goldfish"), ("butterfly", "butterflies"),
        ("mosquito", "mosquitoes"), ("bistro", "bistros"), ("spacecraft", "spacecraft"),
    ],
)  # fmt: skip
def test_plurals(noun: str, many: str):
    assert plural(noun) == many


@pytest.mark.parametrize(
    ("word", "article"),
    [("hour", "an"), ("unicorn", "a"), ("insect", "an"), ("eucalypt", "a"), ("robin", "a"),
     ("owl", "an"), ("unicycle", "a"), ("heron", "a"), ("ewe", "a")],
)  # fmt: skip
def test_articles_go_by_sound(word: str, article: str):
    assert indefinite_article(word) == article


def test_no_plural_of_the_extended_set_is_a_known_mistake():
    many = set(load_diagnostic("lm-diagnostic-extended")["hyponym_plural"])
    assert not {
        word for word in many if word.endswith(("crafts", "sss", "fishs", "fishes", "zzes"))
    }
    assert {"aircraft", "spacecraft", "hovercraft", "goldfish", "butterbeans"} <= many


def test_the_exceptions_say_something_that_the_library_does_not():
    import inflect

    engine = inflect.engine()
    path = files("hyperprobe.data") / "tables" / "irregular_nouns.tsv"
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert len({row["noun"] for row in rows}) == len(rows)
    for row in rows:
        library = (engine.a(row["noun"]).split()[0], engine.plural_noun(row["noun"]))
        assert library != (row["article"], row["plural"]), row
