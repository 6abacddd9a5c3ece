"""How models are asked is the same in a run and in what analyses ask of them again."""

import json
from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.analysis.analyze import analyze
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.load import load_model
from hyperprobe.options import ModelOptions
from hyperprobe.probes.zero_shot import ask, gather
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.runs import files
from tests.tiny_models import save_model

# Words of several pieces, for which the ways to mask them differ.
LONG = {"bird": "reptile", "fish": "mammal"}
SCORES = ["score_reptile", "score_insect", "score_mammal"]


@pytest.fixture
def nouns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Six nouns; and, to save time, no vectors beside the models and one paraphrase."""
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
    rows = load_diagnostic("lm-diagnostic").drop(columns="negated")
    rows = rows[rows["hypernym"].isin(["bird", "insect", "fish"])].head(6)
    plurals = {f"{word}s": f"{long}s" for word, long in LONG.items()} | {"fish": "mammals"}
    rows = rows.replace({"hypernym": LONG, "hypernym_plural": plurals})
    path = tmp_path / "six.tsv"
    rows.to_csv(path, sep="\t", index=False)
    (tmp_path / "six.templates.toml").write_text(
        'negated = ""\nwordings = ["The {x} is {b} [MASK]."]\n'
    )
    return str(path)


def gold_scores(predictions: pd.DataFrame, model: str) -> pd.DataFrame:
    """The scores of a model's singular probes by item."""
    rows = predictions[predictions["model"] == model]
    if "probe" in rows:
        rows = rows[rows["probe"] == "singular"]
    return rows.set_index("item")[[c for c in predictions if c in SCORES]].sort_index()


@pytest.mark.parametrize(
    ("option", "value"), [("causal_scoring", "continuation"), ("pll", "original")]
)
def test_an_analysis_asks_as_the_run_did(
    option: str, value: str, nouns: str, tiny_models: dict[str, Path], tmp_path: Path
):
    """A run with the fixed article, asked again with the right answer's article, gives the
    numbers of that article, and under the same options."""
    model = str(tiny_models["bert"])
    if option == "causal_scoring":
        model = str(save_model("GPT2", tmp_path / "gpt2"))
    fixed = zero_shot(model, nouns, "fixed", results=tmp_path / "results", **{option: value})
    gold, default = (
        predict(load_model(model, ModelOptions(**keywords)), load_set(nouns), "gold")
        for keywords in ({option: value}, {})
    )
    analysis = analyze(fixed.folder, results=tmp_path / "results")
    again = pd.read_parquet(analysis.folder / "predictions.parquet")
    again = gold_scores(again[again["variant"] == "gold"], model)
    expected = gold_scores(gold, model)
    assert len(expected) == 6 and expected.notna().all(axis=None)
    pd.testing.assert_frame_equal(again, expected, atol=1e-4, check_like=True)
    # The other way to ask gives other numbers, so that this test can fail.
    assert (gold_scores(default, model) - expected).abs().max(axis=None) > 1e-3


def test_options_are_recorded_whole(nouns: str, tiny_models: dict[str, Path], tmp_path: Path):
    made = zero_shot(
        str(tiny_models["bert"]), nouns, results=tmp_path, device="cpu", pll="original"
    )
    notes = json.loads((made.folder / "run.json").read_text())
    expected = ModelOptions("cpu", pll="original").identity()
    assert {key: notes["settings"][key] for key in expected} == expected
    assert notes["options"]["device"] == "cpu"  # which decides no number


def test_the_same_tables_in_parts(
    nouns: str, tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Items asked four at a time are those asked at once, and what is stored is not asked again."""
    model = str(tiny_models["bert"])
    whole = zero_shot(model, nouns, "marginal", "shuffled", tmp_path / "whole")
    monkeypatch.setattr(ask, "ITEMS_AT_ONCE", 4)
    monkeypatch.setattr(gather, "ITEMS_AT_ONCE", 4)
    monkeypatch.setattr(files, "ROWS_AT_ONCE", 10)
    parts = zero_shot(model, nouns, "marginal", "shuffled", tmp_path / "parts")
    for path in whole.folder.glob("*.csv"):
        one, other = (pd.read_csv(run.folder / path.name) for run in (whole, parts))
        numbers = one.select_dtypes("number")
        pd.testing.assert_frame_equal(other[numbers.columns], numbers, rtol=1e-4)
    keys = ["diagnostic", "model", "probe", "item"]
    one, other = (run.predictions.sort_values(keys, ignore_index=True) for run in (whole, parts))
    assert list(one) == list(other)
    exact = [*keys, "gold", "gold_rank", "best"]
    pd.testing.assert_frame_equal(other[exact], one[exact])
    assert len(list(parts.folder.glob("cells/*.parquet"))) == 2
