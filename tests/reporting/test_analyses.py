"""Analyses of a run: what they write, read back, and refuse."""

from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.analysis.analyze import AnalysisResult, analyze
from hyperprobe.errors import UserError
from hyperprobe.runs.read import read_run
from tests.reporting.toys import run_of


def test_an_analysis_has_its_tables_and_resumes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tiny_models: dict[str, Path]
):
    (path,) = folder.glob("analyze-*")
    names = {p.stem for p in path.glob("*.csv")}
    assert {"metrics", "frequency", "agreement", "article", "negation", "templates",
            "template_accuracy", "errors", "category_scores"} <= names  # fmt: skip
    metrics = pd.read_csv(path / "metrics.csv")
    assert {"article", "negation"} <= set(metrics["analysis"])
    assert len(pd.read_parquet(path / "predictions.parquet")) == 15 * 18

    def no_model(*args: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("hyperprobe.analysis.analyze.load_model", no_model)
    again = analyze(run_of(folder, "bert"), results=folder)
    assert again.folder == path
    for name, table in again.frames.items():
        stored = pd.read_csv(path / f"{name}.csv")
        words = stored.select_dtypes(exclude="number").columns
        stored[words] = stored[words].fillna("")
        pd.testing.assert_frame_equal(table, stored, check_dtype=False)
    titles = [table.title for table in again.tables()]
    assert len(titles) == len(set(titles)) == 10
    back = AnalysisResult.read(read_run(path))
    assert [table.title for table in back.tables()] == titles
    assert titles[0] in repr(back) and f"analyze run in {path}" in repr(back)
    assert back._repr_html_().count("<table>") == len(titles)


def test_models_can_be_left_out(folder: Path, tmp_path: Path):
    run = run_of(folder, "roberta")
    alone = analyze(run, ask_models=False, results=tmp_path)
    assert "negation" not in alone.frames and "agreement" in alone.frames
    assert not (alone.folder / "predictions.parquet").exists()


def test_a_corpus_of_ones_own_is_counted(folder: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text("A robin is a bird. An oak is a tree. A hammer fell.\n")
    run = run_of(folder, "bert")
    made = analyze(run, corpus=[tmp_path / "text.txt"], ask_models=False, results=tmp_path)
    pairs = made.frames["pairs"]
    assert set(pairs["source"]) == {"your corpus"}
    assert pairs[pairs["pattern"] == "is_a"]["n_seen"].tolist()[0] == 2
    assert "your corpus" in set(made.frames["frequency"]["source"])


@pytest.mark.parametrize("broken", ["none", "json", "other", "changed"])
def test_runs_that_cannot_be_analysed(
    folder: Path, tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
):
    run = tmp_path / "run"
    run.mkdir()
    messages = {"none": "no finished run", "json": "is damaged", "other": "is a run of"}
    message = messages.get(broken, "not those")
    if broken == "json":
        (run / "run.json").write_text("{")
    if broken == "other":
        (run / "run.json").write_text('{"command": "classify", "settings": {}, "files": {}}')
    if broken == "changed":
        run = run_of(folder, "bert")
        monkeypatch.setattr("hyperprobe.analysis.analyze.identify", lambda name: {"sha256": {}})
    with pytest.raises(UserError, match=message):
        analyze(run, results=tmp_path)
