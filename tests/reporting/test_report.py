"""Analyze, compare and report on runs: the numbers carried through, and the page by itself."""

import json
import math
import re
import shutil
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import binomtest

from hyperprobe.analysis.agreement import agreement_figure, scores_figure
from hyperprobe.analysis.analyze import AnalysisResult, analyze
from hyperprobe.analysis.article import article_figure
from hyperprobe.analysis.errors import errors_figure
from hyperprobe.analysis.frequency import frequency_figure
from hyperprobe.analysis.negation import negation_figure
from hyperprobe.analysis.pairs import memorisation_figure
from hyperprobe.analysis.wording import wording_figure
from hyperprobe.comparison.report import comparison_findings
from hyperprobe.comparison.runs import compare
from hyperprobe.data.published import read_published
from hyperprobe.errors import UserError
from hyperprobe.names import EMBEDDED_VECTORS
from hyperprobe.probes.lama.sources import GOOGLE_RE, TREX
from hyperprobe.probes.zero_shot.figures import accuracy_figure
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.probes.zero_shot.report import naming_of, together
from hyperprobe.registry import COMMANDS, Command
from hyperprobe.render.document import Finding, Part, Picture, Section
from hyperprobe.render.figure import SERIES, new_figure, png_of, svg_of
from hyperprobe.render.latex import latex
from hyperprobe.render.markdown import markdown
from hyperprobe.render.table import Table
from hyperprobe.reporting import report as module
from hyperprobe.reporting.collect import collect
from hyperprobe.reporting.report import Report, report
from hyperprobe.runs.files import file_digest
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.statistics.intervals import newcombe_interval, wilson_interval

PACKAGE = Path(module.__file__).parent
VOID = {"meta", "link", "br", "img", "hr", "input"}


