"""`hyperprobe pairs` from files to tables, and what it says of wrong input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.probes.pairs import report
from hyperprobe.statistics import weighted
from tests.commands import finished_cells, kill_after, one_line_error, run
from tests.conftest import Within

HYPERNYMS = {"robin": "bird", "sparrow": "bird", "oak": "tree", "hammer": "tool", "car": "vehicle"}
# Each noun with its hypernym, and with another one.
WRONG = dict(zip(HYPERNYMS, ["tree", "tool", "vehicle", "bird", "insect"], strict=True))
PAIRS = [(a, b, True) for a, b in HYPERNYMS.items()] + [(a, b, False) for a, b in WRONG.items()]
VECTORS = "robin 1 0\nsparrow 1 .1\nbird 1 .2\noak 0 1\ntree .1 1\nhammer -1 0\ntool -1 .1\n"


@pytest.fixture(scope="module", autouse=True)
def few_samples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "N_SAMPLES", 50)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny_models) -> Path:
    """Files of every kind."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "nouns.tsv").write_text(
        "word1\tword2\tlabel\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in PAIRS)
    )
    (folder / "graded.csv").write_text(
        "hyponym,hypernym,score\n" + "".join(f"{a},{b},{5.0 * c + len(a)}\n" for a, b, c in PAIRS)
    )
    (folder / "right.tsv").write_text(
        "".join(f"{a}\t{b}\t{int(c)}\n{b}\t{a}\t-1\n" for a, b, c in PAIRS)
    )
    (folder / "counts.txt").write_text("robin\tbird\t5\noak\ttree\t2\nrobin\ttool\t1\n")
    (folder / "v.txt").write_text(VECTORS)
    (folder / "bert").symlink_to(tiny_models["bert"])
    return folder


@pytest.fixture(scope="module")
def result(folder: Path, drawing: Within) -> hp.PairsResult:
    with drawing():
        return hp.pairs(
            [folder / "nouns.tsv", folder / "graded.csv"],
            models=[str(folder / "bert"), str(folder / "v.txt")],
            scores=folder / "right.tsv",
            hearst=folder / "counts.txt",
            results=folder / "results",
        )


def test_a_row_for_every_set_scorer_and_measure(result: hp.PairsResult):
    names = [(Path(row.model).name, row.measure) for row in result.metrics.itertuples()]
    assert names == 2 * [
        ("chance", "random"), ("freq", "frequency"),
        ("hearst", "count"), ("hearst", "ppmi"), ("hearst", "svd-ppmi"), ("right.tsv", "given"),
        ("bert", "mean"), ("bert", "singular"), ("bert", "plural"), ("v.txt", "cosine"),
    ]  # fmt: skip
    assert len(result.predictions) == 2 * 9 * len(PAIRS)


def test_scores_that_are_right_get_everything(result: hp.PairsResult):
    rows = result.metrics[result.metrics["measure"] == "given"].set_index("diagnostic")
    nouns = rows.loc["nouns"]
    assert nouns["ap"] == nouns["direction"] == nouns["direction_strict"] == 100
    assert rows.loc["graded", "rho"] > 0.8 and np.isnan(rows.loc["graded", "ap"])


def test_mean_is_that_of_the_wordings(result: hp.PairsResult):
    asked = result.predictions[result.predictions["model"].str.endswith("bert")]
    wide = {name: part["score"].to_numpy() for name, part in asked.groupby("measure")}
    assert np.allclose(wide["mean"], (wide["singular"] + wide["plural"]) / 2)


def test_unknown_words_are_counted(result: hp.PairsResult):
    rows = result.metrics[result.metrics["diagnostic"] == "nouns"].set_index("measure")
    # There is no vector of car, vehicle and insect; counts are of robin, bird, oak, tree, tool.
    assert rows.loc["cosine", "n_known"] == 7 and rows.loc["count", "n_known"] == 3
    (table,) = result.tables()
    row = next(row for row in table.rows if "cosine" in row)
    assert row[table.headers.index("unknown")] == "3"


def test_it_is_read_back_and_reported(result: hp.PairsResult, folder: Path):
    loaded = hp.load(result.folder)
    assert isinstance(loaded, hp.PairsResult)
    pd.testing.assert_frame_equal(loaded.metrics, result.metrics, check_dtype=False)
    assert repr(loaded) == repr(result)
    assert result.figures.keys() == {"pairs"}
    page = hp.report([result.folder], folder / "page")
    html = page.html.read_text()
    assert "Labelled pairs (run A)" in html and html.count("<svg") >= 1
    said = [finding.text for finding in page.page.findings + page.page.sections[0].findings]
    assert any("bert has an average precision of" in text for text in said)
    assert any("right.tsv has an average precision of 100.0 [100.0" in text for text in said)


