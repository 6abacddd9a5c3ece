"""Runs read back: what is not as the run wrote it is never read as good."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hyperprobe.analysis.analyze import COLUMNS, analyze
from hyperprobe.comparison.runs import compare
from hyperprobe.errors import UserError
from hyperprobe.probes.zero_shot.contrasts import question_adds, systematicity
from hyperprobe.probes.zero_shot.metrics import breakdown, compare_models, confusion, summarise
from hyperprobe.reporting.collect import collect
from hyperprobe.reporting.report import report
from hyperprobe.runs.files import corpus_digests
from hyperprobe.runs.read import read_run
from hyperprobe.runs.run import Run

ITEMS = (("robin", "bird"), ("eel", "fish"), ("rose", "flower"))
N_ROWS = 2 * 3 * len(ITEMS)


def predictions() -> pd.DataFrame:
    """Two models' answers to three nouns, made by hand: m errs once, n twice."""
    rows = []
    for model, right in (("m", (True, True, False)), ("n", (True, False, False))):
        for probe in ("singular", "plural", "open"):
            for (item, gold), is_right in zip(ITEMS, right, strict=True):
                scores = {
                    f"score_{name}": 0.0 if (name == gold) == is_right else -1.0
                    for _, name in ITEMS
                }
                rows.append(
                    {"diagnostic": "own.tsv", "model": model, "probe": probe, "item": item,
                     "hyponym": item, "hypernym": gold, "synset": f"{item}.n.01", "group": "",
                     "zipf": 3.0 + len(item),
                     "gold": gold, "gold_score": 0.0, "gold_rank": 1 if is_right else 3,
                     "gold_tied": 0,
                     "best": gold if is_right else "noun", "best_score": 0.0, "margin": 1.0,
                     "top": None, **scores}
                )  # fmt: skip
    return pd.DataFrame(rows)


def finished(results: Path) -> Path:
    """A zero-shot run made by hand."""
    table = predictions()
    options = {"models": ["m", "n"], "diagnostics": ["own.tsv"], "seed": 0}
    about = {"models": {"m": {}, "n": {}}, "diagnostics": {"own.tsv": "0"}, "article": "gold",
             "dtype": "fp32", "trust_remote_code": False, "pll": "within-word",
                "causal_scoring": "full"}  # fmt: skip
    run = Run(results, "zero-shot", about, options)
    run.cell("m", lambda: (table, {"name": "m"}))
    run.finish(
        {
            "predictions.parquet": table,
            "metrics.csv": summarise(table),
            "adds.csv": question_adds(table),
            "systematic.csv": systematicity(table),
            "mcnemar.csv": compare_models(table),
            "breakdown.csv": breakdown(table),
            "confusion.csv": confusion(table),
        },
        0,
    )
    return run.folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """File name -> content of a run."""
    folder = finished(tmp_path_factory.mktemp("whole"))
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_a_run_made_by_hand_is_read(whole: dict[str, bytes], tmp_path: Path):
    folder = write(tmp_path / "run", whole)
    run = read_run(folder)
    assert run.table("predictions.parquet", COLUMNS)["best"].equals(predictions()["best"])
    singular = run.table("metrics.csv")["singular"].tolist()
    assert singular == pytest.approx([200 / 3, 100 / 3])
    assert (
        run.command_line == "hyperprobe zero-shot --model m --model n --diagnostic own.tsv --seed 0"
    )
    assert analyze(folder, ask_models=False, results=tmp_path).frames["agreement"].shape[0]
    assert len(compare([folder], results=tmp_path).differences)
    assert report([folder], tmp_path).html.is_file()


@pytest.mark.parametrize("name", ["mcnemar.csv", "breakdown.csv", "confusion.csv", "metrics.csv"])
def test_a_truncated_table_is_not_read(whole: dict[str, bytes], tmp_path: Path, name: str):
    lines = whole[name].splitlines(keepends=True)
    folder = write(tmp_path, {**whole, name: b"".join(lines[:-1])})
    with pytest.raises(UserError, match=f"{name} is damaged or was changed: delete the folder"):
        report([folder], tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [
        {"files": None}, {"files": []}, {"files": {"../x.csv": "0" * 64}},
        {"files": {"/etc/passwd": "0" * 64}}, {"files": {"": "0" * 64}},
        {"files": {"metrics.csv": "0" * 63}}, {"files": {"metrics.csv": None}},
        {"settings": None}, {"settings": 1}, {"command": None}, {"seed": "x"}, {"seed": 1.5},
        {"options": 1}, {"options": {"a": {"b": {}}}}, {"models": []}, {"seconds": {"a": "b"}},
        {"packages": {"torch": 2}}, {"finished": 12},
    ],
)  # fmt: skip
def test_run_json_of_another_shape(whole: dict[str, bytes], tmp_path: Path, change: dict):
    notes = json.loads(whole["run.json"]) | change
    folder = write(tmp_path, {**whole, "run.json": json.dumps(notes).encode()})
    with pytest.raises(UserError, match=r"run\.json is damaged or was changed: delete the folder"):
        read_run(folder)


