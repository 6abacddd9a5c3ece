"""Each command as a user runs it: offline, in an empty folder, right and wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.probes.zero_shot.outcomes import METRICS


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "hyperprobe", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
        check=False,
    )


def one_line_error(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("hyperprobe: error: ")
    return done.stderr


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


def test_zero_shot_with_no_options(tmp_path: Path):
    done = run(tmp_path, "zero-shot", "--paired")
    assert done.returncode == 0, done.stderr
    for text in (
        "lm-diagnostic (18 items)", "lm-diagnostic-extended (576 items)", "majority", "word2vec",
        "glove", "fasttext", "control:embedded", "McNemar", "vegetable",
    ):  # fmt: skip
        assert text in done.stdout
    (folder,) = (tmp_path / "results").iterdir()
    assert str(folder.relative_to(tmp_path)) in done.stderr
    assert len(pd.read_csv(folder / "metrics.csv")) == 2 * 6


def test_json_is_the_only_thing_on_standard_output(tmp_path: Path):
    done = run(tmp_path, "zero-shot", "--diagnostic", "lm-diagnostic", "--json")
    document = json.loads(done.stdout)
    assert set(document) == {"command", "settings", "run", "rows"}
    assert (tmp_path / document["run"] / "run.json").exists()
    row = document["rows"][-1]
    assert (row["diagnostic"], row["model"], row["n_items"]) == ("lm-diagnostic", "embedded", 18)
    for metric in METRICS:
        assert {metric, f"{metric}_low", f"{metric}_high"} <= set(row)
    assert 0 <= row["singular"] <= 100
    (vectors,) = (row for row in document["rows"] if row["model"] == "word2vec")
    assert vectors["contextual"] is None and vectors["contextual_low"] is None


def test_analyze_compare_and_report(tmp_path: Path):
    asked = run(tmp_path, "zero-shot", "--diagnostic", "lm-diagnostic", "--json")
    folder = json.loads(asked.stdout)["run"]
    done = run(tmp_path, "analyze", folder, "--json")
    document = json.loads(done.stdout)
    assert {"coin", "article", "negation", "templates"} <= {r["analysis"] for r in document["rows"]}
    assert (tmp_path / document["run"] / "metrics.csv").exists()
    done = run(tmp_path, "analyze", folder)
    assert "- Negation: after" in done.stdout and document["run"] in done.stderr
    done = run(tmp_path, "compare", folder, "--published")
    assert "embedded is behind published bert of Ravichander et al. (2020)" in done.stdout
    done = run(tmp_path, "report", folder)
    assert done.stdout.startswith("The embedded model names the right category of 89 % of 18")
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


def test_classify(tmp_path: Path):
    rows = [
        "setting fold partition group hyponym hypernym label hyponym_sentence hypernym_sentence"
    ]
    for partition, words in (
        ("train", "auk wren eel cod"),
        ("dev", "owl gar"),
        ("test", "emu dab"),
    ):
        for word in words.split():
            for hypernym in ("bird", "fish"):
                label = int((word in "auk wren owl emu") == (hypernym == "bird"))
                sentences = f"The_{word}_is_here. A_{hypernym}_in_{partition}."
                rows.append(f"seen 1 {partition} animals {word} {hypernym} {label} {sentences}")
    text = (
        "\n".join(rows).replace(" ", "\t").replace("_", " ").replace("hypernym sen", "hypernym_sen")
    )
    text = text.replace("hyponym sen", "hyponym_sen")
    (tmp_path / "own.tsv").write_text(f"{text}\n")
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
    assert done.stdout.splitlines()[0].startswith("own.tsv:2: category: bird gives bird away")
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
        (["classify", "--layer", "7"], "embedded has no layer 7"),
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
    before = set(tmp_path.iterdir())
    assert message in one_line_error(run(tmp_path, *arguments))
    assert not list(tmp_path.rglob("*.partial")) and not list(tmp_path.rglob("run.json"))
    left = set(tmp_path.iterdir()) - before
    assert not [path for folder in left for path in folder.rglob("*.parquet")]


def test_results_that_cannot_be_written(tmp_path: Path):
    (tmp_path / "results").write_text("in the way")
    assert "cannot write" in one_line_error(run(tmp_path, "build-diagnostic", "lm-diagnostic"))


def test_killed_and_started_again(tmp_path: Path):
    whole = json.loads(run(tmp_path, "zero-shot", "--results", "whole", "--json").stdout)
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperprobe", "zero-shot"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not list((tmp_path / "results").glob("*/cells/*.parquet")):
        assert process.poll() is None and time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder,) = (tmp_path / "results").iterdir()
    stored = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.parquet")}
    resumed = json.loads(run(tmp_path, "zero-shot", "--json").stdout)
    assert resumed["rows"] == whole["rows"] and Path(resumed["run"]).name == folder.name
    assert all(path.stat().st_mtime_ns == when for path, when in stored.items())


def test_ctrl_c_says_how_to_go_on(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperprobe", "zero-shot"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests run in the background of a shell inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not list((tmp_path / "results").glob("*/cells")):
        assert process.poll() is None and time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130 and out == ""
    assert err.count("\n") == 1 and "the same command goes on" in err
