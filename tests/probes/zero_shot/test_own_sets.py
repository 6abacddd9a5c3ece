"""Article policies and whole runs on sets that are not English nouns of the nine categories."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hyperprobe.analysis.analyze import analyze
from hyperprobe.built import build
from hyperprobe.cloze import CandidateSet, Cloze
from hyperprobe.diagnostic.sets import DiagnosticSet, load_set
from hyperprobe.options import Article
from hyperprobe.probes.lama.probe import lama
from hyperprobe.probes.zero_shot import ask
from hyperprobe.probes.zero_shot.clozes import SINGULAR, make_clozes
from hyperprobe.probes.zero_shot.predictions import predict_probe
from hyperprobe.probes.zero_shot.probe import zero_shot
from hyperprobe.reporting.report import report
from tests.toy_models import majority

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
MIXED = "robin\tbird\nwren\tbird\nant\tinsect\nchair\tfurniture\ntable\tfurniture\n"


def own_set(tmp_path: Path, text: str, templates: str = "") -> DiagnosticSet:
    pairs, path = tmp_path / "own.tsv", tmp_path / "t.toml"
    pairs.write_text(text)
    path.write_text(templates)
    made = build(pairs=pairs, results=tmp_path, templates=path if templates else None)
    return load_set(str(made.folder / "own.tsv"))


@pytest.fixture
def german(tmp_path: Path) -> DiagnosticSet:
    pairs, templates = EXAMPLES / "deutsch.csv", EXAMPLES / "deutsch.toml"
    made = build(pairs=pairs, templates=templates, results=tmp_path)
    return load_set(str(made.folder / "deutsch.tsv"))


def asked(one: DiagnosticSet, policy: Article) -> dict[str, str]:
    clozes = make_clozes(one, one.frame, SINGULAR, policy)
    return {cloze.subject or "": cloze.text for cloze in clozes}


def test_policies_with_a_category_that_takes_no_article(tmp_path: Path):
    own = own_set(tmp_path, MIXED)
    gold = asked(own, "gold")
    assert [gold[noun] for noun in ("wren", "ant", "chair")] == [
        "A wren is a [MASK].", "An ant is an [MASK].", "A chair is [MASK].",
    ]  # fmt: skip
    assert {text.split(" is ")[1] for text in asked(own, "fixed").values()} == {"a [MASK]."}
    assert {text.split(" is ")[1] for text in asked(own, "marginal").values()} == {"[MASK]."}


def test_policies_in_another_language(german: DiagnosticSet):
    assert asked(german, "gold")["Tulpe"] == "Eine Tulpe ist eine [MASK]."
    assert asked(german, "fixed")["Tulpe"] == "Eine Tulpe ist ein [MASK]."
    assert asked(german, "marginal")["Tulpe"] == "Eine Tulpe ist [MASK]."
    assert asked(german, "fixed")["Apfel"] == "Ein Apfel ist ein [MASK]."


class Noting:
    """A model that scores by the length of the answer, and notes what it is asked."""

    reads_text, name = True, "noting"

    def __init__(self) -> None:
        self.seen: dict[str, tuple[str, ...]] = {}

    def score(self, clozes: list[Cloze], candidates: CandidateSet) -> np.ndarray:
        self.seen |= {cloze.text: candidates.words for cloze in clozes}
        row = [-float(len(word)) for word in candidates.words]
        return np.array([row] * len(clozes), dtype=np.float32)


def test_candidates_bring_their_articles_where_the_slot_takes_one(german: DiagnosticSet):
    nouns = ["Tulpe", "Apfel", "Amsel"]
    frame = german.frame[german.frame["hyponym"].isin(nouns)].reset_index(drop=True)
    kind = ["Amsel ist eine Art [MASK].", *frame["singular"][1:]]
    model = Noting()
    table = predict_probe(
        model, replace(german, frame=frame.assign(singular=kind)), SINGULAR, "marginal"
    )
    assert model.seen == {
        "Amsel ist eine Art [MASK].": ("Vogel", "Blume", "Obst"),
        "Das ist ein [MASK].": ("Vogel", "Blume", "Obst"),
        "Eine Tulpe ist [MASK].": ("ein Vogel", "eine Blume", "Obst"),
        "Ein Apfel ist [MASK].": ("ein Vogel", "eine Blume", "Obst"),
        "Das ist [MASK].": ("ein Vogel", "eine Blume", "Obst"),
    }
    assert table["hyponym"].tolist() == ["Amsel", "Tulpe", "Apfel"]  # the order of the set
    assert table["gold_score"].tolist() == [-5, -10, -4]


@pytest.mark.parametrize(
    ("text", "templates"),
    [
        (MIXED + "elm\ttree\noak\ttree\nfir tree\ttree\n", ""),
        ("aquila\tavis\ncorvus\tavis\nquercus\tarbor\nfagus\tarbor\n",
         'language = "la"\nsingular = "{X} est [MASK]."\n'),
    ],
)  # fmt: skip
def test_everything_runs_on_a_set_of_ones_own(
    text: str, templates: str, tiny_models: dict[str, Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):  # fmt: skip
    monkeypatch.setattr(ask, "EMBEDDED_VECTORS", ())
    own, model, results = own_set(tmp_path, text, templates), str(tiny_models["bert"]), tmp_path
    run = zero_shot(model, own.name, results=results)
    assert run.metrics["n_items"].eq(len(own.frame)).all()
    assert "--article marginal" in _command_line(run.folder)
    analysis = analyze(run.folder, results=results)
    assert ("negation" in analysis.frames) == ("templates" in analysis.frames) == (not templates)
    assert any(note.startswith("experiment: left out") for note in analysis.skipped.notes)
    made = report([run.folder, analysis.folder], results=results)
    assert made is not None
    assert len(lama(model, own.name, multi_token=True, results=results).metrics)


def _command_line(folder: Path) -> str:
    from hyperprobe.runs.read import read_run

    return read_run(folder).command_line


def test_a_toy_of_the_nine_is_asked_as_before():
    """`DiagnosticSet` with nothing but a frame is English."""
    one = load_set("lm-diagnostic")
    plain = DiagnosticSet("plain", one.frame)
    tables = [predict_probe(majority(0), each, SINGULAR, "fixed") for each in (one, plain)]
    assert tables[0].equals(tables[1])
