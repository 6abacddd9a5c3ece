"""The tags of the shipped items."""

from pathlib import Path

import pytest

from hyperprobe.diagnostic.build import CATEGORIES, NAMES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.tags import TAGS, load_tags
from hyperprobe.errors import UserError


def test_tags_are_of_items_and_in_order():
    tags = load_tags()
    items = {noun for name in NAMES for noun in load_diagnostic(name)["hyponym"]}
    assert set(tags) < items
    for own in tags.values():
        assert own == tuple(tag for tag in TAGS if tag in own) != ()
    assert {tag for own in tags.values() for tag in own} == set(TAGS)
    assert tags["outbuilding"] == ("spells-category",)
    assert tags["dinghy"] == ("shared-synset", "watercraft")
    assert "robin" not in tags


def test_every_noun_that_spells_its_category_is_tagged():
    tags = load_tags()
    for row in load_diagnostic("lm-diagnostic-extended").itertuples():
        own = tags.get(row.hyponym, ())
        assert ("spells-category" in own) == (row.hypernym in row.hyponym)
        assert ("spells-other" in own) <= any(c in row.hyponym for c in CATEGORIES)
        assert ("watercraft" in own) <= (row.hypernym == "vehicle")
        assert ("business" in own) <= (row.hypernym == "building")


@pytest.mark.parametrize(
    ("text", "message"),
    [("lemma\ttag\nax\tsharp\n", "line 2: no tag 'sharp'"), ("lemma\nax\n", "no column tag")],
)
def test_a_damaged_table_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
):
    (tmp_path / "tags.tsv").write_text(text)
    monkeypatch.setattr("hyperprobe.diagnostic.tags.shipped", lambda name: tmp_path / name)
    with pytest.raises(UserError, match=message):
        load_tags()
