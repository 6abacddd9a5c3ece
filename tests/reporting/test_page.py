"""The page by itself: well formed, accessible, the same bytes for the same runs."""

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.comparison.runs import compare
from hyperprobe.errors import UserError
from hyperprobe.probes.zero_shot.report import naming_of, together
from hyperprobe.registry import COMMANDS, Command
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.document import Page as HtmlPage
from hyperprobe.render.figure import new_figure
from hyperprobe.render.html import html_page
from hyperprobe.render.table import Table
from hyperprobe.reporting import report as module
from hyperprobe.reporting.collect import collect
from hyperprobe.reporting.report import Report, report
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import FinishedRun, read_run
from tests.reporting.toys import CLASSIFY, Page, other_run, run_of

PACKAGE = Path(module.__file__).parent


def test_a_browser_would_fetch_nothing(html: str):
    for tag, attributes in Page(html).tags:
        for name, value in attributes.items():
            if name in ("src", "srcset", "data", "poster", "action") or "href" in name:
                assert (value or "").startswith(("#", "data:")), (tag, name, value)
    style = " ".join(re.findall(r"<style>.*?</style>", html, re.DOTALL))
    assert "@import" not in style and "url(" not in style
    assert not re.findall(r"url\((?!#)", html)
    script = " ".join(re.findall(r"<script>.*?</script>", html, re.DOTALL))
    assert not re.search(r"fetch|XMLHttpRequest|import\(|https?:", script)


def test_the_page_is_well_formed_and_accessible(html: str):
    page = Page(html)
    assert not page.wrong and not page.open
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">') and "<title>hyperprobe" in html
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = {a["href"] for t, a in page.tags if t == "a"}
    assert links and {link[1:] for link in links} <= set(ids)
    used = set(re.findall(r"url\(#([^)]+)\)", html)) | {
        (a.get("href") or "")[1:] for t, a in page.tags if t == "use"
    }
    assert used <= set(ids)
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "svg":
            assert attributes["role"] == "img" and attributes["aria-label"]
    tables = [t for t, _ in page.tags]
    assert tables.count("table") == tables.count("caption") > 10
    assert tables.count("h1") == 1 and tables.count("figure") == tables.count("figcaption") > 5


def test_the_page_says_what_the_runs_say(html: str, made: Report, folder: Path):
    for path in folder.glob("zero-shot-*"):
        metrics = pd.read_csv(path / "metrics.csv").set_index("model")
        name = next(n for n in metrics.index if f"control:{n}" in metrics.index)
        row = metrics.loc[name]
        shown = f"{row['singular']:.1f} / {row['singular_calibrated']:.1f}"
        assert f">{Path(name).name}</th>" in html and shown in html
        assert str(path) in html
    # The full name stands in the provenance alone.
    assert name in html and name not in html[: html.index('id="provenance"')]
    assert html.count('<div class="run"') == 3  # two runs and the analysis beside one
    # Vectors and the majority were in both runs, and stand there once.
    (first_table,) = [t for t in html.split("</table>") if "percent right, raw / calibrated" in t]
    assert first_table.count("majority") == first_table.count(">word2vec<") == 1
    assert made.page.headline in html.replace("&nbsp;", " ")


def test_every_figure_has_its_data_and_every_run_its_notes(html: str, made: Report, folder: Path):
    assert html.count("Data of this figure (") == html.count("<figure") > 5
    (adds,) = [p for p in made.page.pictures if p.name == "adds"]
    row = pd.read_csv(run_of(folder, "bert") / "adds.csv").set_index("probe").loc["plural"]
    shown = {cells[1]: cells for cells in adds.table.rows if cells[0].startswith("bert")}
    assert f"{row['calibrated']:.6g}" in shown["plural"]
    page = Page(html)
    assert page.text.count("run.json, as the run wrote it") == 3
    notes = json.loads((run_of(folder, "bert") / "run.json").read_text())
    digest = notes["settings"]["diagnostics"]["lm-diagnostic"]
    assert digest in html and f"lm-diagnostic {digest[:12]}…" in html
    assert "<dt>causal scoring</dt><dd>full</dd>" in html and "{'" not in page.text


def test_long_tables_are_folded():
    short, long = (Table("t", ("a",), tuple((str(i),) for i in range(n))) for n in (15, 16))
    section = Section("s", "S", blocks=(short, long))
    html = html_page(HtmlPage("p", "It holds", (), (section,), ()))
    assert html.count("<summary>t (") == 1 and "<summary>t (16 rows)</summary>" in html
    assert html.count("<caption>") == 2


@pytest.mark.usefixtures("drawn")
def test_the_same_runs_give_the_same_files(made: Report, folder: Path, tmp_path: Path):
    again = report(sorted(folder.glob("zero-shot-*")), results=tmp_path)
    files = {p.relative_to(made.folder) for p in made.folder.rglob("*") if p.is_file()}
    assert {str(f) for f in files} >= {"report.html", "report.md", "tables.tex",
                                       "figures/accuracy.svg", "figures/accuracy.png"}  # fmt: skip
    for file in files - {Path("run.json")}:
        assert (again.folder / file).read_bytes() == (made.folder / file).read_bytes(), file


