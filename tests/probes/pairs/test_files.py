"""Each format is read for what it says, and what is wrong is named with its line and a remedy."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from hyperprobe.errors import UserError
from hyperprobe.probes.pairs.files import PairSet, read_pairs, read_scores


def written(folder: Path, text: str, name: str = "my.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def rows(pairs: PairSet) -> list[tuple]:
    columns = ["hyponym", "hypernym", "label", "graded", "fold"]
    return [
        tuple(None if value != value else value for value in row)
        for row in pairs.frame[columns].itertuples(index=False, name=None)
    ]


def test_hypernymysuites_header_in_any_order(tmp_path: Path):
    text = "word1\tword2\tlabel\trelation\tfold\nfrigate\tcraft\tTrue\thyper\tval\n"
    pairs = read_pairs(written(tmp_path, text + "fox\tbig_mouth\tFalse\tother\ttest\n"))
    assert pairs.name == "my" and pairs.is_labelled and not pairs.is_directed
    assert rows(pairs) == [
        ("frigate", "craft", 1, None, "val"),
        ("fox", "big mouth", 0, None, "test"),
    ]
    turned = "fold\tLABEL\tWord2\tword1\ntest\tfalse\tmouth\tfox\nval\ttrue\tcraft\tfrigate\n"
    assert rows(read_pairs(written(tmp_path, turned)))[1] == ("frigate", "craft", 1, None, "val")


def test_bibless_has_reversed_pairs(tmp_path: Path):
    text = "word1\tword2\trelation\tlabel\na\tb\thyper\t1\nc\td\trhyper\t-1\ne\tf\tother\t0\n"
    pairs = read_pairs(written(tmp_path, text))
    assert pairs.is_directed
    assert pairs.frame["label"].tolist() == [1, -1, 0]


def test_siege_without_header_keeps_the_nouns(tmp_path: Path):
    text = (
        "goldfish-n\tanimal-n\tTrue\thyper\n"
        "goldfish-n\tswim-v\tFalse\tevent\n"
        "x-ray-n\tco-op-n\tFalse\trandom-n\n"
    )
    pairs = read_pairs(written(tmp_path, text, "BLESS.tsv"))
    assert rows(pairs) == [("goldfish", "animal", 1, None, ""), ("x-ray", "co-op", 0, None, "")]
    assert pairs.name == "BLESS" and pairs.n_other_pos == 1


def test_a_hyphen_is_no_part_of_speech_unless_every_word_has_one(tmp_path: Path):
    pairs = read_pairs(written(tmp_path, "plan-n\tplan\tTrue\na\tb\tFalse\n"))
    assert pairs.frame["hyponym"].tolist() == ["plan-n", "a"]


def test_hyperlex_is_graded_and_has_verbs(tmp_path: Path):
    text = (
        "word1\tword2\tpos\tlabel\tscore\tfold\n"
        "boy\tperson\tN\thyp-1\t5.9\ttrain\ncat\tdog\tN\tcohyp\t0.5\tdev\nrun\tmove\tV\thyp-1\t5\ttest\n"
    )
    pairs = read_pairs(written(tmp_path, text))
    assert rows(pairs) == [
        ("boy", "person", None, 5.9, "train"),
        ("cat", "dog", None, 0.5, "val"),
    ]
    assert pairs.n_other_pos == 1 and not pairs.is_labelled


def test_hyperlex_as_it_is_released(tmp_path: Path):
    """Spaces; each person's rating after the columns that the header names."""
    text = (
        "WORD1 WORD2 POS TYPE AVG_SCORE AVG_SCORE_0_10 STD SCORES..\n"
        "mascara lipstick N cohyp 0.71 1.18 1.33 0 1 2 0 1\n"
        "highway road N hyp-1 5.80 9.67 0.40 5 6 6\n"
    )
    pairs = read_pairs(written(tmp_path, text, "hyperlex-all.txt"))
    assert pairs.frame["graded"].tolist() == [0.71, 5.80]
    assert pairs.name == "hyperlex-all"


def test_users_columns(tmp_path: Path):
    assert rows(read_pairs(written(tmp_path, "robin\tbird\nred oak\ttree\n"))) == [
        ("robin", "bird", 1, None, ""),
        ("red oak", "tree", 1, None, ""),
    ]
    labels = read_pairs(written(tmp_path, "robin\tbird\t1\nrobin\ttree\t0\n"))
    assert labels.frame["label"].tolist() == [1, 0] and labels.frame["graded"].isna().all()
    scores = read_pairs(written(tmp_path, "robin\tbird\t9.5\nrobin\ttree\t0\n"))
    assert scores.frame["graded"].tolist() == [9.5, 0] and scores.frame["label"].isna().all()


