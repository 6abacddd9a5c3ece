"""The walk-throughs of CONTRIBUTING.md: their code runs as it is, and their files are counted."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import hyperprobe
from hyperprobe import cli, families, registry
from hyperprobe.cli.common import app
from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.models.load import family, load_model
from hyperprobe.probes.lama import sources
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.runs.read import read_run
from tests.pages import blocks

ROOT = Path(hyperprobe.__file__).parents[1]
TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
Files = dict[str, str]


def walk_through(title: str) -> Files:
    """The code of a walk-through, file by file."""
    (section,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return {block.file: block.text for block in blocks(section) if block.file}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Files], None]]:
    """Adds the files of a walk-through to the package, for one test.

    New files go to a folder beside it; rows for files that it has are executed in their module.
    """
    commands = list(app.registered_commands)
    tables: list[dict] = [registry.COMMANDS, families.FAMILIES, sources.SOURCES]
    before = [dict(table) for table in tables]

    def put(files: Files) -> None:
        for file, code in files.items():
            path = tmp_path / "new" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, encoding="utf-8")
            module = file.removesuffix(".py").replace("/", ".")
            if (ROOT / file).is_file():
                code = compile(code, str(path), "exec")
                exec(code, import_module(module).__dict__)  # noqa: S102
                continue
            package = import_module(".".join(module.split(".")[:2]))
            folder = str(tmp_path / "new" / "hyperprobe" / module.split(".")[1])
            if folder not in package.__path__:
                monkeypatch.setattr(package, "__path__", [*package.__path__, folder])
            if file.startswith("hyperprobe/probes/"):
                path.with_name("__init__.py").touch()
        for file in files:
            if file.startswith("hyperprobe/cli/"):  # as the command line does when it starts
                import_module(file.removesuffix(".py").replace("/", "."))

    yield put
    app.registered_commands[:] = commands
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Runs a command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["hyperprobe", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 0

    return command


def test_a_probe(add, run, tiny_models, tmp_path: Path, capsys):
    files = walk_through("A probe")
    assert len(files) == 5  # as its text says
    add(files)
    model = str(tiny_models["bert"])
    asked = ("number", "--model", model, "--diagnostic", "lm-diagnostic")
    run(*asked, "--json")
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    (folder,) = tmp_path.glob("results/number-*")
    made = read_run(folder)
    assert set(made.files) == {"metrics.csv", "predictions.parquet", "number.svg"}
    predictions = made.table("predictions.parquet")
    right = predictions[predictions["form"] == "plural"]["best"] == "are"
    assert len(right) == 18
    assert row["plural"] == pytest.approx(100 * right.mean())

    run(*shlex.split(made.command_line)[1:])  # as the report prints it
    assert "Does the verb agree" in capsys.readouterr().out
    result = registry.load(registry.COMMANDS["number"].result).read(made)
    assert "Does the verb agree" in repr(result) and "<table" in result._repr_html_()

    Path("mine.toml").write_text(f"models = '{model}'\n[number]\ndiagnostics = ['lm-diagnostic']\n")
    run("study", "mine.toml")
    (in_study,) = tmp_path.glob("results/number-mine-*")
    assert read_run(in_study).files == made.files

    run("report", str(folder))
    (page,) = tmp_path.glob("results/report-*/report.html")
    assert "Number agreement" in page.read_text(encoding="utf-8")
    text = (page.parent / "report.md").read_text(encoding="utf-8")
    assert "## Number agreement" in text and f"{row['plural']:.1f} % of the plurals" in text
    assert (page.parent / "figures" / "number-A.svg").is_file()


def test_a_model_family(add, tmp_path: Path):
    files = walk_through("A model family")
    assert len(files) == 2  # as its text says
    add(files)
    rows = [{"word": "a", "next": "bird", "count": 3}, {"word": "the", "next": "fish", "count": 1}]
    path = tmp_path / "counts.bigrams"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = load_model(str(path))
    assert family(str(path)) == model.kind == "bigram"
    clozes = [parse_cloze("A robin is a [MASK].", "robin"), parse_cloze("[MASK]s fly.", "start")]
    scores = model.score(clozes, CandidateSet(("bird", "fish")))
    # 3 of 3 pairs after "a" go to bird; add-one smoothing over the four words.
    expected = np.log([[4 / 7, 1 / 7], [1 / 4, 1 / 4]])
    assert np.allclose(scores, expected, atol=1e-6)
    result = zero_shot([str(path)], ["lm-diagnostic"], results=tmp_path / "results")
    asked = result.predictions[result.predictions["model"] == str(path)]
    after_a = asked[(asked["probe"] == "singular") & (asked["gold"] != "insect")]
    assert len(after_a) > 9 and set(after_a["best"]) == {"bird"}
    assert set(asked["probe"]) == {"open", "singular", "plural", "contextual"}


def test_a_fact_source(add, run, tiny_models, tmp_path: Path, capsys):
    files = walk_through("A fact source")
    assert list(files) == ["hyperprobe/probes/lama/sources.py"]
    add(files)
    facts = tmp_path / "facts" / "Colours" / "test.jsonl"
    facts.parent.mkdir(parents=True)
    rows = [{"sub_label": "snow", "obj_label": "bird"}, {"sub_label": "oak", "obj_label": "tree"}]
    facts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = str(tiny_models["bert"])
    run("lama", "--source", "colours", "--data", str(tmp_path / "facts"), "--model", model)
    assert "colour" in capsys.readouterr().out
    (folder,) = tmp_path.glob("results/lama-*")
    predictions = read_run(folder).table("predictions.parquet")
    asked = predictions[predictions["model"] == model]
    assert asked["gold"].tolist() == ["bird", "tree"] and set(asked["source"]) == {"colours"}
