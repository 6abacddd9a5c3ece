"""The exported dataset, read by the tools that it is for."""

import json
from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.exports.hf_dataset import export_hf_dataset
from tests.commands import run

SET = "lm-diagnostic"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    export_hf_dataset(folder, [SET], "gold")
    return folder


def test_the_files_hold_the_set(folder: Path):
    items = pd.read_json(folder / "items.jsonl", lines=True)
    ours = load_diagnostic(SET)
    assert items["hyponym"].tolist() == ours["hyponym"].tolist()
    assert items["zipf"].tolist() == pytest.approx(ours["zipf"].tolist())
    questions = [json.loads(line) for line in (folder / "questions.jsonl").open()]
    plural = dict(zip(ours["hyponym"], ours["hypernym_plural"], strict=True))
    asked = [one for one in questions if one["probe"] == "plural"]
    assert {one["noun"]: one["candidates"][one["gold"]] for one in asked} == plural


def test_datasets_loads_it(folder: Path, tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    keep = {"cache_dir": str(tmp_path), "split": "test"}
    items = datasets.load_dataset(str(folder), **keep)  # the default configuration
    assert items["hyponym"] == load_diagnostic(SET)["hyponym"].tolist()
    questions = datasets.load_dataset(str(folder), "questions", **keep)
    first = next(one for one in questions if one["probe"] == "singular")
    assert first["candidates"][first["gold"]] == first["category"]


def test_mlcroissant_validates_it_and_reads_its_records(folder: Path):
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    items = list(dataset.records("items"))
    assert [one["items/hyponym"].decode() for one in items] == (
        load_diagnostic(SET)["hyponym"].tolist()
    )
    question = next(iter(dataset.records("questions")))
    assert question["questions/gold"] in range(len(question["questions/candidates"]))


def test_a_set_of_ones_own_has_no_licence_of_ours(tmp_path: Path):
    rows = load_diagnostic(SET).head(12)
    rows.to_csv(tmp_path / "mine.tsv", sep="\t", index=False)
    done = run(tmp_path, "export", "hf-dataset", "out", "--diagnostic", "mine.tsv")
    assert "12 items" in done.stderr, done.stderr
    card = (tmp_path / "out" / "README.md").read_text()
    assert "None is stated" in card and "license" not in card
    assert "license" not in json.loads((tmp_path / "out" / "croissant.json").read_text())
