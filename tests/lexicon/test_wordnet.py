import re
import runpy
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hyperprobe.data.files import data_folder
from hyperprobe.diagnostic.build import build_diagnostic
from hyperprobe.errors import UserError
from hyperprobe.lexicon.wordnet import (
    FILES,
    _open,
    count_senses,
    damage_named,
    open_wordnet,
    taxonomy_below,
)


def test_names_and_offsets_are_those_of_wordnet_3():
    wordnet = open_wordnet()
    assert wordnet.get_version() == "3.0"
    # The ImageNet id of the American robin is n01558993.
    assert wordnet.synset("robin.n.02").offset() == 1558993
    assert wordnet.synset("robin.n.02").lexname() == "noun.animal"
    assert [s.name() for s in wordnet.synset("robin.n.02").hypernyms()] == ["thrush.n.03"]
    assert "bird.n.01" in {
        s.name() for path in wordnet.synset("robin.n.02").hypernym_paths() for s in path
    }


def test_no_gloss_travels():
    assert open_wordnet().synset("robin.n.02").definition() == ""


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """What `wordnet_data/extract.py` defines."""
    return runpy.run_path(str(data_folder("wordnet_data") / "extract.py"))


def test_the_lines_of_the_extract(script: dict[str, Any]):
    line = (
        b"00000010 05 n 02 ox 0 kine 1 004 @ 00000099 n 0000 + 00000007 v 0101 ~ 00000200 n 0000 "
        b'%m 00000300 n 0000 | a beast; "an ox | pulls"  \n'
    )
    short = script["shorten_synset"](line)
    kept = b"00000010 05 n 02 ox 0 kine 1 002 @ 00000099 n 0000 ~ 00000200 n 0000 |"
    assert short == kept + b" " * (len(line) - len(kept) - 1) + b"\n"
    index = b"ox n 2 3 @ ~ + 2 1 00000010 00000400  \n"
    assert script["shorten_lemma"](index, "noun") == b"ox n 2 0 2 1 00000010 00000400\n"
    index = b"run v 3 2 @ + 3 1 00000010 00000400 00000500  \n"
    assert script["shorten_lemma"](index, "verb") == b"run v 3 0 3 1 0 0 0\n"


def test_the_extract_of_the_extract_is_the_same(script: dict[str, Any], tmp_path: Path):
    few, again = tmp_path / "few", tmp_path / "again"
    few.mkdir()
    again.mkdir()
    for name in FILES:  # all lines take long
        with (data_folder("wordnet_data") / name).open("rb") as lines:
            (few / name).write_bytes(
                b"".join(line for i, line in enumerate(lines) if not i % 40 or i < 40)
            )
    script["extract"](few, again)
    for name in FILES:
        assert name == "lexnames" or (again / name).read_bytes() == (few / name).read_bytes(), name
    for name in ("lexnames", "LICENSE"):
        assert (again / name).read_bytes() == (data_folder("wordnet_data") / name).read_bytes()


def test_senses_are_counted_without_lemmatising():
    wordnet = open_wordnet()
    assert count_senses(wordnet, "robin", "n") == 2
    assert count_senses(wordnet, "robins") == 0
    assert count_senses(wordnet, "saw") > count_senses(wordnet, "saw", "n")


def test_the_taxonomy_holds_kinds_and_no_instances():
    wordnet = open_wordnet()
    below = {synset.name() for synset in taxonomy_below(wordnet.synset("vehicle.n.01"))}
    assert "bicycle.n.01" in below and "vehicle.n.01" not in below
    ships = {synset.name() for synset in taxonomy_below(wordnet.synset("building.n.01"))}
    assert not any(name[0].isupper() for name in ships)


@pytest.fixture(scope="module")
def some_lemmas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """WordNet with few lemmas: the index lines of most words take long to read."""
    folder = tmp_path_factory.mktemp("some") / "wordnet"
    shutil.copytree(data_folder("wordnet_data"), folder)
    for path in folder.glob("index.*"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if re.search("^ |^good |robin", line)))
    return folder


