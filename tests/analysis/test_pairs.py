"""What a corpus says of pairs: counted as it should be, and compared with what is known."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperprobe.analysis.corpus_counts import (
    CorpusCounts,
    count_pieces,
    embedded_counts,
    read_pair_counts,
    sum_counts,
)
from hyperprobe.analysis.pairs import ANALYSIS, pair_effect
from hyperprobe.diagnostic.corpus import Piece
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.errors import UserError
from tests.analysis.simulated import answered, made, scored


def counted(seen: set[str], n: int = 40, models: tuple[str, ...] | None = None) -> CorpusCounts:
    """Counts of the pairs of `made(n)`: 3 of those in `seen`, 0 of the others."""
    pairs = made(n).drop_duplicates("item")[["hyponym", "hypernym"]]
    counts = [3 if word in seen else 0 for word in pairs["hyponym"]]
    return CorpusCounts("mine", None, pairs.assign(n_hearst=counts), models)


def test_pairs_seen_and_not_seen():
    seen = {f"x{i}" for i in range(0, 40, 4)}
    right = [f"x{i}" in seen for i in range(40)]
    table = answered({"singular": right, "plural": right}, made()["zipf"][:40])
    effect = pair_effect(scored(table), [counted(seen)]).set_index("probe").loc["singular"]
    assert (effect["n_seen"], effect["n_unseen"], effect["mean_count"]) == (10, 30, 3)
    assert effect["difference"] == effect["difference_low"] == 100
    assert (effect["seen"], effect["seen_calibrated"], effect["unseen_calibrated"]) == (100, 100, 0)
    assert effect["adjusted"] == pytest.approx(100)
    assert pair_effect(scored(table), [counted(seen, models=("someone",))]).empty


def test_what_categories_explain_is_no_effect_of_pairs():
    """Fish are easy, and in the corpus; a fish that is in it is known no better than others."""
    random = np.random.default_rng(2)
    is_fish = np.arange(400) % 2 == 0
    in_corpus = random.random(400) < np.where(is_fish, 0.7, 0.2)
    seen = {f"x{i}" for i in np.flatnonzero(in_corpus)}
    right = random.random(400) < np.where(is_fish, 0.8, 0.2)
    table = answered({"singular": right}, random.uniform(1, 4, 400))
    row = pair_effect(scored(table), [counted(seen, 400)]).iloc[0]
    assert row["difference_low"] > 15 and row["adjusted_low"] < 0 < row["adjusted_high"]
    assert "no difference is shown" in ANALYSIS.sentence("m", pd.DataFrame([row]))
    known = answered({"singular": right & in_corpus}, random.uniform(1, 4, 400))
    assert "a difference remains" in ANALYSIS.sentence(
        "m", pair_effect(scored(known), [counted(seen, 400)])
    )


def predict_rows() -> pd.DataFrame:
    return pd.DataFrame({"hyponym": ["robin", "trout"], "hypernym": ["bird", "fish"]})


def test_a_users_file_of_pair_counts(tmp_path: Path):
    table = predict_rows()
    path = tmp_path / "counts.txt.gz"
    with gzip.open(path, "wt") as out:
        out.write("robin\tbird\t12\nRobin\tbird\t1\nrobin\tfish\t9\nparrot_fish\tfish\t2\n")
    counts = read_pair_counts(path, table).pairs.set_index("hyponym")["n_hearst"]
    assert counts.to_dict() == {"robin": 13, "trout": 0}
    (tmp_path / "bad.tsv").write_text("robin\tbird\t1\nrobin bird 2\n")
    with pytest.raises(UserError, match=r"bad\.tsv:2: write hyponym"):
        read_pair_counts(tmp_path / "bad.tsv", table)
    with pytest.raises(UserError, match="no file of pair counts"):
        read_pair_counts(tmp_path / "none.tsv", table)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UserError, match="damaged"):
        read_pair_counts(path, table)


def test_real_hearst_counts_are_read(shared: Path):
    extended = load_diagnostic("lm-diagnostic-extended")
    counts = read_pair_counts(shared / "hearst" / "hearst_counts.txt.gz", extended).pairs
    assert len(counts) == 576 and 50 < (counts["n_hearst"] > 0).sum() < 576


def test_a_users_corpus_is_counted(tmp_path: Path):
    (tmp_path / "a.txt").write_text(
        "A robin is a bird. Robins are birds.\nBirds such as the robin sing; trout swim.\n"
    )
    (tmp_path / "b.jsonl").write_text('{"body": "Robins and other birds. A robin is a tool."}\n')
    tables = [
        count_pieces([Piece(path)], predict_rows(), "body") for path in sorted(tmp_path.iterdir())
    ]
    counts = sum_counts("mine", tables)
    assert counts.words is not None and counts.words.to_dict() == {"robin": 3, "trout": 1}
    robin = counts.pairs.set_index("hyponym").loc["robin"]
    assert robin[["n_is_a", "n_are", "n_hearst"]].tolist() == [1, 1, 2]


def test_the_embedded_corpus_is_about_its_models_alone():
    counts = embedded_counts()
    assert counts.is_about("embedded") and not counts.is_about("bert-base-uncased")
    assert counts.words is not None and counts.words["robin"] > 0
