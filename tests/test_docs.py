"""The manual names all that there is: functions, commands and columns."""

import re
from pathlib import Path

import pytest

import hyperprobe as hp
from hyperprobe import registry
from hyperprobe.cli.common import app
from hyperprobe.diagnostic.files import Item
from tests.columns import check_columns, documented

ROOT = Path(__file__).parents[1]


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\.\. auto\w+:: hyperprobe\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(set(hp.__all__) - {"__version__"})


def test_the_readme_says_which_question_each_command_answers():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = {command.name for command in app.registered_commands}
    named = set(re.findall(r"\[`([\w-]+)[^`]*`\]", readme))
    assert commands <= named, commands - named
    assert len(readme.splitlines()) < 80  # a screen


def test_the_columns_of_each_probe_are_documented():
    assert set(documented()) == set(registry.COMMANDS) - {"analyze", "build-diagnostic", "compare"}


def test_a_column_that_is_missing_or_new_is_found():
    page = documented()["pairs"]
    check_columns("pairs", page.always)
    with pytest.raises(AssertionError, match="no column wish of pairs"):
        check_columns("pairs", [*page.always, "wish"])
    with pytest.raises(AssertionError, match="a column score that pairs has not"):
        check_columns("pairs", page.always - {"score"})


def test_the_format_of_a_set_names_every_column():
    page = (ROOT / "docs" / "own-words.md").read_text(encoding="utf-8")
    section = page.split("## The format of a set")[1].split("\n## ")[0]
    cells = "".join(re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE))
    assert sorted(re.findall(r"`(\w+)`", cells)) == sorted(Item.model_fields)


def test_what_to_cite_is_in_one_place_and_another():
    cite = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    found = re.findall(r'url: "(.+)"', cite)
    assert len(found) == 3 and found == re.findall(r"url += \{(.+)\}", page)
    pages = re.findall(r"start: (\d+)\n +end: (\d+)", cite)
    assert pages == re.findall(r"pages += \{(\d+)--(\d+)\}", page)
