"""The review beside a set: forms that are doubtful, and items to look at."""

from pathlib import Path

import pytest

from hyperprobe.diagnostic.review import form_doubts
from hyperprobe.diagnostic.templates import Noun
from tests.diagnostic.own_sets import built


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
