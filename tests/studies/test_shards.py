"""Studies of several probes and shards: what is shared, how it is split, and equal bytes."""

import json
import os
import random
import re
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import hyperprobe as hp
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.errors import UserError
from hyperprobe.models import pretrained
from hyperprobe.probes.classify.folds import folds_of
from hyperprobe.probes.zero_shot.ask import COST
from hyperprobe.runs.jobs import Cell, Job
from hyperprobe.runs.read import read_run
from hyperprobe.runs.run import Run
from hyperprobe.studies import shards
from hyperprobe.studies.file import read_study, with_revisions
from hyperprobe.studies.shards import Piece, Shard, parse_shard, part_of
from hyperprobe.studies.state import State, duration
from hyperprobe.studies.study import Study, plan_study, study
from tests import commands
from tests.tiny_models import save_model

PAIRS = "hyponym\thypernym\tlabel\nrobin\tbird\t1\nbird\trobin\t0\nrobin\ttree\t0\noak\ttree\t1\n"
WORDS = ("bird", "building", "car", "fish", "flower", "insect", "oak", "tool")
SUBJECTS = ("robin", "sparrow", "trout", "salmon", "ant", "bee", "hammer", "saw", "rose", "tulip")
ABOUT = {"relation": "P1", "template": "[X] is a [Y] .", "type": "N-1"}
Write = Callable[..., Path]
FOLDS = cache(folds_of)


