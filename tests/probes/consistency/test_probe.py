"""`hyperprobe consistency` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.diagnostic.files import load_diagnostic
from tests.commands import one_line_error, run
from tests.conftest import Within


@pytest.fixture(scope="module")
def asked(drawing: Within, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a set of 27 nouns, about which the embedded model was asked, and what was
    printed."""
    folder = tmp_path_factory.mktemp("consistency")
    frame = load_diagnostic("lm-diagnostic-extended")
    few = frame.groupby("hypernym", sort=False).head(3)
    few.to_csv(folder / "few.tsv", sep="\t", index=False)
    with drawing():
        done = run(folder, "consistency", "--diagnostic", "few.tsv", "--json")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def folder_of(asked: tuple[Path, str]) -> Path:
    return asked[0] / json.loads(asked[1])["run"]


def test_json_has_a_row_for_each_model_and_probe(asked: tuple[Path, str]):
    document = json.loads(asked[1])
    assert document["command"] == "consistency"
    rows = {(row["model"], row["probe"]): row for row in document["rows"]}
    for probe in ("wordings", "levels", "direction", "siblings", "negation", "inheritance"):
        row = rows["embedded", probe]
        assert 0 <= row["calibrated_low"] <= row["calibrated"] <= row["calibrated_high"] <= 100
        assert 0 < row["chance"] <= 50
    assert ("word2vec", "inheritance") not in rows and ("word2vec", "levels") in rows


def test_a_finished_run_is_read_back(asked: tuple[Path, str]):
    result = hp.load(folder_of(asked))
    assert isinstance(result, hp.ConsistencyResult)
    assert {"profile", "levels", "agreement"} <= set(result.figures)
    text = repr(result)
    assert "siblings" in text and max(map(len, text.splitlines()[:12])) <= 80
    again = run(asked[0], "consistency", "--diagnostic", "few.tsv")
    assert again.returncode == 0 and str(result.folder.name) in again.stderr


def test_numbers_follow_from_the_predictions_alone(asked: tuple[Path, str]):
    folder = folder_of(asked)
    predictions = pd.read_parquet(folder / "predictions.parquet")
    metrics = pd.read_csv(folder / "metrics.csv").set_index(["model", "probe"])
    rows = predictions[(predictions["model"] == "embedded") & (predictions["probe"] == "siblings")]
    right = [
        (row.scores - row.bias).argmax() == list(row.candidates).index(row.gold)
        for row in rows.itertuples()
    ]
    assert metrics.loc[("embedded", "siblings"), "calibrated"] == pytest.approx(
        100 * sum(right) / len(right)
    )


@pytest.mark.usefixtures("drawn")
def test_the_report_claims_nothing_that_the_tables_do_not(asked: tuple[Path, str]):
    done = run(asked[0], "report", str(folder_of(asked)))
    assert done.returncode == 0, done.stderr
    assert "probes of consistency" in done.stdout
    page = next((asked[0] / "results").glob("report-*/report.html")).read_text(encoding="utf-8")
    for title in ("Consistency", "Noun by noun", "Up the taxonomy", "Typicality"):
        assert f">{title}<" in page


def test_bad_input_is_one_line(asked: tuple[Path, str]):
    wrong = run(asked[0], "consistency", "--control", "majority")
    assert "choose from random" in one_line_error(wrong)
    missing = run(asked[0], "consistency", "--diagnostic", "none.tsv")
    assert "none.tsv" in one_line_error(missing)
