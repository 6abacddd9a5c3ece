import csv
import json
from importlib.resources import files
from pathlib import Path

import pytest

from hyperprobe.built import build
from hyperprobe.diagnostic.build import (
    CATEGORIES,
    COLUMNS,
    NAMES,
    build_diagnostic,
    excluded_lemmas,
)
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import article_note, load_set
from hyperprobe.errors import UserError
from hyperprobe.lexicon.morphology import indefinite_article, plural

PAPER_LARGEST_SHARE = 22.92  # percent; Ravichander et al. (2020), Table 2, majority


def test_the_shipped_sets_are_what_the_command_builds(tmp_path: Path):
    built = build(NAMES, results=tmp_path)
    for name in NAMES:
        shipped = (files("hyperprobe.data") / "tables" / f"{name}.tsv").read_bytes()
        assert (built.folder / f"{name}.tsv").read_bytes() == shipped
        rows = (built.folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        table = load_diagnostic(name)
        assert [json.loads(row)["singular"] for row in rows] == table["singular"].tolist()


def test_the_extended_set():
    table = load_diagnostic("lm-diagnostic-extended")
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 576
    assert table["hyponym"].is_unique and not table["hyponym"].isin(excluded_lemmas()).any()
    shares = 100 * table["hypernym"].value_counts(normalize=True)
    assert set(shares.index) == set(CATEGORIES)
    assert shares.max() == pytest.approx(PAPER_LARGEST_SHARE, abs=1)
    assert not (table[[c for c in COLUMNS if c != "contextual"]].isna().any().any())


def test_the_18_pairs_and_their_prompts():
    table = load_diagnostic("lm-diagnostic").set_index("hyponym")
    assert len(table) == 18
    assert table["hypernym"].value_counts().eq(2).all()
    assert table.loc["robin", "singular"] == "A robin is a [MASK]."
    assert table.loc["ant", "singular"] == "An ant is an [MASK]."
    assert table.loc["trout", "plural"] == "Trout are [MASK]."
    assert table.loc["robin", "negated"] == "A robin is not a [MASK]."
    assert table.loc["robin", "control"] == "robin [MASK]."
    assert table.loc["robin", "false_hypernym"] == "tree"


def test_the_18_pairs_are_those_of_the_stimuli(shared: Path):
    with (shared / "diagnostics" / "NEG-136-SIMP.tsv").open(encoding="utf-8") as lines:
        theirs = [
            (row["context_aff"].split()[1].lower(), row["target_aff"], row["target_neg"])
            for row in csv.DictReader(lines, delimiter="\t")
        ]
    table = load_diagnostic("lm-diagnostic")
    ours = table[["hyponym", "hypernym", "false_hypernym"]].itertuples(index=False, name=None)
    assert list(ours) == theirs


def test_prompts_agree_with_morphology():
    table = load_diagnostic("lm-diagnostic-extended")
    for row in table.to_dict("records"):
        noun, category = row["hyponym"], row["hypernym"]
        assert row["hyponym_plural"] == plural(noun)
        subject = f"{indefinite_article(noun)} {noun}".capitalize()
        assert row["singular"] == f"{subject} is {indefinite_article(category)} [MASK]."
        assert row["plural"] == f"{plural(noun).capitalize()} are [MASK]."


def test_sizes():
    everything = build_diagnostic("lm-diagnostic-extended", size=None)
    strict = build_diagnostic("lm-diagnostic-extended", size=None, monosemous="any")
    assert 1400 < len(strict) < len(everything) < 1660
    assert set(strict["hyponym"]) < set(everything["hyponym"])
    small = build_diagnostic("lm-diagnostic-extended", size=100)
    assert len(small) == 100
    # 11 of each of the nine categories, and the most frequent of the others.
    counts = small["hypernym"].value_counts()
    assert set(counts.index) == set(CATEGORIES) and sorted(counts) == [11] * 8 + [12]
    for _, own in everything.groupby("hypernym"):
        taken = own["hyponym"].isin(small["hyponym"])
        assert own["zipf"][taken].min() >= own["zipf"][~taken].max()
    smallest = build_diagnostic("lm-diagnostic-extended", size=9)
    assert set(smallest["hypernym"]) == set(CATEGORIES)
    for size in (-1, 0, 8, 99_999):
        with pytest.raises(UserError, match="give a number from 9 "):
            build_diagnostic("lm-diagnostic-extended", size=size)


@pytest.mark.parametrize("size", ["", "0", "8", "-1", "x", "²", "1e3", "9" * 5000, "5\n"])
def test_sizes_that_are_none(tmp_path: Path, size: str):
    with pytest.raises(UserError, match="--size"):
        build(NAMES, size, results=tmp_path)
    with pytest.raises(UserError, match="--monosemous 'verb'"):
        build(NAMES, monosemous="verb", results=tmp_path)
    with pytest.raises(UserError, match="unknown diagnostic set"):
        build(["x"], results=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_every_exclusion_has_a_kind_and_a_reason():
    with (files("hyperprobe.data") / "tables" / "exclusions.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert {"murphy", "molly", "kirk"} <= {row["lemma"] for row in rows}
    assert all(row["category"] in CATEGORIES and row["kind"] and row["reason"] for row in rows)
    assert len({row["lemma"] for row in rows}) == len(rows)


GOOD = "hyponym\thyponym_plural\thypernym\thypernym_plural\tsingular\tplural\n"
OAK = "oak\toaks\ttree\ttrees\tAn oak is a [MASK].\tOaks are [MASK].\n"
ROW = "robin\trobins\tbird\tbirds\tA robin is a [MASK].\tRobins are [MASK].\n"


OBJECT = dict(zip(GOOD.strip().split("\t"), ROW.strip().split("\t"), strict=True))
ZIPF = GOOD.replace("\n", "\tzipf\n") + ROW.replace("\n", "\t{}\n")


def test_a_file_of_ones_own_gets_its_missing_columns(tmp_path: Path):
    path = tmp_path / "own.tsv"
    path.write_text(GOOD + ROW + OAK)
    table = load_diagnostic(str(path))
    assert table.loc[0, "control"] == "robin [MASK]." and table.loc[0, "contextual"] == ""
    lines = tmp_path / "own.jsonl"
    table.to_json(lines, orient="records", lines=True)
    assert load_diagnostic(str(lines))["plural"].tolist() == [
        "Robins are [MASK].",
        "Oaks are [MASK].",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "hyponym\tplural\nrobin\tx\n", "no column hyponym_plural"),
        ("a.tsv", GOOD, "a header and no rows"),
        ("a.tsv", "", "is empty"),
        ("a.tsv", GOOD + ROW + ROW.replace("[MASK]", "it"), "line 3: singular: must hold"),
        ("a.tsv", GOOD + ROW + ROW, "line 3: 'robin' occurs twice"),
        ("a.tsv", GOOD + ROW.replace("\tbird\t", "\t\t"), "line 2: hypernym is empty"),
        ("a.tsv", GOOD + ROW + ROW.replace("robin", "wren").replace("birds", "bird"), "plurals"),
        ("a.jsonl", '{"hyponym": "robin"\n', "line 1"),
        ("a.jsonl", "[1]\n", "line 1: should be a valid dictionary"),
        ("a.tsv", b"\xff\xfe\x00", "UTF-8"),
        ("a.tsv", GOOD + ROW, "all items have one hypernym, 'bird'"),
        ("a.tsv", GOOD + ROW.replace("robin\t", "bird\t"), "line 2: hyponym and hypernym are the"),
        ("a.tsv", GOOD + ROW.replace("\n", "\t\n"), "line 2: 7 cells where the header has 6"),
        ("a.tsv", GOOD + ROW.replace("\tbird\t", "\tbird \t"), "hypernym: must have no space"),
        ("a.tsv", GOOD + ROW.replace("robin\t", "ro\0bin\t"), "hyponym: must hold no control"),
        ("a.tsv", ZIPF.format("often"), "line 2: zipf must be a number, not 'often'"),
        ("a.tsv", ZIPF.format("nan"), "line 2: zipf must be a number, not 'nan'"),
        ("a.tsv", ZIPF.format("9" * 5000), "line 2: zipf must be a number"),
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", json.dumps({**OBJECT, "zipf": "4"}), "line 1: zipf: should be a valid number"),
        ("a.jsonl", json.dumps({**OBJECT, "hypernym": None}), "line 1: hypernym is empty"),
        ("a.jsonl", json.dumps({**OBJECT, "hyponym": 3}), "line 1: hyponym: should be a valid str"),
        ("a.jsonl", json.dumps({**OBJECT, "group": ["a"]}), "line 1: group: should be a valid str"),
        ("a.jsonl", json.dumps({**OBJECT, "negated": "No."}), "line 1: negated: must hold"),
        ("a.jsonl", json.dumps({**OBJECT, "plural": "\ud800"}), "line 1: half a character"),
        ("a.jsonl", "[" * 100_000, "line 1: nested too deeply"),
        ("a.jsonl", '{"zipf": ' + "9" * 5000 + "}", "line 1: "),
    ],
)
def test_bad_files_are_named_with_their_place(
    tmp_path: Path, name: str, text: str | bytes, message: str
):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=message):
        load_diagnostic(str(path))


