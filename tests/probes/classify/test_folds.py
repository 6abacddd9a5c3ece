"""What the folds keep apart, for any diagnostic set, and that a file that does not is refused."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sentences import Context, read_all, shipped_files
from hyperprobe.errors import UserError
from hyperprobe.probes.classify.folds import check_folds, read_folds
from hyperprobe.probes.classify.pairs import COLUMNS, SETTINGS, balanced_pairs, make_folds
from hyperprobe.runs.files import write_frame

MANY = st.integers(9, 30)


def diagnostic(sizes: dict[str, dict[str, int]]) -> pd.DataFrame:
    rows = [
        {"hyponym": f"{hypernym}-{i}", "hypernym": hypernym, "group": group, "zipf": i / 10}
        for group, own in sizes.items()
        for hypernym, n in own.items()
        for i in range(n)
    ]
    return pd.DataFrame(rows)


def contexts(items: pd.DataFrame, n: int = 4) -> list[Context]:
    """`n` sentences for each hyponym and twelve for each hypernym."""
    return [
        Context(word, "x", "hyponym", f"Sentence {i} of {word}.")
        for word in items["hyponym"]
        for i in range(n)
    ] + [
        Context(word, "x", "hypernym", f"Sentence {i} about the {word}.")
        for word in items["hypernym"].unique()
        for i in range(12)
    ]


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 9), min_size=2))
def test_balanced_pairs(sizes: dict[str, int]):
    members = {hypernym: [f"{hypernym}{i}" for i in range(n)] for hypernym, n in sizes.items()}
    pairs = balanced_pairs(members)
    labels = Counter((hypernym, label) for _, hypernym, label in pairs)
    assert all(labels[hypernym, 0] == labels[hypernym, 1] for hypernym in sizes)
    assert all(label == (hyponym in members[hypernym]) for hyponym, hypernym, label in pairs)
    used = Counter((hyponym, label) for hyponym, _, label in pairs)
    assert set(used.values()) <= {1} and len(used) == len(pairs)
    # Only a surplus of the largest is left out.
    total, largest = sum(sizes.values()), max(sizes.values())
    assert len(pairs) == 2 * (total - max(0, 2 * largest - total))


@settings(max_examples=5, deadline=None)
@given(
    st.fixed_dictionaries(
        {g: st.fixed_dictionaries({f"{g}{i}": MANY for i in "xyz"}) for g in "ABC"}
    ),
    st.integers(0, 99),
)
def test_any_folds_keep_their_promises(sizes: dict[str, dict[str, int]], seed: int):
    items = diagnostic(sizes)
    folds = make_folds(items, contexts(items), SETTINGS, seed)
    check_folds(folds)
    gold = dict(zip(items["hyponym"], items["hypernym"], strict=True))
    group = dict(zip(items["hypernym"], items["group"], strict=True))
    for (setting, _), own in folds.groupby(["setting", "fold"]):
        parts = dict(iter(own.groupby("partition")))
        for column in ("hyponym", "hyponym_sentence", "hypernym_sentence"):
            seen = [set(part[column]) for part in parts.values()]
            assert len(set.union(*seen)) == sum(map(len, seen))
        shared = set(parts["train"]["hypernym"]) & set(parts["test"]["hypernym"])
        assert shared == (set(parts["test"]["hypernym"]) if setting == "seen" else set())
        for name, part in parts.items():
            for column in ("hyponym", "hypernym", "hyponym_sentence", "hypernym_sentence"):
                assert (part.groupby(column)["label"].mean() == 0.5).all(), (name, column)
            assert ((part["hyponym"].map(gold) == part["hypernym"]) == (part["label"] == 1)).all()
            assert (part["hyponym"].map(gold).map(group) == part["hypernym"].map(group)).all()
        assert not own.duplicated().any()
        assert (
            not pd.concat([parts["dev"], parts["test"]]).duplicated(["hyponym", "hypernym"]).any()
        )
        assert parts["train"].groupby(["hyponym", "hypernym"]).size().eq(8).all()


@pytest.fixture(scope="module")
def shipped() -> pd.DataFrame:
    items = load_diagnostic("lm-diagnostic-extended")
    return make_folds(items, read_all(shipped_files()), SETTINGS)


def test_folds_of_the_shipped_set(shipped: pd.DataFrame):
    assert list(shipped.columns) == list(COLUMNS)
    seen = shipped[(shipped["setting"] == "seen") & (shipped["partition"] == "test")]
    assert seen.groupby("hyponym")["fold"].nunique().eq(1).all()  # no word is tested twice
    assert seen.groupby("fold")["hypernym"].nunique().eq(9).all()
    unseen = shipped[(shipped["setting"] == "unseen") & (shipped["partition"] == "test")]
    assert unseen.groupby("fold")["group"].unique().str[0].tolist() == [
        "animals",
        "objects",
        "plants",
    ]


def test_another_seed_makes_other_folds(shipped: pd.DataFrame):
    items = load_diagnostic("lm-diagnostic-extended")
    sentences = list(read_all(shipped_files()))
    pd.testing.assert_frame_equal(make_folds(items, sentences, SETTINGS), shipped)
    assert not make_folds(items, sentences, SETTINGS, 1).equals(shipped)


def test_sizes_are_about_the_papers(shipped: pd.DataFrame, shared: Path):
    paper = pd.read_csv(shared / "published" / "hypernymy_table5_6_fold_sizes.csv")
    for setting, theirs in paper.groupby("setting"):
        ours = shipped[shipped["setting"] == setting].groupby("partition").size()
        for partition in ("train", "dev", "test"):
            assert ours[partition] == pytest.approx(theirs[partition].sum(), rel=0.2)


def test_a_file_comes_back_as_it_was(shipped: pd.DataFrame, tmp_path: Path):
    write_frame(tmp_path / "folds.tsv", shipped)
    pd.testing.assert_frame_equal(read_folds(tmp_path / "folds.tsv"), shipped, check_dtype=False)
    # ... and a user's plain call opens it too.
    assert len(pd.read_csv(tmp_path / "folds.tsv", sep="\t")) == len(shipped)


def row_of(folds: pd.DataFrame, partition: str) -> int:
    return int(folds[folds["partition"] == partition].index[0])


def move_half_a_pair(folds: pd.DataFrame) -> pd.DataFrame:
    own = folds[folds["hyponym"] == folds.loc[row_of(folds, "train"), "hyponym"]]
    moved = [own[own["label"] == label].index[0] for label in (0, 1)]
    folds.loc[moved, "partition"] = "dev"
    return folds


def repeat_a_sentence(folds: pd.DataFrame) -> pd.DataFrame:
    first, second = row_of(folds, "train"), row_of(folds, "test")
    both = f"{folds.loc[first, 'hyponym']} and {folds.loc[second, 'hyponym']} in one."
    folds.loc[[first, second], "hyponym_sentence"] = both
    return folds


def swap_labels(folds: pd.DataFrame) -> pd.DataFrame:
    train = folds[folds["partition"] == "train"]
    for label in (0, 1):
        folds.loc[train[train["label"] == label].index[0], "label"] = 1 - label
    return folds


def repeat_a_row(folds: pd.DataFrame) -> pd.DataFrame:
    first = row_of(folds, "train")
    folds.loc[first + 1] = folds.loc[first]
    return folds


def ask_twice(folds: pd.DataFrame) -> pd.DataFrame:
    test = folds[folds["partition"] == "test"].iloc[:2]
    again = test.assign(hyponym_sentence=[f"Another {word}." for word in test["hyponym"]])
    return pd.concat([folds, again], ignore_index=True)


def put(partition: str, column: str, value: str):
    def change(folds: pd.DataFrame) -> pd.DataFrame:
        folds.loc[row_of(folds, partition), column] = value
        return folds

    return change


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (move_half_a_pair, "this hyponym is in two partitions of fold 1 of seen: 'Ax-"),
        (repeat_a_sentence, "this hyponym_sentence is in two partitions of fold 1 of seen"),
        (lambda folds: folds.assign(setting="unseen"),
         "this hypernym of fold 1 of unseen is in training as well: 'Ax'"),
        (lambda folds: folds[(folds["partition"] != "train") | (folds["hypernym"] != "Ax")],
         "half of them|is not in training: 'Ax'"),
        (lambda folds: folds.drop(index=row_of(folds, "dev")), "has 26 positive rows of 53: make"),
        (swap_labels, "this pair has two labels in fold 1 of seen"),
        (repeat_a_row, "this row occurs twice in fold 1 of seen"),
        (ask_twice, "this pair is asked twice in fold 1 of seen"),
        (put("dev", "hyponym_sentence", "Nothing."), "'Ax-[0-9]+' is not in 'Nothing.'"),
        (put("dev", "partition", "valid"), "partition must be one of train, dev, test"),
        (put("dev", "fold", "9" * 5000), "fold must be a number from 1"),
        (put("dev", "fold", "²"), "fold must be a number from 1"),
        (put("dev", "fold", "first"), "fold must be a number from 1"),
        (put("train", "group", "elsewhere"), "is in two groups"),
        (put("test", "hypernym", ""), "hypernym is empty: fill it"),
        (lambda folds: folds.drop(columns="label"), "no column label"),
        (lambda folds: folds.iloc[:0], "a header and no rows"),
        (lambda folds: folds[folds["partition"] != "dev"], "has no dev rows"),
    ],
)  # fmt: skip
def test_a_file_that_breaks_a_rule(spoil, message: str, tmp_path: Path):
    items = diagnostic({g: {f"{g}x": 21, f"{g}y": 21, f"{g}z": 21} for g in "ABC"})
    folds = make_folds(items, contexts(items), ["seen"]).astype(object)
    path = tmp_path / "folds.tsv"
    write_frame(path, spoil(folds[folds["fold"] == 1].reset_index(drop=True)))
    with pytest.raises(UserError, match=message) as caught:
        read_folds(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_no_folds(tmp_path: Path):
    with pytest.raises(UserError, match="no folds file"):
        read_folds(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes("löwe\n".encode("latin-1"))
    with pytest.raises(UserError, match="line 1: not UTF-8"):
        read_folds(tmp_path / "latin.tsv")
    with pytest.raises(UserError, match="is a folder"):
        read_folds(tmp_path)
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(UserError, match="is empty"):
        read_folds(tmp_path / "empty.tsv")


def test_too_few_sentences():
    items = diagnostic({"A": {"x": 9, "y": 9}, "B": {"z": 9, "w": 9}})
    with pytest.raises(UserError, match="-[0-9]+ has no context sentence"):
        make_folds(items, contexts(items, 0), ["seen"])
    with pytest.raises(UserError, match="x has 0 context sentences"):
        make_folds(items, contexts(items)[:-48], ["seen"])
    with pytest.raises(UserError, match="at least two"):
        make_folds(items[items["group"] == "A"], contexts(items), ["unseen"])


def without_groups(sizes: dict[str, int]) -> pd.DataFrame:
    return diagnostic({"": sizes})


@settings(max_examples=5, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(10, 30), min_size=4),
    st.integers(0, 99),
)
def test_folds_without_groups_and_sentences(sizes: dict[str, int], seed: int):
    items = without_groups(sizes)
    folds = make_folds(items, [], SETTINGS, seed, bare=True)
    check_folds(folds)
    gold = dict(zip(items["hyponym"], items["hypernym"], strict=True))
    right = folds["hyponym"].map(gold) == folds["hypernym"]
    assert (right == (folds["label"] == 1)).all()
    assert (folds["hyponym_sentence"] == folds["hyponym"]).all()
    assert (folds["hypernym_sentence"] == folds["hypernym"]).all()
    unseen = folds[folds["setting"] == "unseen"]
    assert unseen["fold"].nunique() == min(3, len(sizes) // 2)
    for _, rows in unseen.groupby("fold"):
        parts = rows.groupby("partition")["hypernym"].agg(set)
        assert not parts["train"] & (parts["dev"] | parts["test"]) and len(parts["test"]) >= 2


def test_sentences_where_there_are_some():
    items = without_groups({"a": 14, "b": 14})
    given = [one for one in contexts(items) if one.word not in ("a-3", "b")]
    folds = make_folds(items, given, ["seen"], bare=True)
    check_folds(folds)
    texts = folds.groupby("hyponym")["hyponym_sentence"].agg(set)
    assert texts["a-3"] == {"a-3"} and "a-4" not in texts["a-4"]
    assert set(folds.loc[folds["hypernym"] == "b", "hypernym_sentence"]) == {"b"}
    # (a pair with a category that stands by itself has no other instances)
    train = folds[(folds["partition"] == "train") & (folds["fold"] == 1)]
    assert train.groupby(["hyponym", "hypernym"]).size().groupby("hypernym").max().to_dict() == {
        "a": 8, "b": 1,
    }  # fmt: skip
    with pytest.raises(UserError, match="without groups it needs four categories"):
        make_folds(items, given, ["unseen"], bare=True)
