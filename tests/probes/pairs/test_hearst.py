"""Pattern counts against a dense computation, and the original program's answers restated."""

from pathlib import Path

import numpy as np
import pytest

from hyperprobe.errors import UserError
from hyperprobe.lexicon.wordnet import noun_lemma
from hyperprobe.probes.pairs.files import read_pairs
from hyperprobe.probes.pairs.hearst import PatternCounts
from hyperprobe.probes.pairs.metrics import ALL, Pairs, metric_rows
from hyperprobe.probes.pairs.scoring import ask
from hyperprobe.statistics import intervals, weighted

ROWS = [("robin", "bird", 4), ("trout", "fish", 6), ("fish", "animal", 3), ("robin", "animal", 1)]
ROWS += [("red_oak", "tree", 2), ("robin", "bird", 1)]


@pytest.fixture
def counts(tmp_path: Path) -> PatternCounts:
    path = tmp_path / "counts.txt"
    path.write_text("".join(f"{a}\t{b}\t{n}\n" for a, b, n in ROWS))
    return PatternCounts.read(path, rank=2)


def dense() -> tuple[list[str], np.ndarray]:
    words = sorted({word for a, b, _ in ROWS for word in (a, b)})
    table = np.zeros((len(words), len(words)))
    for a, b, n in ROWS:
        table[words.index(a), words.index(b)] += n
    return words, table


PAIRS = [("robin", "bird"), ("Robin", "fish"), ("red oak", "tree"), ("wug", "bird")]


def test_counts_and_ppmi_by_hand(counts: PatternCounts):
    found = counts.score(PAIRS)
    assert found["count"].scores.tolist() == [5, 0, 2, 0]
    # 17 in all; robin 6 as a hyponym, bird 5 as a hypernym; red oak and tree only together.
    expected = [np.log(17 * 5 / (6 * 5)), 0, np.log(17 * 2 / (2 * 2)), 0]
    assert np.allclose(found["ppmi"].scores, expected)
    assert found["ppmi"].known.tolist() == [True, True, True, False]


def test_the_reduced_matrix_is_numpys(counts: PatternCounts):
    words, table = dense()
    with np.errstate(divide="ignore"):
        pmi = np.log(table.sum() * table / np.outer(table.sum(1), table.sum(0)).clip(1e-9))
    u, s, vt = np.linalg.svd(np.maximum(pmi, 0))
    best = (u[:, :2] * s[:2]) @ vt[:2]
    pairs = [(a.replace("_", " "), b) for a in words for b in words]
    assert np.allclose(counts.score(pairs)["svd-ppmi"].scores, best.ravel(), atol=1e-8)


def test_lemmas_are_looked_up_and_words_as_they_stand_are_known(counts: PatternCounts):
    assert [noun_lemma(word) for word in ("trout", "geese", "boss")] == ["trout", "goose", "bos"]
    found = counts.score([("robins", "birds"), ("robin", "bird")])
    assert found["count"].scores.tolist() == [5, 5]
    assert found["count"].known.tolist() == [False, True]


def test_a_file_of_one_pair_has_nothing_to_reduce(tmp_path: Path):
    path = tmp_path / "one.txt"
    path.write_text("robin\tbird\t3\n")
    found = PatternCounts.read(path).score([("robin", "bird")])
    assert [answers.scores.tolist() for answers in found.values()] == [[3], [0], [0]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("robin\tbird\n", "line 1: write hyponym, hypernym and count"),
        ("robin\tbird\t3\nrobin\tfish\tmany\n", "line 2: the count is 'many'"),
        ("robin\tbird\t0\n", "line 1: the count is '0'"),
        ("robin\tbird\tinf\n", "line 1: the count is 'inf'"),
    ],
)
def test_wrong_counts(tmp_path: Path, text: str, said: str):
    path = tmp_path / "counts.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        PatternCounts.read(path)


# What hypernymysuite's own program (commit 6891e0e) prints for its counts, PPMI, and PPMI reduced
# to rank 5, the last rounded to nine decimals (it orders pairs of a score of 0 by the rounding
# errors of its decomposition). (set, fold, metric) -> the three numbers.
ORIGINAL = {
    ("wbless", "val", "ap"): (0.7012831479897346, 0.7012831479897347, 0.9030596447783275),
    ("wbless", ALL, "accuracy"): (0.6902929718340893, 0.6823680332579536, 0.8039507080645246),
    ("bibless", ALL, "accuracy"): (0.617011291778082, 0.6113007556979958, 0.7676504456536984),
    ("leds", "test", "ap"): (0.7104767100971927, 0.707288205927508, 0.6483816536471761),
    ("leds", "test", "ap_known"): (0.7277136674374325, 0.7242599150872548, 0.6604107364205282),
    ("hyperlex_rnd", "test", "rho"): (0.6163371388089929, 0.5969850770172368, 0.3428932665910052),
    ("hyperlex_rnd", ALL, "rho_known"): (0.632263291619363, 0.617066763633229, 0.379340438811430),
    # (its copy of BLESS has other parts among the negatives, and the same hypernyms)
    ("BLESS", ALL, "direction_strict"): (0.463724756918474, 0.463724756918474, 0.932685115931189),
}  # fmt: skip


@pytest.fixture(scope="module")
def released() -> PatternCounts:
    path = Path(__file__).parents[4] / "shared" / "hearst" / "hearst_counts.txt.gz"
    if not path.is_file():
        pytest.skip("no shared data beside this checkout")
    return PatternCounts.read(path, rank=5)


@pytest.mark.parametrize(
    "name",
    ["hypernymysuite/wbless", "hypernymysuite/bibless", "hypernymysuite/leds",
     "hypernymysuite/hyperlex_rnd", "siege/BLESS"],
)  # fmt: skip
def test_the_originals_numbers(
    released: PatternCounts, shared: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    for module, number in ((weighted, "N_SAMPLES"), (intervals, "N_RESAMPLES")):
        monkeypatch.setattr(module, number, 2)  # no interval is looked at
    pairs = read_pairs(shared / "sets" / f"{name}.tsv")
    frame = ask(released.score, pairs)
    for i, measure in enumerate(("count", "ppmi", "svd-ppmi")):
        of_measure = Pairs(frame[frame["measure"] == measure])
        rows = {row["fold"]: row for row in metric_rows(of_measure, 0)}
        for (of_set, fold, metric), original in ORIGINAL.items():
            if of_set == pairs.name:
                scale = 1 if metric.startswith("rho") else 100
                assert rows[fold][metric] / scale == pytest.approx(original[i], abs=1e-6)
