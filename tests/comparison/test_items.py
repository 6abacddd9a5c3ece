"""Models on the same items are compared as pairs, by hand computation."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from hyperprobe.comparison.report import comparison_findings, comparison_tables
from hyperprobe.comparison.runs import compare
from hyperprobe.probes.classify.metrics import summarise
from hyperprobe.probes.lama.metrics import add_filtered_rank, summarise_facts
from hyperprobe.runs.files import file_digest

RIGHT = {"a": [1, 1, 1, 1, 1, 1, 0, 0, 1, 1], "b": [1, 1, 0, 0, 0, 0, 0, 0, 1, 0]}


def facts(model: str, first: int = 0) -> pd.DataFrame:
    """Ten facts of two relations of unequal size, with a model's answers."""
    rows = [
        {"source": "s", "relation": "r" if i < 7 else "q", "type": "N-1", "item": f"{i}:x",
         "subject": f"s{i + first}", "gold": f"o{i}", "text": f"{i} [MASK]", "prompt": "p",
         "model": model, "gold_score": -1.0, "gold_rank": 1 if right else 20, "gold_tied": 0,
         "gold_tied_before": 0, "n_subject_pieces": 1.0}
        for i, right in enumerate(RIGHT[model])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def pairs(model: str, shift: int = 0) -> pd.DataFrame:
    """Ten pairs in two folds under two seeds; log-odds above zero say that they are hypernyms."""
    rows = [
        {"setting": "seen", "model": model, "input": "full", "classifier": "net", "layer": "",
         "question": "pair", "fold": i % 2, "seed": seed, "hyponym": f"w{i + shift}",
         "hypernym": "h", "label": 1, "known": True, "log_odds": 1.0 if right else -1.0}
        for seed in (0, 1)
        for i, right in enumerate(RIGHT[model])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def made(folder: Path, command: str, frame: pd.DataFrame, metrics: pd.DataFrame) -> Path:
    folder.mkdir(parents=True)
    frame.to_parquet(folder / "predictions.parquet", index=False)
    metrics.to_csv(folder / "metrics.csv", index=False)
    names = ("predictions.parquet", "metrics.csv")
    files = {name: file_digest(folder / name) for name in names}
    (folder / "run.json").write_text(
        json.dumps({"command": command, "settings": {}, "files": files})
    )
    return folder


def lama(folder: Path, frame: pd.DataFrame) -> Path:
    return made(folder, "lama", frame, summarise_facts(add_filtered_rank(frame)))


def test_facts_are_paired(tmp_path: Path):
    runs = [lama(tmp_path / name, facts(name)) for name in ("a", "b")]
    table = compare(runs, results=tmp_path).differences
    table = table[table["metric"] == "p_at_1"].set_index("setting")
    assert set(table["items"]) == {"same"}
    row = table.loc["s micro raw"]
    assert row["difference"] == pytest.approx(100 * np.mean(np.subtract(*RIGHT.values())))
    # Five facts that only a has right, none that only b has.
    assert row["p_value"] == pytest.approx(binomtest(5, 5, 0.5).pvalue) and row["n_items"] == 10
    # No sample can put b ahead; as separate samples they could not be distinguished so well.
    assert row["difference_low"] >= 0 and row["difference_low"] < 50 < row["difference_high"]
    macro = table.loc["s macro raw"]
    assert macro["difference"] == pytest.approx(100 * (4 / 7 + 1 / 3) / 2)
    assert macro["difference_low"] >= 0
    assert table.loc["s r N-1 raw"]["n_items"] == 7


def test_separate_items_are_said_to_be_separate(tmp_path: Path):
    runs = [lama(tmp_path / "a", facts("a")), lama(tmp_path / "b", facts("b", first=3))]
    table = compare(runs, results=tmp_path).differences
    table = table[table["metric"] == "p_at_1"]
    assert set(table["items"]) == {"separate"} and table["p_value"].isna().all()
    told = list(comparison_findings(table))
    assert told and all(finding.text.endswith("separate items).") for finding in told)
    assert all("separate items" in shown.caption for shown in comparison_tables(table))


def test_pairs_of_words_are_paired(tmp_path: Path):
    frames = {"a": pairs("a"), "b": pairs("b"), "c": pairs("b", shift=5).assign(model="c")}
    runs = [
        made(tmp_path / name, "classify", frame, summarise(frame)) for name, frame in frames.items()
    ]
    table = compare(runs, results=tmp_path).differences
    rows = table[table["metric"] == "accuracy_mean"].set_index(["model", "other"])
    row = rows.loc["a", "b"]
    assert (row["items"], row["n_items"], row["difference"]) == ("same", 10, 50)
    assert row["p_value"] == pytest.approx(binomtest(5, 5, 0.5).pvalue)
    assert row["difference_low"] >= 0
    assert rows.loc["a", "c"]["items"] == "separate"
