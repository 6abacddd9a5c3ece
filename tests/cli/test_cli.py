"""Each command as a user runs it: offline, in an empty folder, right and wrong."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hyperprobe.probes.zero_shot.metrics import METRICS
from tests.commands import (
    end_of,
    finished_cells,
    fork,
    kill_after,
    one_line_error,
    run,
    wait_until,
)


def test_help_does_not_load_torch(tmp_path: Path):
    code = (
        "import sys; from hyperprobe import cli; sys.argv = ['hyperprobe', '--help']\n"
        "try: cli.main()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'transformers', 'pandas', 'nltk'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert "zero-shot" in run(tmp_path).stdout
    assert "Example:" in run(tmp_path, "zero-shot", "--help").stdout
    assert run(tmp_path, "--version").stdout.startswith("hyperprobe ")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder in which the embedded model was asked about the small set; what was printed."""
    folder = tmp_path_factory.mktemp("asked")
    done = run(folder, "zero-shot", "--diagnostic", "lm-diagnostic", "--json")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_json_is_the_only_thing_on_standard_output(asked: tuple[Path, str]):
    tmp_path, printed = asked
    document = json.loads(printed)
    assert set(document) == {"command", "settings", "run", "rows"}
    assert (tmp_path / document["run"] / "run.json").exists()
    row = document["rows"][-1]
    assert (row["diagnostic"], row["model"], row["n_items"]) == ("lm-diagnostic", "embedded", 18)
    for metric in METRICS:
        assert {metric, f"{metric}_low", f"{metric}_high"} <= set(row)
    assert 0 <= row["singular"] <= 100
    (vectors,) = (row for row in document["rows"] if row["model"] == "word2vec")
    assert vectors["contextual"] is None and vectors["contextual_low"] is None


def test_analyze_compare_and_report(asked: tuple[Path, str]):
    tmp_path, printed = asked
    folder = json.loads(printed)["run"]
    done = run(tmp_path, "analyze", folder, "--json")
    document = json.loads(done.stdout)
    names = {row["analysis"] for row in document["rows"]}
    assert {"experiment", "article", "negation", "templates"} <= names
    assert (tmp_path / document["run"] / "metrics.csv").exists()
    done = run(tmp_path, "analyze", folder)
    assert "- Negation: after" in done.stdout and document["run"] in done.stderr
    done = run(tmp_path, "compare", folder, "--published")
    assert "against Ravichander et al. (2020), Table 2" in done.stdout
    done = run(tmp_path, "report", folder)
    assert done.stdout.startswith("It is not shown that asking the embedded model adds")
    (page,) = tmp_path.glob("results/report-*/report.html")
    assert '<h2 id="h-negation">' in page.read_text()
    assert len(list(page.parent.glob("figures/*.svg"))) == len(
        list(page.parent.glob("figures/*.png"))
    )


def test_build_diagnostic(tmp_path: Path):
    done = run(tmp_path, "build-diagnostic", "lm-diagnostic-extended", "--size", "100", "--json")
    document = json.loads(done.stdout)
    assert sum(row["n_items"] for row in document["rows"]) == 100
    files = {path.name for path in (tmp_path / document["run"]).iterdir()}
    assert files == {"lm-diagnostic-extended.tsv", "lm-diagnostic-extended.jsonl", "run.json"}


FOLDS = {"train": "auk wren eel cod", "dev": "owl gar", "test": "emu dab"}


def write_folds(path: Path) -> None:
    """One fold of eight words and two hypernyms."""
    columns = "setting fold partition group hyponym hypernym label hyponym_sentence"
    lines = ["\t".join([*columns.split(), "hypernym_sentence"])]
    for partition, words in FOLDS.items():
        for word in words.split():
            for hypernym in ("bird", "fish"):
                label = int((word in "auk wren owl emu") == (hypernym == "bird"))
                row = ["seen", "1", partition, "animals", word, hypernym, str(label)]
                lines.append(
                    "\t".join([*row, f"The {word} is here.", f"A {hypernym} in {partition}."])
                )
    path.write_text("\n".join([*lines, ""]))


def test_classify(tmp_path: Path):
    write_folds(tmp_path / "own.tsv")
    arguments = ("classify", "--setting", "seen", "--folds", "own.tsv", "--seeds", "2")
    document = json.loads(run(tmp_path, *arguments, "--json").stdout)
    assert set(document) == {"command", "settings", "run", "rows"}
    row = document["rows"][-1]
    assert (row["setting"], row["model"], row["input"]) == ("seen", "embedded", "full")
    assert 0 <= row["accuracy_mean"] <= 100 and row["accuracy_std"] >= 0
    assert (row["n_folds"], row["n_seeds"], row["control_mean"]) == (1, 2, None)
    assert {"majority", "word2vec", "characters", "random:embedded"} <= {
        row["model"] for row in document["rows"]
    }
    files = {path.name for path in (tmp_path / document["run"]).iterdir()}
    assert files >= {"run.json", "predictions.parquet", "metrics.csv", "folds.tsv", "folds.svg"}
    done = run(tmp_path, *arguments)
    assert "seen hypernyms" in done.stdout and "unseen" not in done.stdout
    assert "embedded (hypernym only)" in done.stdout and document["run"] in done.stderr