def test_cells_stand_as_they_are(tmp_path: Path):
    path = tmp_path / "own.tsv"
    text = GOOD.replace("\n", "\tzipf\tsource\n") + ROW.replace("\n", '\t4.5\t"NA\r\n')
    path.write_bytes(b"\xef\xbb\xbf" + (text + OAK.replace("\n", "\t\t\n")).encode())
    table = load_diagnostic(str(path))
    assert table["source"].tolist() == ['"NA', ""] and table["hyponym"].tolist() == ["robin", "oak"]
    assert table.loc[0, "zipf"] == 4.5 and table["zipf"].isna().tolist() == [False, True]


def test_an_article_that_tells_is_noted(tmp_path: Path):
    path = tmp_path / "own.tsv"
    path.write_text(GOOD + ROW + OAK)
    assert article_note(load_set(str(path))) is None
    # Of bird, tree and instrument only the last takes `an`; `a` leaves two of three.
    lute = "lute\tlutes\tinstrument\tinstruments\tA lute is an [MASK].\tLutes are [MASK].\n"
    path.write_text(GOOD + ROW + OAK + lute)
    note = article_note(load_set(str(path)))
    assert note and "1 of 3 items: --article marginal" in note
    path.write_text(GOOD + ROW + lute)
    assert "2 of 2 items" in (article_note(load_set(str(path))) or "")
    assert article_note(load_set("lm-diagnostic")) is None


def test_an_unknown_set_is_an_error():
    with pytest.raises(UserError, match="name a file or one of lm-diagnostic"):
        load_diagnostic("nowhere.tsv")
    for name in ("", "a\0b", "n" * 5000, "\ud800"):
        with pytest.raises(UserError, match="no diagnostic set"):
            load_diagnostic(name)
