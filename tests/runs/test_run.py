import json
import os
import subprocess
from pathlib import Path
from platform import node

import pandas as pd
import pytest

from hyperprobe.errors import UserError
from hyperprobe.runs.files import write_frame
from hyperprobe.runs.run import Run

FRAME = pd.DataFrame({"a": [1, 2]})


def start(results: Path, **settings: object) -> Run:
    return Run(results, "zero-shot", {"seed": 1, **settings})


def test_the_same_command_finds_its_own_folder(tmp_path: Path):
    assert start(tmp_path).folder == start(tmp_path).folder
    assert start(tmp_path).folder != start(tmp_path, article="fixed").folder
    assert start(tmp_path).folder.name.startswith("zero-shot-")


def test_a_finished_cell_is_read_and_not_computed_again(tmp_path: Path):
    calls = []

    def compute() -> tuple[pd.DataFrame, dict]:
        calls.append(1)
        return FRAME, {"name": "x"}

    first = start(tmp_path).cell("x on y", compute)
    run = start(tmp_path)
    assert run.cell("x on y", compute).equals(first) and len(calls) == 1
    run.cell("other", compute)
    assert len(calls) == 2
    run.finish({"metrics.csv": FRAME}, seed=1)
    notes = json.loads((run.folder / "run.json").read_text())
    assert notes["models"]["x on y"] == {"name": "x"}
    assert notes["seed"] == 1 and notes["packages"]["torch"]
    assert set(notes["files"]) == {"metrics.csv"}


@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize("damage", ["empty", "cut", "turned"])
def test_a_damaged_cell_is_computed_again(tmp_path: Path, kind: str, damage: str):
    run = start(tmp_path)
    run.cell("x", lambda: (FRAME, {}))
    (stored,) = run.folder.glob(f"cells/*.{kind}")
    data = stored.read_bytes()
    at = data.rindex(b"sha256") + 12 if kind == "json" else len(data) // 2
    turned = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    stored.write_bytes({"empty": b"", "cut": data[:at], "turned": turned}[damage])
    assert start(tmp_path).cell("x", lambda: (FRAME + 1, {})).equals(FRAME + 1)
    assert start(tmp_path).stored("x") is not None


def test_what_a_killed_writer_left_is_swept(tmp_path: Path):
    folder = start(tmp_path).folder / "cells"
    folder.mkdir(parents=True)
    dead = subprocess.Popen(["true"])
    dead.wait()
    # One that lives may still be writing, and so may one of another machine.
    others = {f".x.parquet.{node()}.{os.getpid()}.partial", f".x.parquet.else.{dead.pid}.partial"}
    for name in (f".x.parquet.{node()}.{dead.pid}.partial", *others):
        (folder / name).write_text("half")
    start(tmp_path)
    assert {path.name for path in folder.iterdir()} == others


def test_the_most_memory_is_noted(tmp_path: Path):
    run = start(tmp_path)
    run.cell("x", lambda: (FRAME, {}))
    run.finish({"metrics.csv": FRAME})
    notes = json.loads((run.folder / "run.json").read_text())
    assert notes["peak_memory_mb"]["ram"] > 10


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path):
    path = tmp_path / "metrics.csv"
    write_frame(path, FRAME)
    before = path.read_bytes()

    class Broken(pd.DataFrame):
        def to_csv(self, target: Path, **kwargs: object) -> None:  # type: ignore[override]
            Path(target).write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match="No space left on device"):
        write_frame(path, Broken(FRAME))
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write .*--results"):
        start(tmp_path / "file").finish({"metrics.csv": FRAME})


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.tsv", "a.jsonl"])
def test_pandas_opens_every_file(tmp_path: Path, name: str):
    write_frame(tmp_path / name, FRAME)
    read = {
        ".parquet": pd.read_parquet,
        ".csv": pd.read_csv,
        ".tsv": lambda p: pd.read_csv(p, sep="\t"),
        ".jsonl": lambda p: pd.read_json(p, lines=True),
    }[Path(name).suffix]
    assert read(tmp_path / name).equals(FRAME)