def test_comparisons_and_unknown_commands_are_shown_too(folder: Path, tmp_path: Path):
    runs = [other_run(tmp_path, "classify", CLASSIFY)]
    compared = compare(runs, published=True, results=tmp_path).folder
    unknown = tmp_path / "later-1"
    unknown.mkdir()
    (unknown / "run.json").write_text('{"command": "later", "settings": {}, "files": {}}')
    text = report([unknown, compared], results=tmp_path).html.read_text()
    for words in ("later (run A)", "has no tables of this command", "Comparison (run B)",
                  "against Ravichander", ">bert-context</td>"):  # fmt: skip
        assert words in text, words
    assert not Page(text).wrong
    alone = report([run_of(folder, "roberta")], results=tmp_path).html.read_text()
    assert "Not analysed yet" in alone
    with pytest.raises(UserError, match="no finished run"):
        report([tmp_path / "nowhere"], results=tmp_path)


def toy_part(runs: Mapping[str, FinishedRun]) -> Part:
    """A toy command's part: what one function and one entry in the registry are enough for."""
    _, axes = new_figure(1)
    return Part(
        "Toys are fun",
        ("bear",),
        (Finding("Toys?", "bear: yes.", "A", "toys", "bear"),
         Finding("Ratio 2:1", "bear: is 1:2 <b>.", "A", "toys", "lion")),
        (Section("accuracy", "Toys", "One of each.", blocks=(
            Table("toys", ("toy", "n"), tuple((label, "1") for label in runs)),
            Picture("accuracy", axes.figure, "A toy.", "toys.csv"),
        )),),
    )  # fmt: skip


def test_a_command_is_in_the_page_by_its_entry_in_the_registry(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(COMMANDS, "toy", Command("none:none", f"{__name__}:toy_part"))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[toy_part.__module__])
    toy = other_run(tmp_path, "toy", [{"n": 1}])
    alone = report([toy], results=tmp_path)
    text = alone.html.read_text()
    assert "<h1>Toys are fun.</h1>" in text and "<title>hyperprobe: bear</title>" in text
    # A lead is what the part says it is, whatever stands in the text.
    assert "<strong>Toys?</strong> bear: yes." in text
    assert "<strong>Ratio 2:1:</strong> bear: is 1:2 &lt;b&gt;." in text
    assert "**toys**" in (alone.folder / "report.md").read_text()
    assert r"\label{tab:accuracy-1}" in (alone.folder / "tables.tex").read_text()
    assert {"figures/accuracy.svg", "figures/accuracy.png"} <= set(read_run(alone.folder).files)
    # Beside zero-shot, whose section and picture have the same names, each has one id.
    both = report([run_of(folder, "roberta"), toy], results=tmp_path)
    page = Page(both.html.read_text())
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids)) and {"accuracy", "toy-accuracy"} <= set(ids)
    assert (both.folder / "figures/toy-accuracy.svg").is_file()
    assert "Toy: Toys are fun." in (both.folder / "report.md").read_text()


def test_one_model_asked_in_two_ways_is_told_apart(folder: Path, tmp_path: Path):
    run = run_of(folder, "bert")
    other = tmp_path / run.name
    shutil.copytree(run, other)
    metrics = pd.read_csv(run / "metrics.csv")
    bert = metrics["model"].iloc[-1]
    metrics.loc[metrics["model"] == bert, "singular"] = 99.0
    metrics.to_csv(other / "metrics.csv", index=False)
    notes = json.loads((other / "run.json").read_text())
    notes["files"]["metrics.csv"] = file_digest(other / "metrics.csv")
    (other / "run.json").write_text(json.dumps(notes))
    runs = {label: one for label, one in collect([run, other]).items() if label in "AB"}
    models = naming_of(runs).apply(together(runs, "metrics"))["model"].tolist()
    before = ["majority", "word2vec", f"control:{bert}", f"control-bare:{bert}"]
    assert models == [*before, f"{bert} [A]", f"{bert} [B]"]


def test_reporting_loads_no_model():
    source = "\n".join(path.read_text() for path in PACKAGE.glob("*.py"))
    assert "models.load" not in source and "import torch" not in source
    assert not re.search(r"hyperprobe\.(probes|analysis|comparison)", source)
    assert not re.search("|".join(f'"{name}"' for name in COMMANDS), source)


def test_the_first_screen_is_short(made: Report, html: str):
    first = html[html.index('<div class="first">') : html.index("</header>")]
    assert first.count("<li>") == len(made.page.findings) <= 6
    assert first.count("<figure") == 1 and 'id="figure-adds"' in first
    assert html.count('id="figure-adds"') == 1
    markdown = (made.folder / "report.md").read_text()
    assert markdown.index("(figures/adds.svg)") < markdown.index("\n## ")
