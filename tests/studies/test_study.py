"""Studies from a file, and the faults that long runs meet: nothing finished is lost or redone."""

import json
import os
import random
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hyperprobe as hp
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot import ask as zero_shot_ask
from hyperprobe.probes.zero_shot.predictions import predict
from hyperprobe.probes.zero_shot.study import StudyResult
from hyperprobe.studies.file import plans, read_study
from hyperprobe.studies.study import study
from tests.commands import end_of, fork, wait_until
from tests.tiny_models import save_model


@pytest.fixture(scope="module")
def models(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three tiny models: a masked, a causal and a seq2seq one."""
    made = [save_model(name, tmp_path_factory.mktemp(name)) for name in ("GPT2", "T5")]
    return [str(folder) for folder in (tiny_models["bert"], *made)]


TWO = {"one": slice(0, 6), "two": slice(6, 12)}
ONE = {"one": TWO["one"]}


def write_study(
    folder: Path, models: list[str], sets: dict[str, slice] = TWO, **settings: object
) -> Path:
    """A study of `models` on two small sets, or on those given."""
    for name, rows in sets.items():
        load_diagnostic("lm-diagnostic").iloc[rows].to_csv(
            folder / f"{name}.tsv", sep="\t", index=False
        )
    lines = [f"models = {json.dumps(models)}"]
    lines.append(f"diagnostics = {json.dumps([str(folder / f'{n}.tsv') for n in sets])}")
    lines += ["[settings]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    path = folder / "mine.toml"
    path.write_text("\n".join(lines))
    return path


def ask(path: Path, results: Path) -> StudyResult:
    """The zero-shot study of a file."""
    result = study(path, results)["zero-shot"]
    assert isinstance(result, StudyResult)
    return result


def test_every_model_under_the_settings_that_matter(models: list[str], tmp_path: Path):
    settings = {"pll": ["within-word", "original"], "causal_scoring": ["full", "continuation"]}
    result = ask(write_study(tmp_path, models, **settings), tmp_path / "results")
    own = result.metrics[result.metrics["model"].isin(models)]
    asked = own.drop_duplicates(["model", "pll", "causal_scoring"])
    assert len(asked) == 6 and len(own) == 12  # two sets
    for name in models[:1]:  # masked
        rows = asked[asked["model"] == name]
        assert set(rows["pll"]) == {"within-word", "original"}
        assert rows["causal_scoring"].isna().all()
    for name in models[1:]:
        rows = asked[asked["model"] == name]
        assert set(rows["causal_scoring"]) == {"full", "continuation"} and rows["pll"].isna().all()
    assert (result.metrics["model"] == "majority").sum() == 2
    files = {path.name for path in result.folder.iterdir() if path.is_file()}
    assert files == {"run.json", "predictions.parquet", "metrics.csv", "adds.csv",
                     "systematic.csv", "mcnemar.csv"}  # fmt: skip
    # One comparison of any two for each combination of settings.
    pair = result.mcnemar[
        (result.mcnemar["model"] == models[0]) & (result.mcnemar["other"] == models[2])
    ]
    assert len(pair.drop_duplicates(["pll", "causal_scoring"])) == 4
    notes = json.loads((result.folder / "run.json").read_text())
    assert notes["peak_memory_mb"]["ram"] > 100


def test_checkpoints_under_each_setting(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.EMBEDDED_VECTORS", ())
    for step, source in (("step1", models[0]), ("checkpoint-20", models[0])):
        shutil.copytree(source, tmp_path / "out" / step)
    names = [f"{tmp_path / 'out'}@{revision}" for revision in ("step1", "20")]
    asked = write_study(tmp_path, names, pll=["within-word", "original"])
    result = study(asked, tmp_path / "results")["zero-shot"]
    keys = ["diagnostic", "pll", "probe"]
    assert set(result.steps["step"]) == {1, 20}
    assert {tuple(rows["step"]) for _, rows in result.steps.groupby(keys)} == {(1, 20)}
    # Equal weights: nothing grows, under either setting.
    assert set(result.growth["pll"]) == {"within-word", "original"}
    assert len(result.growth) == len(result.growth.drop_duplicates(keys))
    assert (result.growth["adds"] == 0).all() and (result.growth["p_holm"] == 1).all()
    assert "out original over training steps" in repr(result)
    page = hp.report([result.folder], results=tmp_path).folder / "report.md"
    assert "Accuracy of out original over training steps" in page.read_text()


def test_article_policies_share_what_no_article_changes(models: list[str], tmp_path: Path):
    policies = ["gold", "fixed", "marginal"]
    plan = write_study(tmp_path, models[:1], article=policies)
    result = study(plan, tmp_path)["zero-shot"]
    notes = json.loads((result.folder / "run.json").read_text())["models"]
    read = [about["tokens_read"] for about in notes.values() if about["kind"] == "masked"]
    assert len(read) == 6  # on two sets
    assert 0 < sum(read) < 1.6 * sum(read[:2])
    scores = [c for c in result.predictions if c.startswith("score_")]
    sets = [load_set(str(tmp_path / f"{name}.tsv")) for name in ("one", "two")]
    model = load_model(models[0])
    for policy in policies:
        alone = pd.concat([predict(model, one, policy) for one in sets], ignore_index=True)
        rows = result.predictions[result.predictions["article"] == policy]
        rows = rows[rows["model"].str.endswith(models[0])].reset_index(drop=True)
        assert (rows[["item", "probe", "best"]] == alone[["item", "probe", "best"]]).all(axis=None)
        assert np.allclose(rows[scores], alone[scores], atol=1e-5, equal_nan=True)


def test_a_study_that_grows_costs_what_is_new(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = ask(write_study(tmp_path, models[:1], ONE), tmp_path)
    cells = {path: path.stat().st_mtime_ns for path in tmp_path.glob("study/cells/*")}
    tables = {path: path.read_bytes() for path in first.folder.iterdir()}
    asked: list[str] = []
    original = zero_shot_ask.load_model
    monkeypatch.setattr(
        zero_shot_ask,
        "load_model",
        lambda name, *how: (asked.append(name), original(name, *how))[1],
    )
    second = ask(write_study(tmp_path, [models[0], models[2]], ONE), tmp_path)
    assert asked == [models[2]] and second.folder != first.folder
    assert cells and all(path.stat().st_mtime_ns == when for path, when in cells.items())
    assert {path: path.read_bytes() for path in first.folder.iterdir()} == tables
    both = second.metrics[second.metrics["model"] == models[0]].reset_index(drop=True)
    alone = first.metrics[first.metrics["model"] == models[0]].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, alone)


def test_files_of_one_name_do_not_overwrite_each_other(models: list[str], tmp_path: Path):
    results = tmp_path / "results"
    made = []
    for name, own in (("a", models[:1]), ("b", models[1:2])):
        (tmp_path / name).mkdir()
        made.append(ask(write_study(tmp_path / name, own, ONE), results))
    assert made[0].folder != made[1].folder
    for result in made:
        assert len(pd.read_csv(result.folder / "metrics.csv")) == len(result.metrics)
    moved = tmp_path / "a" / "mine.toml"
    again = ask(moved.rename(tmp_path / "mine.toml"), results)
    assert again.folder == made[0].folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = [", "bad.toml: not TOML"),
        ("model = 'embedded'", "unknown key model: choose from models"),
        ("models = []", "models: must name one at least"),
        ("diagnostics = []", "diagnostics: must name one at least"),
        ("models = [1]", r"models: must be a text or a list of texts, not \[1\]"),
        ("models = ['']", "models: must be a text or a list of texts"),
        ("models = 2020-01-01", "models: must be a text or a list of texts"),
        ("settings = 'gold'", "settings: .* a valid dictionary"),
        ("[settings]\ndtype = 32", "dtype.0: should be 'fp32', .* not 32"),
        ("models = " + "[" * 2000 + "]" * 2000, "bad.toml: not TOML"),
        ("models = " + "9" * 5000, "bad.toml: "),
        ("[settings]\nbatch = '1'", "unknown setting batch: choose from article"),
        ("[settings]\npll = 'half'", "pll.0: should be 'within-word', .* not 'half'"),
        ("controls = 'none'", "controls.0: should be 'shuffled' or 'random', not 'none'"),
        (
            "[lama]\nsource = 'trex'",
            r"\[lama\]: unknown option source: choose from models",
        ),
        ("[lama]\nlowercase = 1", "lowercase: should be a valid boolean, not 1"),
        ("[pairs]", r"bad.toml, \[pairs\]: no files: the probe needs it"),
        ("lama = 'trex'", r"\[lama\]: should be a valid dictionary"),
        ("[prompts.search]\nstep = 3", "search.step: Extra inputs are not permitted"),
        ("[lama]\n[settings]", r"settings belongs to one probe: move it into \[zero-shot\]"),
    ],
)
def test_a_file_that_is_no_study(tmp_path: Path, text: str, message: str):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_study(tmp_path / "bad.toml")
    with pytest.raises(UserError, match="no study .*none.toml: check the name"):
        read_study(tmp_path / "none.toml")


def test_the_files_in_the_documentation_are_studies(tmp_path: Path):
    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    asked = []
    for block in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (tmp_path / "one.toml").write_text(block)
        asked.append(read_study(tmp_path / "one.toml").probes)
    assert set(asked[0]) == set(plans()) and asked[0]["classify"]["models"] == ["bert-base-uncased"]
    assert set(asked[1]) == {"zero-shot"} and len(asked[2]["zero-shot"]["models"]) == 3


# -- faults --------------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def start(path: Path, results: Path, limit: int = 0) -> int:
    """The study's command in a fork: its process id. What it says goes beside `results`."""
    return fork(path.parent, "study", path.name, "--results", str(results), limit=limit)


def cells_of(results: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in results.glob("*/cells/*.parquet")}


@pytest.fixture(scope="module")
def whole(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    """A study of two models on two sets that ends, its run, and how many seconds that took."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_study(folder, models[:2])
    began = time.monotonic()
    return path, ask(path, folder / "results").folder, time.monotonic() - began


def test_kills_at_random_moments_lose_nothing(whole: tuple[Path, Path, float], results: Path):
    study_file, run, took = whole
    moments = random.Random(0)
    seen: dict[Path, int] = {}
    n_kills = 0
    for _ in range(4):
        child = start(study_file, results)
        time.sleep(moments.uniform(0, took / 2))
        os.kill(child, signal.SIGKILL)
        n_kills += end_of(child) == -signal.SIGKILL
        now = cells_of(results)
        assert all(now[path] == when for path, when in seen.items())  # none lost, none redone
        seen = now
    assert n_kills >= 2
    assert end_of(start(study_file, results)) == 0
    done = cells_of(results)
    assert all(done[path] == when for path, when in seen.items())
    # Two models and the vectors on two sets; and what killed writers left is gone.
    assert len(done) == 6 and not list(results.rglob("*.partial"))
    assert (results / run.name / "metrics.csv").read_bytes() == (run / "metrics.csv").read_bytes()


def test_ctrl_c_in_a_study(models: list[str], results: Path, tmp_path: Path):
    path = write_study(tmp_path, models)
    child = start(path, results)
    wait_until(child, lambda: cells_of(results))
    os.kill(child, signal.SIGINT)
    assert end_of(child) == 130
    said = (tmp_path / "said.txt").read_text()
    assert said.count("\n") == 2 and "the same command continues" in said
    assert not list(results.rglob("run.json"))


def test_a_full_disk(whole: tuple[Path, Path, float], results: Path):
    """Files of at most some kilobytes stand for a disk that runs full in the middle."""
    study_file, run, _ = whole
    largest_cell = max(cell.stat().st_size for cell in run.parent.glob("study/cells/*"))
    assert (run / "predictions.parquet").stat().st_size > largest_cell
    assert end_of(start(study_file, results, limit=largest_cell)) == 2
    said = (study_file.parent / "said.txt").read_text()
    assert said.count("\n") == 2 and "cannot write" in said and "free some space" in said
    kept = cells_of(results)
    assert kept and not list(results.rglob("*.partial")) and not list(results.rglob("run.json"))
    assert end_of(start(study_file, results)) == 0
    again = cells_of(results)
    assert all(again[path] == when for path, when in kept.items())


def test_a_folder_that_is_read_only(models: list[str], monkeypatch: pytest.MonkeyPatch):
    """As an ordinary user where the tests run as root, who may write anywhere."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = write_study(folder, models)
        (folder / "results").mkdir()
        (folder / "results").chmod(0o555)
        if os.geteuid() == 0:
            monkeypatch.setattr(os, "access", lambda place, mode: mode & os.W_OK == 0)

        def no_model(*how: object) -> None:
            raise AssertionError("a model was loaded for what could not be stored")

        monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.load_model", no_model)
        with pytest.raises(UserError, match=r"cannot write .*read-only .*--results"):
            study(path, folder / "results")
    finally:
        (folder / "results").chmod(0o755)
        shutil.rmtree(folder)


def test_a_corrupt_run_file_is_written_anew(models: list[str], tmp_path: Path):
    first = ask(write_study(tmp_path, models[:1], ONE), tmp_path)
    (first.folder / "run.json").write_text('{"command": "stu')
    (first.folder / "metrics.csv").write_text("diag")
    again = ask(write_study(tmp_path, models[:1], ONE), tmp_path)
    assert json.loads((again.folder / "run.json").read_text())["command"] == "study"
    assert len(pd.read_csv(again.folder / "metrics.csv")) == len(first.metrics)
