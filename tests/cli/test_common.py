"""What all commands share: --quiet, examples, short names, few items, small batches, lists."""

import json
import re
from pathlib import Path

import pytest

from hyperprobe import load, zero_shot
from hyperprobe.aliases import as_given, target
from hyperprobe.built import build
from hyperprobe.cli.common import app
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.errors import UserError
from hyperprobe.model_names import distinct_models, is_vectors, model_path
from hyperprobe.options import ModelOptions
from hyperprobe.reporting.report import report
from hyperprobe.runs.read import read_run
from tests.commands import run


def commands() -> list[list[str]]:
    import typer.main

    groups = {(): typer.main.get_command(app)}
    found = []
    while groups:
        words, group = groups.popitem()
        for name, command in group.commands.items():
            found.append([*words, name])
            if hasattr(command, "commands"):
                groups[(*words, name)] = command
    return [words for words in found if words not in (["contexts"], ["export"])]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_an_example_and_can_be_quiet(words: list[str], tmp_path: Path):
    said = run(tmp_path, *words, "--help", COLUMNS="200").stdout
    assert f"Example: hyperprobe {' '.join(words)}" in said
    assert "--quiet" in said


def test_quiet_leaves_results_and_errors(tmp_path: Path):
    loud, quiet = (run(tmp_path, "contexts", "check", *more) for more in ((), ("--quiet",)))
    assert "sentences" in loud.stderr and quiet.stderr == "" and quiet.stdout == loud.stdout
    wrong = run(tmp_path, "report", "nowhere", "-q")
    assert wrong.returncode == 2 and "no finished run" in wrong.stderr
    assert run(tmp_path, "contexts", "check").stderr == loud.stderr  # the next one is loud again


def test_a_model_has_the_name_that_it_is_given(tiny_models: dict[str, Path], tmp_path: Path):
    given = f"mine={tiny_models['bert']}"
    asked = ("zero-shot", "--model", given, "--diagnostic", "lm-diagnostic", "--results", "r")
    done = run(tmp_path, *asked, "--json")
    rows = json.loads(done.stdout)["rows"]
    assert {"mine", "control:mine"} <= {row["model"] for row in rows}
    assert str(tiny_models["bert"]) not in done.stdout
    (folder,) = (tmp_path / "r").iterdir()
    made = read_run(folder)
    assert given in made.command_line and "mine" in made.notes["settings"]["models"]
    assert "--key-env" not in made.command_line  # no server was asked
    # The same model under its path has the same numbers.
    plain = zero_shot([str(tiny_models["bert"])], ["lm-diagnostic"], results=tmp_path / "p")
    numbers = made.table("metrics.csv").select_dtypes("number")
    assert numbers.equals(read_run(plain.folder).table("metrics.csv").select_dtypes("number"))
    assert run(tmp_path, "analyze", str(folder), "--results", "r").returncode == 0


def test_paths_with_an_equals_sign_and_names_that_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hyperprobe.aliases._TARGETS", {})
    monkeypatch.chdir(tmp_path)
    Path("lr=3").mkdir()
    assert distinct_models(["lr=3", "./a=b/c", "elmo:x?state=reference-order"]) == [
        "lr=3",
        "./a=b/c",
        "elmo:x?state=reference-order",
    ]
    assert distinct_models(["step.9=lr=3"]) == ["step.9"] and target("step.9") == "lr=3"
    assert model_path("random:step.9") == Path("lr=3") and target("random:step.9") == "random:lr=3"
    assert as_given("step.9") == "step.9=lr=3" and as_given("lr=3") == "lr=3"
    Path("v.txt").touch()
    assert is_vectors(*distinct_models(["mine=v.txt"]))
    for wrong in ("majority=lr=3", "embedded=lr=3", "word2vec=v.txt"):
        with pytest.raises(UserError, match="name of something else"):
            distinct_models([wrong])
    with pytest.raises(UserError, match="two models are called a"):
        distinct_models(["a=x", "a=y"])


def test_few_items_of_each_set_and_small_batches(tiny_models: dict[str, Path], tmp_path: Path):
    few = load_set("lm-diagnostic-extended").first(10)
    whole = load_set("lm-diagnostic-extended")
    assert len(few.frame) == 10 and list(few.categories) == list(whole.categories)
    assert few.digest != whole.digest and len(whole.first(10_000).frame) == len(whole.frame)
    with pytest.raises(UserError, match="9 categories"):
        whole.first(8)
    model = str(tiny_models["bert"])
    made, small = (
        zero_shot(model, ["lm-diagnostic"], results=tmp_path / str(size), limit=9, batch_size=size)
        for size in (None, 2)
    )
    assert made.folder.name == small.folder.name  # batches are no part of a run's identity
    assert set(made.metrics["n_items"]) == {9}
    scores = [c for c in made.predictions if c.startswith("score_")]
    assert made.predictions[scores].sub(small.predictions[scores]).abs().max(axis=None) < 1e-4
    with pytest.raises(UserError, match="--batch-size"):
        ModelOptions(batch_size=0)


def test_settings_that_touch_no_model_start_no_new_run():
    causal = ModelOptions(pll="original", causal_scoring="continuation")
    assert causal.identity_of(lambda: ["causal_scoring"]) == causal.identity() | {
        "pll": "within-word"
    }
    assert causal.identity_of(lambda: ["pll", "causal_scoring"]) == causal.identity()
    assert causal.identity_of(list) == ModelOptions().identity()


def test_built_sets_are_read_back_listed_and_shown(tmp_path: Path):
    made = build(["lm-diagnostic"], results=tmp_path)
    back = load(made.folder)
    assert repr(back) == repr(made) and "lm-diagnostic (18 items)" in repr(back)
    page = report(made.folder, results=tmp_path / "reports").html.read_text()
    assert "Diagnostic sets (run A)" in page and ">vegetable</th>" in page
    (tmp_path / "zero-shot-0000000000" / "cells").mkdir(parents=True)
    listed = run(tmp_path, "ls", "--results", ".").stdout
    assert f"{made.folder.name}" in listed and "unfinished" in listed
    sets = run(tmp_path, "ls", "sets", "--results", ".").stdout
    assert re.search(r"lm-diagnostic-extended +576 +9", sets)
    assert f"{made.folder.name}/lm-diagnostic" in sets
    assert "The [X] is a kind of [Y] ." in run(tmp_path, "ls", "relations").stdout
    nothing = run(tmp_path, "ls", "--results", "nowhere")
    assert nothing.stdout == "" and "no run in nowhere" in nothing.stderr