def test_the_same_command_asks_nothing_again(result: hp.PairsResult, folder: Path):
    before = finished_cells(folder)
    line = json.loads((result.folder / "run.json").read_text())
    assert line["options"]["files"] == [str(folder / "nouns.tsv"), str(folder / "graded.csv")]
    (result.folder / "run.json").unlink()
    from hyperprobe.runs.command_line import command_line

    words = command_line("pairs", line["options"]).split()
    done = run(folder, *words[1:])
    assert done.returncode == 0, done.stderr
    assert finished_cells(folder) == before
    assert (result.folder / "run.json").is_file()


def test_findings_say_no_more_than_the_numbers():
    metrics = pd.DataFrame(
        {
            "diagnostic": "set",
            "model": ["chance", "freq", "m", "n"],
            "measure": ["random", "frequency", "mean", "mean"],
            "fold": "all",
            "n_pairs": 9,
            "n_known": 9,
            "ap": [50.0, 55, 70, 52],
            "ap_low": [45.0, 50, 61, 42],
            "ap_high": [55.0, 60, 80, 62],
            "rho": np.nan,
            "direction": np.nan,
        }
    )
    first, second = (finding.text for finding in report.find(metrics))
    assert first == (
        "on set, m has an average precision of 70.0 [61.0, 80.0] (chance 50.0, frequency 55.0)."
    )
    assert second == (
        "on set, n has an average precision of 52.0 [42.0, 62.0] (chance 50.0, frequency 55.0; "
        "not shown to be above chance and frequency)."
    )


def test_json_and_no_model_beside_given_scores(folder: Path):
    done = run(folder, "pairs", "nouns.tsv", "--scores", "right.tsv", "--json")
    assert done.returncode == 0 and done.stderr == ""
    document = json.loads(done.stdout)
    assert document["command"] == "pairs" and document["settings"]["model"] == []
    assert [row["model"] for row in document["rows"]] == ["chance", "freq", "right.tsv"]
    assert document["rows"][0]["rho"] is None and document["rows"][2]["ap"] == 100


def test_the_embedded_models_are_asked_where_nothing_is_named(folder: Path):
    result = hp.pairs(folder / "nouns.tsv", results=folder / "embedded")
    names = list(result.metrics["model"].unique())
    assert names == ["chance", "freq", "embedded", "word2vec"]


def test_the_embedded_models_numbers_are_those_that_are_stored(shared: Path, tmp_path: Path):
    """Of one fold: the model knows every pair, so that it needs no other."""
    lines = (shared / "sets" / "hypernymysuite" / "hyperlex_rnd.tsv").read_text().splitlines()
    path = tmp_path / "hyperlex_rnd.tsv"
    path.write_text("\n".join([lines[0], *(line for line in lines if line.endswith("val"))]))
    result = hp.pairs(path, models="embedded", results=tmp_path)
    stored = pd.read_csv(Path(__file__).parents[3] / "results/reference/pairs-metrics.csv")
    keys = ["diagnostic", "model", "measure", "fold"]
    both = result.metrics.merge(stored, on=keys, suffixes=("", "_stored"))
    asked = both[(both["fold"] == "val") & (both["model"] == "embedded")]
    assert len(asked) == 3 and (asked["n_pairs"] == asked["n_pairs_stored"]).all()
    assert np.allclose(asked["rho"], asked["rho_stored"], atol=0.02)


def test_an_interrupted_run_continues(folder: Path, tmp_path: Path):
    command = ["pairs", "nouns.tsv", "graded.csv", "--model", "bert", "--model", "v.txt"]
    for name in ("nouns.tsv", "graded.csv", "v.txt"):
        (tmp_path / name).write_text((folder / name).read_text())
    (tmp_path / "bert").symlink_to((folder / "bert").resolve())
    stored = kill_after(tmp_path, command, 3)
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert stored.items() <= finished_cells(tmp_path).items()
    assert len(finished_cells(tmp_path)) == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.tsv"], "no file of pairs missing.tsv"),
        (["nouns.tsv", "--scores", "missing.tsv"], "no file of scores missing.tsv"),
        (["nouns.tsv", "--hearst", "missing.gz"], "no file of pair counts missing.gz"),
        (["nouns.tsv", "--model", "missing.vec"], "no vectors file missing.vec"),
        (["bert"], "is a folder: name a file"),
        (["nouns.tsv", "twin/nouns.csv"], "nouns.tsv and twin/nouns.csv have one name"),
        (["nouns.tsv", "--scores", "other.tsv"], "other.tsv scores no pair of nouns"),
        (["nouns.tsv", "--scores", "v.txt", "--model", "v.txt"], "v.txt is named as --model and"),
        (["nouns.tsv", "--model", "chance"], "chance is a baseline's name"),
        ([], "Missing argument"),
    ],
)
def test_wrong_input(folder: Path, arguments: list[str], said: str):
    (folder / "twin").mkdir(exist_ok=True)
    (folder / "twin" / "nouns.csv").write_text("a,b\n")
    (folder / "other.tsv").write_text("wug\tblicket\t3\n")
    assert said in one_line_error(run(folder, "pairs", *arguments))