def test_an_installation_that_its_group_may_write_is_read(
    some_lemmas: Path, monkeypatch: pytest.MonkeyPatch
):
    lexnames = some_lemmas / "lexnames"
    lexnames.chmod(0o664)
    monkeypatch.setattr("hyperprobe.lexicon.wordnet.data_folder", lambda name: some_lemmas)
    assert _open.__wrapped__(None).synset("robin.n.02").lexname() == "noun.animal"
    lexnames.chmod(0o644)


def test_a_folder_without_lexnames_and_nltks_zip_work_too(some_lemmas: Path, tmp_path: Path):
    archive = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in some_lemmas.iterdir():
            packed.write(path, f"wordnet/{path.name}")
    (some_lemmas / "lexnames").unlink()
    shipped = open_wordnet()._lemma_pos_offset_map  # ours; of other folders it is nltk's
    for place in (some_lemmas, archive):
        wordnet = open_wordnet(place)
        assert wordnet.synset("robin.n.02").lexname() == "noun.animal"
        robins = wordnet._lemma_pos_offset_map
        assert len(robins) > 5
        assert {lemma: shipped[lemma] for lemma in robins} == dict(robins)


def test_a_bad_folder_is_named_in_one_line(tmp_path: Path):
    with pytest.raises(UserError, match="has no data.noun: name the folder that holds data.noun"):
        open_wordnet(tmp_path)
    with pytest.raises(UserError, match="no WordNet at"):
        open_wordnet(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="no WordNet at"):
        open_wordnet(tmp_path / "file")


@pytest.mark.parametrize("name", FILES[:-1])
def test_the_missing_file_is_named(tmp_path: Path, name: str):
    for other in FILES:
        if other != name:
            (tmp_path / other).touch()
    with pytest.raises(UserError, match=f"has no {name}"):
        open_wordnet(tmp_path)


def write_zip(path: Path, prefix: str = "wordnet/", content: bytes = b"x") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            archive.writestr(prefix + name, content)
    return path


def test_zips_that_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "wordnet.zip"
    for prefix in ("../wordnet/", "/", "other/"):
        with pytest.raises(UserError, match="has no data.noun"):
            open_wordnet(write_zip(path, prefix))
    with pytest.raises(UserError, match="damaged WordNet"):
        open_wordnet(write_zip(path))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UserError, match="no whole zip file"):
        open_wordnet(path)
    monkeypatch.setattr("hyperprobe.lexicon.wordnet.MAX_DOCUMENT", 1000)
    with pytest.raises(UserError, match="data.noun of .* is larger than any WordNet's"):
        open_wordnet(write_zip(path, content=b"0" * 1_000_000))
    assert not list(tmp_path.parent.glob("data.*"))


# Each is done to the one line of data.noun that says what a bird is.
DAMAGES = {
    "offsets beyond the file": lambda line: line.replace(b" ~ 0", b" ~ 9"),
    "no numbers": lambda line: line.replace(b" n 0", b" n x"),
    "half a line": lambda line: line[:40] + b" " * (len(line) - 41) + b"\n",
    "a circle": lambda line: line.replace(b" @ 01471682 ", b" @ 01503061 "),
}


def test_damaged_databases_end_in_one_line_or_a_set(tmp_path: Path):
    folder = tmp_path / "wordnet"
    shutil.copytree(data_folder("wordnet_data"), folder)
    data = (folder / "data.noun").read_bytes()
    (line,) = [line for line in data.splitlines(keepends=True) if line.startswith(b"01503061 ")]
    reader = open_wordnet(folder)
    for damage in DAMAGES.values():
        spoiled = damage(line)
        assert spoiled != line and len(spoiled) == len(line)
        (folder / "data.noun").write_bytes(data.replace(line, spoiled))
        reader._synset_offset_cache.clear()
        reader._data_file_map.clear()
        try:
            with damage_named(folder):
                build_diagnostic("lm-diagnostic", wordnet=reader)
                build_diagnostic("lm-diagnostic-extended", 20, wordnet=reader)
        except UserError as error:
            assert "is a damaged WordNet" in str(error)
