import shutil
from pathlib import Path

import pytest

from hyperprobe.data import data_folder
from hyperprobe.errors import UserError
from hyperprobe.wordnet import count_senses, open_wordnet, taxonomy_below


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
    wordnet = open_wordnet()
    assert wordnet.synset("robin.n.02").definition() == ""
    for part in ("noun", "verb", "adj", "adv"):
        with (data_folder("wordnet_data") / f"data.{part}").open(encoding="utf-8") as lines:
            assert all(not line.partition("|")[2].strip() for line in lines if line[:2] != "  ")


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


def test_a_folder_without_lexnames_and_nltks_zip_work_too(tmp_path: Path):
    folder = tmp_path / "wordnet"
    shutil.copytree(data_folder("wordnet_data"), folder)
    archive = shutil.make_archive(str(tmp_path / "wordnet"), "zip", tmp_path, "wordnet")
    (folder / "lexnames").unlink()
    for place in (folder, Path(archive)):
        assert open_wordnet(place).synset("robin.n.02").lexname() == "noun.animal"


def test_a_bad_folder_is_named_in_one_line(tmp_path: Path):
    with pytest.raises(UserError, match="name the folder that holds data.noun"):
        open_wordnet(tmp_path)
    with pytest.raises(UserError, match="no WordNet at"):
        open_wordnet(tmp_path / "nowhere")