def test_contexts_check_and_mine(tmp_path: Path):
    done = run(tmp_path, "contexts", "check")
    assert (done.returncode, done.stdout) == (0, "") and "0 findings" in done.stderr
    (tmp_path / "own.tsv").write_text(
        "word\tcategory\tkind\tsentence\nrobin\tbird\tprobe\tEvery robin is a bird of the garden.\n"
    )
    done = run(tmp_path, "contexts", "check", "own.tsv")
    assert done.returncode == 1 and "1 sentences, 2 findings" in done.stderr
    assert done.stdout.splitlines()[0].startswith("own.tsv:2: category: bird reveals bird")
    (tmp_path / "corpus.txt").write_text("From the hedge the osprey sang and left for its nest.\n")
    done = run(tmp_path, "contexts", "mine", "corpus.txt")
    assert done.returncode == 0 and "probe" in done.stdout
    assert len(list(tmp_path.glob("results/contexts-mine-*/contexts.tsv"))) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["contexts", "check", "none.tsv"], "no contexts file none.tsv"),
        (["contexts", "mine", "nowhere"], "no corpus nowhere"),
        (["contexts", "mine", "row.tsv", "--diagnostic", "column.tsv"], "no column hyponym_plural"),
        (["zero-shot", "--model", "nobody/no-such-model"], "no model nobody/no-such-model"),
        (["zero-shot", "--model", "missing.vec"], "no vectors file missing.vec"),
        (["zero-shot", "--model", "short.txt"], "cannot read vectors from short.txt"),
        (["zero-shot", "--diagnostic", "missing.tsv"], "no diagnostic set 'missing.tsv'"),
        (["zero-shot", "--diagnostic", "column.tsv"], "no column hyponym_plural"),
        (["zero-shot", "--diagnostic", "row.tsv"], "row.tsv, line 2: plural: must hold"),
        (["zero-shot", "--article", "the"], "--article"),
        (["zero-shot", "--no-such-option"], "No such option"),
        (["zero-shot", "--device", "toaster"], "toaster"),
        (["build-diagnostic", "lm-diagnostic-huge"], "unknown diagnostic set"),
        (["build-diagnostic", "--size", "many"], "give a number of items, or all"),
        (["build-diagnostic", "--size", "7"], "give 9 or more"),
        (["build-diagnostic", "--wordnet", "nowhere"], "no WordNet at nowhere"),
        (["analyze", "nowhere"], "no finished run in nowhere"),
        (["compare", "nowhere"], "no finished run in nowhere"),
        (["report", "nowhere"], "no finished run in nowhere"),
        (["report"], "Missing argument"),
        (["classify", "--setting", "heard"], "--setting"),
        (["classify", "--folds", "none.tsv"], "no folds file none.tsv"),
        (["classify", "--folds", "column.tsv"], "column.tsv, line 1: no column setting"),
        (["classify", "--layer", "top"], "--layer top: write last"),
        (["classify", "--setting", "seen", "--folds", "own.tsv", "--layer", "7"], "has no layer 7"),
        (["no-such-command"], "No such command"),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, arguments: list[str], message: str
):
    (tmp_path / "short.txt").write_text("3 4\nrobin 1 2 3 4\nbird 1 2\n")
    (tmp_path / "column.tsv").write_text("hyponym\nrobin\n")
    (tmp_path / "row.tsv").write_text(
        "hyponym\thyponym_plural\thypernym\thypernym_plural\tsingular\tplural\n"
        "robin\trobins\tbird\tbirds\tA robin is a [MASK].\tRobins are birds.\n"
    )
    write_folds(tmp_path / "own.tsv")
    before = set(tmp_path.iterdir())
    assert message in one_line_error(run(tmp_path, *arguments))
    assert not list(tmp_path.rglob("*.partial")) and not list(tmp_path.rglob("run.json"))
    left = set(tmp_path.iterdir()) - before
    assert not [path for folder in left for path in folder.rglob("*.parquet")]


def test_results_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "results").write_text("in the way")
    assert "cannot write" in one_line_error(run(tmp_path, "build-diagnostic", "lm-diagnostic"))


def test_killed_and_started_again(asked: tuple[Path, str], tmp_path: Path):
    command = ["zero-shot", "--diagnostic", "lm-diagnostic", "--json"]
    whole = json.loads(asked[1])
    stored = kill_after(tmp_path, command, 1)
    (folder,) = (tmp_path / "results").iterdir()
    assert not (folder / "run.json").exists()
    resumed = json.loads(run(tmp_path, *command).stdout)
    assert resumed["rows"] == whole["rows"] and Path(resumed["run"]).name == folder.name
    after = finished_cells(tmp_path)
    assert len(after) > len(stored) and all(after[path] == when for path, when in stored.items())


def test_ctrl_c_says_how_to_go_on(tmp_path: Path):
    child = fork(tmp_path, "zero-shot", "--diagnostic", "lm-diagnostic")
    wait_until(child, lambda: list(tmp_path.glob("results/*/cells")))
    os.kill(child, signal.SIGINT)
    assert end_of(child) == 130
    said = (tmp_path / "said.txt").read_text()
    assert said.count("\n") == 1 and "the same command continues" in said


def test_threads_that_wait_give_up_their_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(
        "hyperprobe.cli._check_arguments", lambda words: seen.append(os.environ["OMP_WAIT_POLICY"])
    )
    run(tmp_path, "--version")
    run(tmp_path, "--version", OMP_WAIT_POLICY="active")  # a user's choice
    assert seen == ["passive", "active"]