@pytest.fixture(scope="module")
def folder(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two zero-shot runs and the analysis of one, in one results folder."""
    results = tmp_path_factory.mktemp("results")
    bert, roberta = (str(tiny_models[name]) for name in ("bert", "roberta"))
    made = zero_shot([bert], ["lm-diagnostic"], results=results)
    analyze(made.folder, results=results)
    zero_shot([roberta], ["lm-diagnostic"], results=results)
    return results


def run_of(folder: Path, model: str) -> Path:
    for path in folder.glob("zero-shot-*"):
        models = read_run(path).notes["settings"]["models"]
        if any(Path(name).name.startswith(model) for name in models):
            return path
    raise AssertionError(model)


@pytest.fixture(scope="module")
def made(folder: Path) -> Report:
    return report(sorted(folder.glob("zero-shot-*")), results=folder)


# -- analyze ------------------------------------------------------------------------


def test_an_analysis_has_its_tables_and_resumes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tiny_models: dict[str, Path]
):
    (path,) = folder.glob("analyze-*")
    names = {p.stem for p in path.glob("*.csv")}
    assert {"metrics", "frequency", "agreement", "article", "negation", "templates",
            "template_accuracy", "errors", "category_scores"} <= names  # fmt: skip
    metrics = pd.read_csv(path / "metrics.csv")
    assert {"article", "negation"} <= set(metrics["analysis"])
    assert len(pd.read_parquet(path / "predictions.parquet")) == 15 * 18

    def no_model(*args: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("hyperprobe.analysis.analyze.load_model", no_model)
    again = analyze(run_of(folder, "bert"), results=folder)
    assert again.folder == path
    for name, table in again.frames.items():
        stored = pd.read_csv(path / f"{name}.csv")
        words = stored.select_dtypes(exclude="number").columns
        stored[words] = stored[words].fillna("")
        pd.testing.assert_frame_equal(table, stored, check_dtype=False)
    titles = [table.title for table in again.tables()]
    assert len(titles) == len(set(titles)) == 10
    back = AnalysisResult.read(read_run(path))
    assert [table.title for table in back.tables()] == titles
    assert titles[0] in repr(back) and f"analyze run in {path}" in repr(back)
    assert back._repr_html_().count("<table>") == len(titles)


def test_models_can_be_left_out(folder: Path, tmp_path: Path):
    run = run_of(folder, "roberta")
    alone = analyze(run, ask_models=False, results=tmp_path)
    assert "negation" not in alone.frames and "agreement" in alone.frames
    assert not (alone.folder / "predictions.parquet").exists()


def test_a_corpus_of_ones_own_is_counted(folder: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text("A robin is a bird. An oak is a tree. A hammer fell.\n")
    run = run_of(folder, "bert")
    made = analyze(run, corpus=[tmp_path / "text.txt"], ask_models=False, results=tmp_path)
    pairs = made.frames["pairs"]
    assert set(pairs["source"]) == {"your corpus"}
    assert pairs[pairs["pattern"] == "is_a"]["n_seen"].tolist()[0] == 2
    assert "your corpus" in set(made.frames["frequency"]["source"])


@pytest.mark.parametrize("broken", ["none", "json", "other", "changed"])
def test_runs_that_cannot_be_analysed(
    folder: Path, tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
):
    run = tmp_path / "run"
    run.mkdir()
    messages = {"none": "no finished run", "json": "is damaged", "other": "is a run of"}
    message = messages.get(broken, "not those")
    if broken == "json":
        (run / "run.json").write_text("{")
    if broken == "other":
        (run / "run.json").write_text('{"command": "classify", "settings": {}, "files": {}}')
    if broken == "changed":
        run = run_of(folder, "bert")
        monkeypatch.setattr("hyperprobe.analysis.analyze.identify", lambda name: {"sha256": {}})
    with pytest.raises(UserError, match=message):
        analyze(run, results=tmp_path)


# -- compare ------------------------------------------------------------------------


def test_intervals_of_shares():
    ours = wilson_interval(0.3, 40)
    theirs = binomtest(12, 40).proportion_ci(method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high))
    # Newcombe (1998), Table II, case (a), method 10: 56/70 and 48/80.
    assert newcombe_interval(56 / 70, 70, 48 / 80, 80) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_models_of_two_runs_are_compared_by_item(folder: Path, tmp_path: Path):
    runs = sorted(folder.glob("zero-shot-*"))
    table = compare(runs, published=True, results=tmp_path).differences
    pair = table[~table["other"].str.startswith("published") & (table["metric"] == "singular")]
    # BERT, RoBERTa and the vectors, which both runs asked, once.
    assert len(pair) == math.comb(2 + len(EMBEDDED_VECTORS), 2)
    for row in pair.to_dict("records"):
        assert row["difference"] == pytest.approx(row["value"] - row["other_value"])
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    paper = table[(table["other"] == "published bert") & (table["metric"] == "plural")]
    assert paper["other_value"].tolist() == [77.78, 77.78]
    assert paper["other_run"].iloc[0] == "Ravichander et al. (2020), Table 2"
    sentences = [finding.sentence for finding in comparison_findings(table)]
    assert len(sentences) > 5 and not [s for s in sentences if "majority" in s or "nan" in s]


def other_run(
    results: Path, command: str, rows: list[dict[str, object]], name: str = "x",
    settings: dict[str, object] | None = None, models: dict[str, object] | None = None,
) -> Path:  # fmt: skip
    folder = results / f"{command}-{name}"
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "metrics.csv", index=False)
    files = {"metrics.csv": file_digest(folder / "metrics.csv")}
    about = {"settings": settings or {}, "models": models or {}}
    notes = {"command": command, "files": files, **about}
    (folder / "run.json").write_text(json.dumps(notes))
    return folder


LAMA = [
    {"source": source, "relation": relation, "type": kind, "model": "bert-base", "ranking": ranking,
     "n_facts": 100, "p_at_1": 30.0, "p_at_1_low": 28.0, "p_at_1_high": 33.0, "mrr": 0.4}
    for source, relation, kind, ranking in (
        (TREX, "P19", "N-1", "raw"), (TREX, "macro", None, "raw"),
        (TREX, "macro", None, "filtered"),
        (TREX, "N-1", "N-1", "raw"), (GOOGLE_RE, "place_of_death", None, "raw"),
    )
]  # fmt: skip
CLASSIFY = [
    {"setting": "seen", "model": "embedded", "input": part, "accuracy_mean": 70.0,
     "accuracy_std": 2.0, "n_folds": 3, "n_seeds": 1}
    for part in ("full", "partial")
]  # fmt: skip


def test_other_commands_are_compared_with_their_tables(tmp_path: Path):
    runs = [
        other_run(tmp_path, "lama", LAMA), other_run(tmp_path, "classify", CLASSIFY),
        other_run(tmp_path, "lama", [{**row, "model": "m"} for row in LAMA], "y"),
    ]  # fmt: skip
    table = compare(runs, published=True, results=tmp_path).differences
    paper = table[table["other"].str.startswith("published")]
    assert not paper["setting"].str.contains("filtered").any()
    lama = paper[(paper["command"] == "lama") & (paper["model"] == "bert-base")]
    assert lama["other_value"].tolist() == [31.1, 32.4, 13.1]  # BERT-base
    assert lama["difference_low"].iloc[0] == pytest.approx(28 - 31.1)
    assert paper[paper["command"] == "classify"]["other_value"].tolist() == [92.81, 48.36]
    between = table[~table["other"].str.startswith("published") & (table["metric"] == "p_at_1")]
    assert len(between) == len(LAMA) and (between["difference"] == 0).all()
    with pytest.raises(UserError, match="nothing to compare"):
        compare(runs[1:2], results=tmp_path)


@pytest.mark.parametrize(("start", "expected"), [
    ("manual", [31.1, 21.8, 41.5, 24.3, 48.6, 59.6, 56.7, 11.8, 19.9, 24.6, 59.6, 54.9, 19.3]),
    # Of five vectors the paper has but the overall
    ("5", [31.1, 41.5, 24.3, 21.8, 47.6, 49.6, 24.6, 59.6, 54.9]),
])  # fmt: skip
def test_prompt_search_is_compared_with_its_tables(
    tmp_path: Path, start: str, expected: list[float]
):
    base = {"source": "trex", "type": None, "p_at_1": 40.0, "p_at_1_low": 38.0,
            "p_at_1_high": 42.0, "p_at_1_majority": math.nan}  # fmt: skip
    rows = [
        {**base, "relation": relation, "model": model, "method": method, "control": control, **more}
        for relation, model, method, control, more in (
            ("macro", "bert-base-cased", "manual", "none",
             {"p_at_1_uhn": 5.0, "p_at_1_easy": 6.0, "p_at_1_hard": 7.0}),
            ("macro", "bert-base-cased", "optiprompt", "none", {}),
            ("1-1", "bert-base-cased", "optiprompt", "none", {}),
            ("P1376", "bert-base-cased", "optiprompt", "none", {}),
            ("P36", "bert-base-cased", "optiprompt", "random-embeddings", {}),
            ("macro", "bert-base-cased", "optiprompt", "random-model", {}),
            ("macro", "bert-base-cased", "naive-bayes", None, {}),
            ("P463", "bert-base-cased", "naive-bayes", None, {}),
            ("macro", "bert-large-cased", "finetune", "none", {}),
            ("macro", "bert-large-cased", "optiprompt", "random-model", {}),
            ("is-a", "bert-base-cased", "manual", "none", {"source": "wordnet"}),
        )
    ]  # fmt: skip
    large = {"name": "bert-large-cased", "kind": "masked", "architecture": "BertForMaskedLM",
             "n_parameters": 334_000_000}  # fmt: skip
    run = other_run(
        tmp_path, "prompts", rows, settings={"options": {"vectors": start}}, models={"c": large}
    )
    table = compare([run], published=True, results=tmp_path).differences
    paper = table[table["other"].str.startswith("published")]
    assert sorted(paper["other_value"]) == sorted(expected)
    one = paper[(paper["metric"] == "p_at_1") & (paper["setting"] == "trex macro optiprompt none")]
    assert one["other"].tolist()[0] == f"published bert_base optiprompt-{start}"
    assert one["difference_low"].iloc[0] == pytest.approx(38 - one["other_value"].iloc[0])
    assert one["other_run"].iloc[0] == "Zhong, Friedman & Chen (2021), Table 2"
    assert all("nan" not in finding.sentence for finding in comparison_findings(table))


def test_published_tables_are_as_in_the_papers(shared: Path):
    for path in sorted((shared / "published").glob("*.csv")):
        ours, source = read_published(path.stem)
        pd.testing.assert_frame_equal(ours, pd.read_csv(path))
        assert re.fullmatch(r".+ \(20\d\d\), (Tables?|Figure|section) .+", source), source


# -- report -------------------------------------------------------------------------


class Page(HTMLParser):
    """Tags and their attributes, and what is wrong with their nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture(scope="module")
def html(made: Report) -> str:
    return made.html.read_text(encoding="utf-8")


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
        assert f">{name}</th>" in html and shown in html
        assert str(path) in html
    assert html.count('<div class="run"') == 3  # two runs and the analysis beside one
    # Vectors and the majority were in both runs, and stand there once.
    (first_table,) = [t for t in html.split("</table>") if "percent right, raw / calibrated" in t]
    assert first_table.count("majority") == first_table.count(">word2vec<") == 1
    assert made.page.headline in html.replace("&nbsp;", " ")


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
    for words in ("later (run A)", "has no tables of this command", "Comparison",
                  "is behind published bert-context"):  # fmt: skip
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
    assert "toy: Toys are fun." in (both.folder / "report.md").read_text()


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
    before = ["majority", *EMBEDDED_VECTORS, f"control:{bert}", f"control-bare:{bert}"]
    assert models == [*before, f"{bert} [A]", f"{bert} [B]"]


def test_tables_in_other_languages():
    table = Table("A & B", ("model", "% right"), (("x_1|y", "79.7 ±3.4"),), "ε² < 1")
    assert "| x_1\\|y | 79.7 ±3.4 |" in markdown(table)
    text = latex(table, "t")
    assert (
        r"x\_1\textbar{}y & 79.7 $\pm$3.4 \\" in text and r"A \& B. $\varepsilon$$^2$ $<$ 1" in text
    )
    assert text.count("{") == text.count("}")


def test_every_figure_is_a_figure_that_keeps_its_bytes(folder: Path):
    (path,) = folder.glob("analyze-*")
    read = {p.stem: pd.read_csv(p) for p in path.glob("*.csv")}
    metrics = pd.read_csv(run_of(folder, "bert") / "metrics.csv")
    bert = next(m for m in read["agreement"]["model"] if "control" not in m and "word2vec" not in m)
    own = {name: table[table["model"] == bert] for name, table in read.items()}
    pairs = pd.DataFrame({"label": ["x"], "with": [80.0], "without": [60.0]})
    drawn = [
        accuracy_figure(metrics), agreement_figure(own["agreement"]),
        scores_figure(own["category_scores"]),
        frequency_figure(read["frequency_curve"]), errors_figure(read["errors"]),
        memorisation_figure(pairs), wording_figure(read["template_accuracy"]),
        negation_figure(read["negation"]), article_figure(read["article"]),
    ]  # fmt: skip
    assert all(isinstance(one, Figure) for one in drawn)
    first, second = (svg_of(article_figure(read["article"])) for _ in range(2))
    assert first == second and "<image" not in first and "<dc:date>" not in first
    assert png_of(drawn[0]).startswith(b"\x89PNG")


def contrast(first: str, second: str) -> float:
    """WCAG 2's contrast ratio of two colours, #rrggbb."""

    def luminance(colour: str) -> float:
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_on_light_and_dark():
    css = (PACKAGE.parent / "render" / "assets" / "page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in css.split(":root")[1:4]
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        paper = scheme["paper"]
        for name in ("ink", "muted", "link"):
            assert contrast(scheme[name], paper) >= 4.5, name
            assert contrast(scheme[name], scheme["soft"]) >= 4.5, name
        for i in range(len(SERIES)):
            assert contrast(scheme[f"c{i}"], paper) >= 3, i
            assert contrast(scheme[f"c{i}"], scheme["on-series"]) >= 4.5, i
    assert [schemes[0][f"c{i}"] for i in range(len(SERIES))] == list(SERIES)


def test_reporting_loads_no_model():
    source = "\n".join(path.read_text() for path in PACKAGE.glob("*.py"))
    assert "models.load" not in source and "import torch" not in source
    assert not re.search(r"hyperprobe\.(probes|analysis|comparison)", source)
    assert not re.search("|".join(f'"{name}"' for name in COMMANDS), source)
