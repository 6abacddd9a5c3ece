"""Zero-shot runs compared: calibrated beside raw, synsets, Holm, and what may be said."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from hyperprobe.comparison.report import part
from hyperprobe.comparison.runs import compare
from hyperprobe.comparison.sentences import comparison_findings
from hyperprobe.comparison.tables import comparison_tables
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import read_run

CATEGORIES = ("bird", "fish", "tree", "tool")
N = 40


def run(results: Path, name: str, models: dict[str, tuple[int, float]]) -> Path:
    """A run of `models`, each right on its first so many of forty nouns, in pairs of synonyms, but
    for a bias towards the first category."""
    rows = []
    for model, (n_right, bias) in models.items():
        for probe in ("singular", "plural"):
            for i in range(N):
                gold = i % 4
                scores = np.eye(4)[gold if i < n_right else (gold + 1) % 4]
                biased = scores + np.eye(4)[0] * bias
                rows.append(
                    {"diagnostic": "d", "model": model, "probe": probe, "item": f"n{i}",
                     "hypernym": CATEGORIES[gold], "synset": f"s{i // 2}",
                     "gold_rank": 1 + int((biased > biased[gold]).sum()), "gold_tied": 0}
                    | {f"score_{c}": s for c, s in zip(CATEGORIES, biased, strict=True)}
                )  # fmt: skip
    folder = results / name
    folder.mkdir()
    pd.DataFrame(rows).to_parquet(folder / "predictions.parquet")
    files = {"predictions.parquet": file_digest(folder / "predictions.parquet")}
    notes = {"command": "zero-shot", "settings": {}, "files": files}
    (folder / "run.json").write_text(json.dumps(notes))
    return folder


@pytest.fixture
def compared(tmp_path: Path) -> pd.DataFrame:
    """Three models in two runs: two are as good, one of them biased; the third is right less."""
    runs = [
        run(tmp_path, "zero-shot-1", {"/m/good": (32, 0.0), "/m/biased": (32, 9.0)}),
        run(tmp_path, "zero-shot-2", {"/m/bad": (8, 0.0)}),
    ]
    return compare(runs, results=tmp_path).differences


def test_calibration_takes_a_bias_away(compared: pd.DataFrame):
    rows = compared.set_index(["metric", "model", "other"])
    raw = rows.loc["singular", "/m/good", "/m/biased"]
    # Biased it says bird of all, which is right of a quarter.
    assert (raw["value"], raw["other_value"]) == (80, 25)
    calibrated = rows.loc["singular_calibrated", "/m/good", "/m/biased"]
    assert (calibrated["value"], calibrated["difference"]) == (80, 0)
    assert (calibrated["p_value"], calibrated["difference_low"]) == (1, 0)
    bad = rows.loc["paired_singular_plural_calibrated", "/m/good", "/m/bad"]
    assert bad["difference"] == 60 and bad["items"] == "same"


def test_the_bootstrap_is_over_synsets(compared: pd.DataFrame):
    row = compared.set_index(["metric", "model", "other"]).loc["singular", "/m/good", "/m/bad"]
    # Synonyms go together here: 12 of 20 synsets differ, and 24 of 40 items would look surer.
    half = 1.96 * 100 * np.sqrt(0.6 * 0.4 / 20)
    assert row["difference_high"] - row["difference_low"] == pytest.approx(2 * half, rel=0.1)


def test_p_values_are_holms(compared: pd.DataFrame):
    expected = multipletests(compared["p_value"], method="holm")[1]
    assert compared["p_holm"].tolist() == pytest.approx(expected.tolist())


def test_only_clear_differences_of_the_headline_have_a_sentence(compared: pd.DataFrame):
    told = [one.text for one in comparison_findings(compared)]
    assert len(told) == 1  # the best model's, and not of both that are level with it
    assert told[0].startswith("/m/good is ahead of /m/bad in paired accuracy (calibrated) by 60.0 ")
    assert "Holm-adjusted p < 0.0001" in told[0]
    level = compared[~compared["model"].eq("/m/bad") & ~compared["other"].eq("/m/bad")]
    assert not list(comparison_findings(level))
    # Significant but for the other tests of its family.
    assert not list(comparison_findings(compared.assign(p_holm=0.06)))


def test_the_matrix_has_each_pair_once(compared: pd.DataFrame):
    tables = {table.title: table for table in comparison_tables(compared)}
    assert len(tables) == 3  # singular, plural and paired, calibrated alone
    matrix = tables["zero-shot d: paired, calibrated, row minus column"]
    assert matrix.headers == ("model", "value", "1", "2")
    assert [row[:2] for row in matrix.rows] == [
        ("1 /m/good", "80.0"), ("2 /m/biased", "80.0"), ("3 /m/bad", "20.0"),
    ]  # fmt: skip
    assert matrix.rows[0][2:] == ("", "") and matrix.rows[1][2:] == ("+0.0 [0.0, 0.0]", "")
    assert all(cell.startswith("-60.0* [-") for cell in matrix.rows[2][2:])


def test_two_models_stand_side_by_side_under_short_names(tmp_path: Path):
    runs = [
        run(tmp_path, "zero-shot-1", {"/m/x/final": (32, 0.0)}),
        run(tmp_path, "zero-shot-2", {"/m/y/final": (8, 0.0)}),
    ]
    made = compare(runs, results=tmp_path)
    (table,) = made.tables()
    assert table.title == "zero-shot d: x/final minus y/final"
    assert table.headers == ("metric", "x/final", "y/final", "difference", "p (Holm)")
    assert [row[0] for row in table.rows] == [
        "singular, calibrated", "plural, calibrated", "paired, calibrated",
    ]  # fmt: skip
    assert set(made.differences["model"]) == {"/m/x/final"}  # as the file has it


def test_one_model_of_two_runs_has_letters_and_no_folders(tmp_path: Path):
    runs = [
        run(tmp_path, "zero-shot-1", {"m": (32, 0.0), "other": (8, 0.0)}),
        run(tmp_path, "zero-shot-2", {"m": (20, 0.0)}),
    ]
    made = compare(runs, results=tmp_path)
    of_run = part({"C": read_run(made.folder)})
    (section,) = of_run.sections
    matrix = section.blocks[0]
    names = [row[0] for row in matrix.rows]
    assert names == ["1 m [a]", "2 other", "3 m [b]"]
    assert matrix.caption.endswith("[a] is zero-shot-1, [b] is zero-shot-2.")
    told = [one.text for one in of_run.findings]
    assert told and all(one.startswith("m [a] is ahead of ") for one in told)
    assert not any("zero-shot-" in one for one in told)
    assert {one.topic for one in of_run.findings} == {"comparison-C"}