def test_comma_separated_and_a_byte_order_mark(tmp_path: Path):
    text = '\ufeffhyponym,hypernym,label\n"oak, red",tree,True\n\nrobin,tree,False\n'
    pairs = read_pairs(written(tmp_path, text, "my.csv"))
    assert pairs.frame["hyponym"].tolist() == ["oak, red", "robin"]
    # Where the first line has a tab, a comma is a letter.
    pairs = read_pairs(written(tmp_path, "oak, red\ttree\n"))
    assert pairs.frame["hyponym"].tolist() == ["oak, red"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("BLESS.val", "BLESS.val"), ("my.pairs.csv", "my.pairs"), ("a.txt", "a"), (".tsv", ".tsv")],
)
def test_a_set_is_called_like_its_file(tmp_path: Path, file: str, name: str):
    assert read_pairs(written(tmp_path, "a\tb\n", file)).name == name


def test_a_packed_file(tmp_path: Path):
    path = tmp_path / "my.tsv.gz"
    path.write_bytes(gzip.compress(b"child\tparent\nrobin\tbird\n"))
    assert rows(read_pairs(path)) == [("robin", "bird", 1, None, "")]
    assert read_pairs(path).name == "my"


def test_repeated_pairs_stay_and_are_counted(tmp_path: Path):
    pairs = read_pairs(written(tmp_path, "a\tb\tTrue\na\tb\tFalse\n"))
    assert pairs.frame["label"].tolist() == [1, 0] and pairs.n_repeated == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("word1\tword2\tlabel\n", "has a header and no rows"),
        ("robin\n", "line 1: 1 columns and no header"),
        ("robin bird True\n", "line 1: 3 columns and no header: separate 2 or 3 or 4"),
        ("a\tb\tTrue\thyper\tmore\n", "line 1: 5 columns and no header"),
        ("word1\tword1\tword2\na\tb\tc\n", "line 1: 2 columns are a hyponym"),
        ("a\tb\tTrue\na\tb\n", "line 2: 2 cells where line 1 has 3"),
        ("word1\tword2\tlabel\na\tb\tmaybe\n", "line 2: the label is 'maybe': write True or False"),
        ("word1\tword2\tscore\na\tb\tnan\n", "line 2: the score is 'nan': write a number"),
        ("word1\tword2\tgold\nx\ty\t1\n", "no column label or score beside 'gold'"),
        ("a\tb\thigh\n", "line 1: the score is 'high'"),
        ("word1\tword2\tlabel\tfold\na\tb\t1\thold-out\n", "line 2: the fold is 'hold-out'"),
        ("a\t \tTrue\n", "line 1: a word is empty"),
        ("a\x1b[2J\tb\tTrue\n", "line 1: .*control characters"),
        ("a\tb\tFalse\n", "labels no pair of nouns True"),
        ("a\tb\t2.5\nc\td\t2.5\n", "the same score"),
        ("run-v\tmove-v\tTrue\thyper\n", "no pair of nouns"),
        ('"a,b,True\n', "line 1: not comma-separated"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str):
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=said) as caught:
        read_pairs(path)
    assert str(path) in str(caught.value)


def test_no_file(tmp_path: Path):
    with pytest.raises(UserError, match="no file of pairs .*missing.tsv: check the name"):
        read_pairs(tmp_path / "missing.tsv")


def test_scores_as_hypernymysuite_has_them(tmp_path: Path):
    text = "hypo\thyper\tsim\tis_oov\nRobin\tbird\t0.5\t0\nwug\tbird\t0\t1\nred oak\ttree\t2\t0\n"
    scores = read_scores(written(tmp_path, text))
    assert scores == {("robin", "bird"): 0.5, ("red_oak", "tree"): 2}
    assert read_scores(written(tmp_path, "a,b,-1e-3\n")) == {("a", "b"): -0.001}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\n", "line 1: 2 columns and no header: separate 3 or 4"),
        ("hypo\thyper\n", "line 1: 0 columns are a score"),
        ("a\tb\tinf\n", "line 1: the score is 'inf'"),
        ("a\tb\t1\na\tb\t2\n", "line 2: 'a b' has two scores"),
        ("a\tb\t1\t1\n", "scores no pair"),
    ],
)
def test_wrong_scores(tmp_path: Path, text: str, said: str):
    with pytest.raises(UserError, match=said):
        read_scores(written(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "n", "n_other", "labels"),
    [
        ("hypernymysuite/bibless", 1668, 0, {1: 834, 0: 626, -1: 208}),
        ("hypernymysuite/wbless", 1668, 0, {1: 834, 0: 834}),
        ("hypernymysuite/leds", 2770, 0, {1: 1385, 0: 1385}),
        ("hypernymysuite/hyperlex_rnd", 2163, 453, {}),
        ("siege/BLESS", 14547, 12007, {1: 1337, 0: 13210}),
        ("siege/Weeds", 2229, 699, {1: 1117, 0: 1112}),
        ("siege/LenciBenotto", 1629, 3381, {1: 606, 0: 1023}),
    ],
)
def test_the_sets_in_use(shared: Path, name: str, n: int, n_other: int, labels: dict):
    """The counts are those of the lines themselves (and of Levy et al. 2015 for BLESS)."""
    pairs = read_pairs(shared / "sets" / f"{name}.tsv")
    assert (len(pairs.frame), pairs.n_other_pos) == (n, n_other)
    found = pairs.frame["label"].value_counts()
    assert found.to_dict() == labels
    assert np.isfinite(pairs.frame["graded"]).all() == (not labels)
