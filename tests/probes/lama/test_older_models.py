"""The LAMA paper's older models in the probes: many relations and a kill, zero-shot, a study."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hyperprobe.analysis.variants import ask_again
from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.load import load_model
from hyperprobe.probes.lama import probe
from hyperprobe.probes.lama.predictions import predict_facts
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.probes.zero_shot.outcomes import outcome_table
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.probes.zero_shot.study import plan_settings
from hyperprobe.runs.read import read_run
from tests.commands import finished_cells, kill_after, run
from tests.lama_files import SAVERS
from tests.tiny_models import save_model

N_RELATIONS = 8
GONE = "vegetable"  # in no vocabulary of `SAVERS`
SUBJECTS = ("robin", "sparrow", "oak")
OBJECTS = ("bird", "fish", "tree", "bird")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of one model of each family, and GPT-1."""
    folder = tmp_path_factory.mktemp("models")
    names = [f"{family}:{save(folder / family)}" for family, save in SAVERS.items()]
    return [*names, str(save_model("OpenAIGPT", folder / "gpt-1"))]


def write_relations(folder: Path) -> Path:
    """Relations in LAMA's layout, a few facts each."""
    (folder / "data").mkdir(parents=True)
    relations = [
        {"relation": f"P{i}", "template": f"[X] {'is ' * (i % 5)}a [Y] .", "type": "N-1"}
        for i in range(N_RELATIONS)
    ]
    (folder / "relations.jsonl").write_text("".join(json.dumps(r) + "\n" for r in relations))
    for i in range(N_RELATIONS):
        rows = [
            {"uuid": f"{i}-{subject}", "sub_label": subject, "obj_label": OBJECTS[(i + j) % 4]}
            for j, subject in enumerate(SUBJECTS)
        ]
        path = folder / "data" / f"P{i}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "data"


def test_a_killed_run_over_relations_goes_on(
    tmp_path: Path, models: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(probe, "EMBEDDED_VECTORS", ())
    source = str(write_relations(tmp_path / "facts"))
    models = models[:3]
    asked = [word for name in models for word in ("--model", name)]
    command = ["lama", *asked, "--source", source, "--json"]
    whole = json.loads(run(tmp_path, *command, "--results", "whole").stdout)["rows"]
    n_cells = len(models) * N_RELATIONS
    before = kill_after(tmp_path, command, 10)
    assert 10 <= len(before) < n_cells
    rows = json.loads(run(tmp_path, *command).stdout)["rows"]
    after = finished_cells(tmp_path)
    assert len(after) == n_cells and all(after[path] == time for path, time in before.items())
    assert rows == whole
    (folder,) = (tmp_path / "results").glob("lama-*")
    table = read_run(folder).table("predictions.parquet")
    for name in models:
        of_model = table[table["model"] == name]
        assert len(of_model) == N_RELATIONS * len(SUBJECTS)
        assert (of_model["gold_rank"] > 0).all() and np.isfinite(of_model["gold_score"]).all()
    described = read_run(folder).notes["models"].values()
    kinds = [one["kind"] for one in described if one["name"] in models]
    assert set(kinds) == set(SAVERS)


def test_gpt_1_knows_whole_words_and_its_vocabulary_is_lower_case(models: list[str]):
    model = load_model(models[-1])
    assert type(model.model).__name__ == "OpenAIGPTLMHeadModel" and model.kind == "causal"  # type: ignore[attr-defined]
    assert {"bird", "robin"} <= set(model.words())
    assert not any(word.endswith("</w>") for word in model.words())
    assert model.single_tokens(["bird", "Bird"]) == [True, False]  # type: ignore[attr-defined]
    relation = Relation("mine", "P1", Path("P1.jsonl"), "[Y] is what a [X] is .", None, "N-1")
    facts = [Fact("1", "robin", "bird"), Fact("2", "oak", "tree")]
    table = predict_facts(model, relation, facts, CandidateSet(("bird", "fish", "tree")))
    assert (table["gold_rank"] > 0).all() and np.isfinite(table["gold_score"]).all()


@pytest.mark.parametrize("number", range(3))
def test_zero_shot_and_its_analyses_ask_them(number: int, models: list[str]):
    asked_set = load_set("lm-diagnostic")
    kept = asked_set.frame["hypernym"].isin(("fish", GONE, "tool"))
    asked_set = replace(asked_set, frame=asked_set.frame[kept])
    for name in (models[number], f"random:{models[number]}"):
        model = load_model(name)
        for article in ("gold", "marginal"):
            table = predict(model, asked_set, article)  # type: ignore[arg-type]
            singular = table[(table["model"] == name) & (table["probe"] == "singular")]
            assert len(singular) == 6
            assert (singular["gold_rank"] > 0).tolist() == (singular["gold"] != GONE).tolist()
            outcomes = outcome_table(table[table["model"] == name])
            assert outcomes["singular_pmi"].notna().all()
    varied = ask_again(model, asked_set, "gold")
    assert varied["variant"].nunique() > 5 and (varied["gold_rank"] > 0).any()


def test_a_study_asks_what_touches_their_numbers(tmp_path: Path, models: list[str]):
    names = [models[0], f"{models[1]}?memory=none", f"{models[2]}?state=zero-state-1"]
    job = plan_settings(
        names, "lm-diagnostic", article=["gold", "marginal"], pll=["original", "within-word"],
        causal_scoring=["full", "continuation"], results=tmp_path,
    )  # fmt: skip
    # The third is not causal: two articles each, and two scorings of the first two.
    asked = Counter(cell.model for cell in job.cells if cell.model in names)
    assert asked == dict(zip(names, (4, 4, 2), strict=True))