def test_a_finished_run_is_left_as_it_is(tmp_path: Path):
    folder = finished(tmp_path)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.glob("*.*")}
    assert finished(tmp_path) == folder
    assert before == {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.glob("*.*")}
    (folder / "mcnemar.csv").write_text("cut")
    finished(tmp_path)
    assert {path: path.read_bytes() for path in before if path.name != "run.json"} == {
        path: content for path, (content, _) in before.items() if path.name != "run.json"
    }
    assert read_run(folder).table("mcnemar.csv").shape[0] > 0


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "x", None])
def test_a_seed_that_is_none_is_refused_before_any_work(tmp_path: Path, seed: Any):
    with pytest.raises(UserError, match="--seed .*: give a whole number from 0 to 4294967295"):
        Run(tmp_path, "zero-shot", {}, {"seed": seed})


@pytest.mark.parametrize("place", ["settings", "options"])
def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path, place: str):
    with pytest.raises(UserError, match="is not UTF-8: rename"):
        Run(tmp_path, "zero-shot", **{"settings": {}, place: {"models": ["caf\udce9"]}})


def test_results_that_are_a_file(tmp_path: Path):
    (tmp_path / "results").write_text("")
    with pytest.raises(UserError, match="cannot write .*--results"):
        finished(tmp_path / "results")


def test_names_that_look_like_numbers_or_like_nothing(tmp_path: Path):
    run = Run(tmp_path, "zero-shot", {})
    table = pd.DataFrame({"model": ["7", "NA"], "other": ["1", "nan"], "n": [1.5, None]})
    run.finish({"metrics.csv": table})
    pd.testing.assert_frame_equal(read_run(run.folder).table("metrics.csv"), table)


def test_an_edit_of_the_same_size_is_seen(tmp_path: Path):
    path = tmp_path / "corpus.txt"
    path.write_text("A robin is a bird.")
    before = corpus_digests([path])
    times = path.stat()
    path.write_text("A robin is a fish.")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert corpus_digests([path]) != before and list(before) == [str(path)]


# -- fuzzing -------------------------------------------------------------------------------

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["\x1b[2J", "[/b]", "$", "../x", "<script>", "9" * 5000, "caf\udce9"])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda own: st.lists(own, max_size=3) | st.dictionaries(st.text(max_size=5), own)
)
COMMANDS = st.sampled_from(
    ["zero-shot", "analyze", "compare", "lama", "classify", "prompts", "report", "study", "[/b]"]
)


@st.composite
def damaged_files(draw: st.DrawFn, whole: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a run after one to three changes of any kind."""
    files = dict(whole)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(files)))
        kind = draw(st.sampled_from(["notes", "command", "settings", "cut", "turn", "drop", "any"]))
        content = files[name]
        if kind in ("notes", "command", "settings"):
            try:
                notes = json.loads(files.get("run.json", b"{}"))
            except ValueError:
                continue
            part = notes.get("settings") if kind == "settings" else notes
            if not isinstance(part, dict) or not part:
                continue
            key = "command" if kind == "command" else draw(st.sampled_from(sorted(part)))
            part[key] = draw(COMMANDS if kind == "command" else VALUES)
            files["run.json"] = json.dumps(notes).encode()
        elif kind == "cut":
            files[name] = content[: draw(st.integers(0, len(content)))]
        elif kind == "turn" and content:
            at = draw(st.integers(0, len(content) - 1))
            files[name] = content[:at] + bytes([draw(st.integers(0, 255))]) + content[at + 1 :]
        elif kind == "drop" and len(files) > 1:
            del files[name]
        elif kind == "any":
            files[name] = draw(st.binary(max_size=50))
    return files


def fuzzed(n: int) -> Callable[[Any], Any]:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    own = settings(
        max_examples=n, deadline=None, derandomize=True, database=None,
        suppress_health_check=checks, phases=[Phase.generate],
    )  # fmt: skip
    return lambda test: given(data=st.data())(own(test))


def ends_in_one_line(read: Callable[[], Any]) -> None:
    """Nothing but a `UserError` may come out, if no result does."""
    try:
        read()
    except UserError as error:
        assert len(str(error)) < 500


@fuzzed(60)
def test_any_folder_is_read_or_refused(
    data: st.DataObject, whole: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
):
    folder = write(tmp_path_factory.mktemp("fuzz"), data.draw(damaged_files(whole)))
    ends_in_one_line(lambda: [read_run(folder).table(name) for name in read_run(folder).files])
    ends_in_one_line(lambda: collect([folder]))
    ends_in_one_line(lambda: read_run(folder).command_line)


@fuzzed(8)
def test_any_folder_ends_in_a_result_or_in_one_line(
    data: st.DataObject, whole: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
):
    place = tmp_path_factory.mktemp("fuzz")
    folder = write(place / "run", data.draw(damaged_files(whole)))
    ends_in_one_line(lambda: analyze(folder, ask_models=False, results=place))
    ends_in_one_line(lambda: compare([folder], True, place))
    ends_in_one_line(lambda: report([folder], place))


def test_damaged_cells_are_computed_again(whole: dict[str, bytes], tmp_path: Path):
    (notes,) = (name for name in whole if name.startswith("cells/") and name.endswith(".json"))
    for content in (b"[]", b"1", b"null", b'{"sha256": 1}', b"[" * 100_000, b"\xff", b"{}"):
        place = tmp_path / str(len(content))
        folder = finished(place)
        (folder / notes).write_bytes(content)
        calls: list[int] = []

        def compute(calls: list[int] = calls) -> tuple[pd.DataFrame, Any]:
            calls.append(1)
            return predictions(), {}

        run = Run(place, "zero-shot", json.loads(whole["run.json"])["settings"])
        assert run.folder == folder and len(run.cell("m", compute)) == N_ROWS
        assert calls == [1]