@pytest.fixture(scope="module")
def inputs(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tiny models, six nouns, four pairs, eight words and ten facts."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "bert").symlink_to(tiny_models["bert"])
    save_model("GPT2", folder / "gpt2")
    load_diagnostic("lm-diagnostic").iloc[:6].to_csv(folder / "few.tsv", sep="\t", index=False)
    (folder / "pairs.tsv").write_text(PAIRS)
    (folder / "words.txt").write_text("\n".join(WORDS))
    facts = folder / "facts"
    (facts / "Mine").mkdir(parents=True)
    (facts / "relations.jsonl").write_text(json.dumps(ABOUT))
    rows = [{"sub_label": s, "obj_label": WORDS[i // 2]} for i, s in enumerate(SUBJECTS)]
    (facts / "Mine" / "P1.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture
def write(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes `mine.toml`: tables of options, for both models or those named. One of the three
    vector baselines is asked, and figures are not drawn, to save time."""
    monkeypatch.setattr(
        "hyperprobe.probes.classify.probe.folds_of",
        lambda name, contexts, settings, seed: FOLDS(name, tuple(contexts), settings, seed),
    )
    monkeypatch.chdir(inputs)

    def write(models: list[str] | None = None, **tables: dict[str, Any]) -> Path:
        lines = [f"models = {json.dumps(models or ['bert', 'gpt2'])}"]
        for name, table in tables.items():
            lines.append(f"[{name.replace('_', '-')}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        (tmp_path / "mine.toml").write_text("\n".join(lines))
        return tmp_path / "mine.toml"

    return write


QUICK: dict[str, dict[str, Any]] = {
    "zero_shot": {"diagnostics": "few.tsv", "pll": ["within-word", "original"]},
    "pairs": {"files": "pairs.tsv"},
    "lama": {"vocab": "words.txt", "sources": "facts"},
}
EVERY: dict[str, dict[str, Any]] = {
    **QUICK,
    "consistency": {"diagnostics": "few.tsv"},
    "prompts": {"vocab": "words.txt", "methods": ["optiprompt"], "sources": "facts"},
    "classify": {},
}


def keys_of(planned: Study) -> dict[str, set[str]]:
    """What each probe stores its cells under."""
    return {probe: {job.key(cell) for cell in job.cells} for probe, job in planned.jobs.items()}


# -- what decides a cell -----------------------------------------------------------------


def test_a_model_more_costs_that_model_alone(write: Write, tmp_path: Path):
    before = keys_of(plan_study(write(["bert"], **EVERY), tmp_path))
    planned = plan_study(write(["bert", "gpt2"], **EVERY), tmp_path)
    after = keys_of(planned)
    assert list(after) == ["zero-shot", "consistency", "lama", "classify", "prompts", "pairs"]
    for probe, keys in after.items():
        assert before[probe] < keys
        new = [cell for cell in planned.jobs[probe].cells
               if planned.jobs[probe].key(cell) not in before[probe]]  # fmt: skip
        assert {cell.model.removeprefix("random:") for cell in new} == {"gpt2"}
    folders = [job.run.folder.name for job in planned.jobs.values()]
    assert all(
        name.startswith(f"{'study' if probe == 'zero-shot' else probe}-mine-")
        for probe, name in zip(after, folders, strict=True)
    )


@pytest.mark.parametrize(
    ("probe", "changed"),
    [
        ("zero_shot", {"controls": "shuffled"}),
        ("zero_shot", {"diagnostics": "lm-diagnostic"}),
        ("consistency", {"pll": "original"}),
        ("consistency", {"dtype": "bf16"}),
        ("lama", {"lowercase": True}),
        ("lama", {"multi_token": True}),
        ("lama", {"vocab": None}),
        ("classify", {"n_seeds": 1}),
        ("prompts", {"vocab": None}),
        ("prompts", {"dtype": "bf16"}),
        ("pairs", {"causal_scoring": "continuation"}),
    ],
)
def test_no_cell_is_taken_for_another(
    probe: str, changed: dict[str, Any], write: Write, tmp_path: Path
):
    options = EVERY[probe]
    before = keys_of(plan_study(write(**{probe: options}), tmp_path))
    other = {key: value for key, value in (options | changed).items() if value is not None}
    after = keys_of(plan_study(write(**{probe: other}), tmp_path))
    (name,) = before
    assert before[name] and after[name] and not before[name] & after[name]


def test_a_cell_of_changed_files_is_another(write: Write, inputs: Path, tmp_path: Path):
    path = write(["bert"], lama=EVERY["lama"], pairs=EVERY["pairs"])
    before = keys_of(plan_study(path, tmp_path))
    try:
        (inputs / "words.txt").write_text("\n".join(WORDS[:-1]))
        (inputs / "pairs.tsv").write_text(f"{PAIRS}oak\tbird\t0\n")
        after = keys_of(plan_study(path, tmp_path))
    finally:
        (inputs / "words.txt").write_text("\n".join(WORDS))
        (inputs / "pairs.tsv").write_text(PAIRS)
    assert not before["lama"] & after["lama"] and not before["pairs"] & after["pairs"]
    assert keys_of(plan_study(path, tmp_path)) == before
    assert not keys_of(plan_study(path, tmp_path, seed=1))["lama"] & before["lama"]


def test_revisions_are_models():
    names = ["embedded", "glove", "x/pythia", "y/olmo@main", "some.vec"]
    expected = ["embedded", "glove", "x/pythia@step1", "x/pythia@step2", "y/olmo@main", "some.vec"]
    assert with_revisions(names, ["step1", "step2"]) == expected
    assert with_revisions(names, []) == names


def test_a_table_may_have_its_own_models(tmp_path: Path):
    path = tmp_path / "two.toml"
    path.write_text('models = "a"\nrevisions = ["r", "s"]\n[lama]\nmodels = ["b"]\n[zero-shot]\n')
    read = read_study(path)
    assert read.name == "two" and list(read.probes) == ["zero-shot", "lama"]
    assert read.probes["lama"] == {"models": ["b@r", "b@s"]}
    assert read.probes["zero-shot"] == {"models": ["a@r", "a@s"]}


# -- the split ----------------------------------------------------------------------------


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60), st.integers(1, 20))
def test_shards_are_a_partition_and_balanced(work: list[float], n: int):
    job = Job(Run("results", "toy", {}), (), lambda run, frames: None)
    cells = [Cell(str(i), "m", i, lambda models: (pd.DataFrame(), None)) for i in range(len(work))]
    pieces = [Piece("toy", job, cell, one) for cell, one in zip(cells, work, strict=True)]
    parts = [part_of(pieces, Shard(i + 1, n)) for i in range(n)]
    assert [piece for part in parts for piece in part] == pieces
    for part in parts:
        assert sum(piece.work for piece in part) <= sum(work) / n + max(work) * 1.0001


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "-1/2", "²/3"])
def test_what_is_no_shard(text: str):
    with pytest.raises(UserError, match="--shard .*: write I/N"):
        parse_shard(text)


def test_a_large_model_is_more_work(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sizes = {"bert": 90_000_000, "gpt2": 0}
    monkeypatch.setattr(shards, "n_parameters", lambda name, remote: sizes[name])
    planned = plan_study(write(zero_shot=EVERY["zero_shot"]), tmp_path)
    works = {piece.cell.model: piece.work for piece in planned.pieces}
    assert works["bert"] == pytest.approx(10 * works["gpt2"])
    assert works["gpt2"] == works["word2vec"] == 6 * COST


# -- shards and one process give the same -------------------------------------------------


def files_of(results: Path) -> dict[str, Any]:
    """The content of every file of the runs, but for when, where and how long they were made."""
    found: dict[str, Any] = {}
    for path in results.rglob("*"):
        if not path.is_file():
            continue
        content: Any = path.read_bytes()
        if path.suffix == ".json":
            content = json.loads(content)
            for key in ("seconds", "peak_memory_mb", "started", "finished"):
                content.pop(key, None)
            content.get("options", {}).pop("results", None)
        found[str(path.relative_to(results))] = content
    return found


def test_seven_shards_in_any_order_are_one_process(write: Write, tmp_path: Path):
    prompts = EVERY["prompts"] | {"methods": "manual", "controls": "none"}
    path = write(lama=QUICK["lama"], prompts=prompts, pairs=QUICK["pairs"])
    whole = study(path, tmp_path / "whole")
    order = [f"{i}/7" for i in range(1, 8)]
    random.Random(1).shuffle(order)
    for shard in order[:-1]:
        planned = plan_study(path, tmp_path / "shards", shard=shard)
        assert planned.own and planned.run() == {}
        assert not planned.state().missing and planned.missing_elsewhere()
        assert not list((tmp_path / "shards").rglob("run.json"))
    results = study(path, tmp_path / "shards", shard=order[-1])
    assert list(results) == list(whole) == ["lama", "prompts", "pairs"]
    assert files_of(tmp_path / "shards") == files_of(tmp_path / "whole")
    for name, result in results.items():  # runs as any others
        assert hp.load(result.folder).folder == result.folder
        assert read_run(result.folder).command == name


def test_two_shards_at_once_and_one_that_is_killed(write: Write, inputs: Path, tmp_path: Path):
    path = write(zero_shot={"diagnostics": "few.tsv"}, pairs=QUICK["pairs"])
    assert (
        commands.run(inputs, "study", str(path), "--results", f"{tmp_path}/whole").returncode == 0
    )
    results = str(tmp_path / "results")
    run = ("study", str(path), "--results", results, "--shard")
    killed = commands.fork(inputs, *run, "1/2")
    stored = Path(results).glob
    commands.wait_until(killed, lambda: list(stored("*/cells/*.parquet")))
    os.kill(killed, signal.SIGKILL)
    assert commands.end_of(killed) == -signal.SIGKILL
    done = {cell: cell.stat().st_mtime_ns for cell in stored("*/cells/*.parquet")}
    assert done
    both = [commands.fork(inputs, *run, shard) for shard in ("1/2", "2/2")]
    assert [commands.end_of(child) for child in both] == [0, 0]
    assert all(cell.stat().st_mtime_ns == when for cell, when in done.items())
    assert files_of(Path(results)) == files_of(tmp_path / "whole")
    assert not list(stored("**/*.partial"))


def test_two_shards_that_both_finish(write: Write, tmp_path: Path):
    path = write(pairs=QUICK["pairs"])
    both = [plan_study(path, tmp_path) for _ in range(2)]
    first = both[0].run()["pairs"]
    before = files_of(tmp_path)
    (first.folder / "run.json").unlink()  # the other one saw all cells, and no run yet
    assert both[1].run()["pairs"].folder == first.folder and files_of(tmp_path) == before


# -- the plan -----------------------------------------------------------------------------


def test_the_plan_is_shown_and_nothing_done(
    write: Write, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write(**QUICK)
    asked = ("study", str(path), "--results", str(tmp_path / "results"))
    with monkeypatch.context() as patch:
        patch.setattr(pretrained, "_read_weights", None)
        done = commands.run(inputs, *asked, "--dry-run", COLUMNS="80")
    assert done.returncode == 0 and not (tmp_path / "results").exists(), done.stderr
    assert "study mine: 10 cells, 0 done, 10 missing" in done.stdout
    assert re.search(r"zero-shot +4 +0 +4 +–", done.stdout)
    part = commands.run(inputs, *asked, "--shard", "1/3")
    said = part.stderr.splitlines()
    assert re.fullmatch(r"study mine: \d cells, 0 done, \d missing", said[0])
    assert re.fullmatch(r"\d+ cells of other shards are missing: .*", said[1])
    assert part.returncode == 0 and part.stdout == ""
    after = commands.run(inputs, *asked, "--dry-run", COLUMNS="80").stdout
    assert re.search(r"zero-shot +4 +[1-4] +\d +\d s", after)
    assert max(map(len, after.splitlines())) <= 80


def test_the_time_left(tmp_path: Path):
    job = Job(Run(tmp_path, "toy", {}), (), lambda run, frames: None)

    def piece(probe: str, model: str, work: float, one_thread: bool = False) -> Piece:
        cell = Cell(model, model, 0, lambda models: (pd.DataFrame(), None), 1.0, one_thread)
        return Piece(probe, job, cell, work)

    pieces = [
        piece("a", "x", 10), piece("a", "x", 20), piece("a", "y", 5), piece("b", "x", 1),
        piece("b", "x", 3, one_thread=True),
    ]  # fmt: skip
    # Of a, x needs 2 s for a unit, and so it is thought of y; nothing of b is done.
    state = State("mine", pieces, [20.0, None, None, None, None])
    assert state.left("a") == 20 * 2 + 5 * 2 and state.left("b") is None and state.left() is None
    assert state.line() == "study mine: 5 cells, 1 done, 4 missing"
    # b's other cell runs beside others.
    state = State("mine", pieces, [20.0, None, 15.0, 4.0, None])
    assert state.left("b") == 4 * 3 / torch.get_num_threads()
    assert state.left("a") == 20 * 2  # y's own time is not x's
    times = [duration(seconds) for seconds in (0.2, 89, 90, 5399, 5400)]
    assert times == ["1 s", "89 s", "2 min", "90 min", "1.5 h"]
