"""The tutorials of the manual: what they write and run works, and what they show comes out."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Within
from tests.pages import Shown, blocks, execute, shortened

FOLDER = Path(__file__).parents[1] / "docs"
FIRST = "tutorials/first-run"
# Pages that go on from the first run, and pages that begin in an empty folder.
LATER = ("python", "tutorials/paper-table", "tutorials/report")
OTHERS = sorted(
    {f"tutorials/{page.stem}" for page in FOLDER.glob("tutorials/*.md")} - {FIRST, *LATER}
)


@pytest.fixture(scope="module", autouse=True)
def as_a_user(all_vectors: Within) -> Iterator[None]:
    """With all baselines."""
    with all_vectors():
        yield


def follow(name: str, folder: Path) -> None:
    shown = list(execute((FOLDER / f"{name}.md").read_text(encoding="utf-8"), folder))
    assert shown
    for one in shown:
        assert one.agree, (
            f"{name}.md, {one.asked}\nshows\n{one.wanted}\nbut this comes out\n{one.got}"
        )


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first-run")


def test_the_first_run(first_run: Path):
    follow(FIRST, first_run)


@pytest.mark.parametrize("name", LATER)
def test_what_goes_on_from_the_first_run(name: str, first_run: Path, tmp_path: Path):
    if not list(first_run.iterdir()):  # this test alone was asked for
        follow(FIRST, first_run)
    follow(name, shutil.copytree(first_run, tmp_path / "here"))


@pytest.mark.parametrize("name", OTHERS)
def test_a_tutorial(name: str, tmp_path: Path):
    follow(name, tmp_path)


def test_blocks_are_files_commands_and_expressions(tmp_path: Path):
    page = (
        "`a/b.txt`, a file:\n\n```text\none\n```\n\n```console\n$ cat a/b.txt\ntwo\n$ echo 3\n...\n"
        "```\n\n```python\nx = 4\n```\n\n```pycon\n>>> x\n4\n>>> x + 1\n4\n```\n"
    )
    assert [block.language for block in blocks(page)] == ["text", "console", "python", "pycon"]
    shown = list(execute(page, tmp_path))
    assert [one.got for one in shown] == ["one\n", "3\n", "4\n", "5\n"]
    assert [one.agree for one in shown] == [False, True, True, False]


def test_what_comes_out_is_shortened_as_it_was():
    shown = Shown("$ x", "a\n\n...\nend in runs-...\n", "b \n\nc\nd\nend in runs-1\n\n")
    assert not shown.agree and shortened(shown) == "b\n\n...\nend in runs-1\n"
    assert shortened(Shown("$ x", "a\n...\n", "b\nc\nd\n")) == "b\n...\n"
    assert shortened(Shown("$ x", "a\n", "b\n\nc \n")) == "b\n\nc\n"
