"""Classifier probes from folds to tables, on few words and a tiny model."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperprobe.built import build
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sentences import read_all, shipped_files
from hyperprobe.errors import UserError
from hyperprobe.finished import load
from hyperprobe.models.static import StaticModel, WordVectors
from hyperprobe.names import CHARACTERS, EMBEDDED, EMBEDDED_VECTORS
from hyperprobe.probes.classify import answers, net, probe, report
from hyperprobe.probes.classify.answers import answer
from hyperprobe.probes.classify.figures import folds_figure, full_accuracies, layers_figure
from hyperprobe.probes.classify.metrics import summarise
from hyperprobe.probes.classify.pairs import make_folds
from hyperprobe.probes.classify.probe import ClassifyResult, classify
from hyperprobe.probes.classify.representations import (
    Representation,
    characters,
    represent,
)
from hyperprobe.render.document import Picture
from hyperprobe.render.figure import save_figures
from hyperprobe.render.labels import with_short_names
from hyperprobe.render.table import show
from hyperprobe.runs.files import write_frame
from hyperprobe.runs.read import read_run
from tests.commands import end_of, fork
from tests.conftest import Within

STEPS_PER_EPOCH, N_HIDDEN = net.STEPS_PER_EPOCH, net.N_HIDDEN
ANALYSES = ("layers", "control-task", "code-length")


@pytest.fixture(scope="module", autouse=True)
def short_training():
    """Two epochs of few steps of small nets: here it does not matter how well they learn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net, "MAX_EPOCHS", 2)
        patch.setattr(net, "STEPS_PER_EPOCH", 3)
        patch.setattr(net, "N_HIDDEN", 30)
        yield patch


@pytest.fixture(scope="module")
def folds_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folds of eight words of each of six categories."""
    items = load_diagnostic("lm-diagnostic-extended")
    items = items[items["group"] != "plants"].groupby("hypernym").head(8)
    folds = make_folds(items, read_all(shipped_files()), ["seen", "unseen"])
    path = tmp_path_factory.mktemp("folds") / "folds.tsv"
    write_frame(path, folds[folds["fold"] < 3])
    return path


@pytest.fixture(scope="module")
def result(folds_file: Path, drawing: Within, tiny_models, tmp_path_factory) -> ClassifyResult:
    with drawing():
        return classify(
            [str(tiny_models["bert"])],
            folds=folds_file,
            n_seeds=2,
            analyses=ANALYSES,
            results=tmp_path_factory.mktemp("results"),
        )


def test_rows_are_the_models_and_their_baselines(result: ClassifyResult, tiny_models):
    tiny = str(tiny_models["bert"])
    models = [EMBEDDED_VECTORS[0], CHARACTERS, f"random:{tiny}", tiny]
    rows = [("majority", "full"), *((m, view) for m in models for view in ("partial", "full"))]
    found = result.metrics[["setting", "model", "input"]].itertuples(index=False, name=None)
    assert list(found) == [(s, *row) for s in ("seen", "unseen") for row in rows]
    probed = result.metrics[result.metrics["model"] != "majority"]
    assert probed["n_seeds"].eq(2).all() and probed["accuracy_mean"].between(20, 100).all()
    assert result.metrics["n_folds"].eq(2).all()


def test_only_the_hypernym_is_worth_nothing(result: ClassifyResult):
    partial = result.metrics[result.metrics["input"] == "partial"]
    assert partial["accuracy_mean"].eq(50).all() and partial["accuracy_std"].eq(0).all()
    assert result.metrics[result.metrics["model"] == "majority"]["accuracy_mean"].eq(50).all()


def test_metrics_come_from_the_stored_predictions(result: ClassifyResult):
    stored = pd.read_parquet(result.folder / "predictions.parquet")
    codes = pd.read_csv(result.folder / "code_lengths.csv")
    again = summarise(stored, codes)
    metrics = result.metrics.drop(columns="signature")
    pd.testing.assert_frame_equal(again, metrics, check_exact=False)
    row = result.metrics[result.metrics["input"] == "full"].iloc[-1]
    for name in ("control_mean", "selectivity", "compression_mean", "reversed_rejected",
                 "logistic_mean"):  # fmt: skip
        assert np.isfinite(row[name]), name


def test_layers_are_those_of_the_model(result: ClassifyResult):
    assert result.layers.groupby("setting")["layer"].unique().map(list).to_dict() == {
        "seen": [0, 1, 2],
        "unseen": [0, 1, 2],
    }
    # The last layer is what the table reports.
    last = result.layers[result.layers["layer"] == 2].set_index("setting")["accuracy_mean"]
    full = result.metrics[result.metrics["input"] == "full"].groupby("setting")["accuracy_mean"]
    assert last.to_dict() == pytest.approx(full.last().to_dict())


def test_the_folds_come_back_and_give_the_same_numbers(result: ClassifyResult, tiny_models):
    again = classify(
        [str(tiny_models["bert"])],
        setting="unseen",
        folds=result.folder / "folds.tsv",
        n_seeds=2,
        results=result.folder.parent / "again",
    )
    first = result.predictions
    first = first[(first["setting"] == "unseen") & (first["layer"] == "")]
    first = first[first["question"] != "control"].reset_index(drop=True)
    pd.testing.assert_frame_equal(again.predictions, first)


def test_nothing_is_computed_twice(
    result: ClassifyResult, folds_file: Path, tiny_models, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(probe, "represent", lambda *_: pytest.fail("represented again"))
    again = classify(
        [str(tiny_models["bert"])], folds=folds_file, n_seeds=2, analyses=ANALYSES,
        results=result.folder.parent,
    )  # fmt: skip
    pd.testing.assert_frame_equal(again.predictions, result.predictions)


def test_encodings_are_stored_by_content(
    folds_file: Path, tiny_models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folds = pd.read_csv(folds_file, sep="\t", quoting=3)
    name = str(tiny_models["albert"])
    first = represent(name, folds, tmp_path)
    (stored,) = tmp_path.iterdir()
    stored.write_bytes(stored.read_bytes()[:100])  # damaged: encoded again
    assert represent(name, folds, tmp_path).vectors.equal(first.vectors)
    monkeypatch.setattr("hyperprobe.models.embedding.Encoder.encode", None)
    assert represent(name, folds, tmp_path).vectors.equal(first.vectors)
    with pytest.raises(TypeError):
        represent(name, folds.iloc[::2], tmp_path)


def test_words_without_a_vector_have_zeros_and_are_counted(folds_file: Path, tmp_path: Path):
    vectors = tmp_path / "few.vec"
    folds = pd.read_csv(folds_file, sep="\t", quoting=3)
    words = sorted({*folds["hyponym"], *folds["hypernym"]} - {"auk"})
    lines = [f"{word} {i % 7} 1 {i % 3}" for i, word in enumerate(words)]
    vectors.write_text(f"{len(words)} 3\n" + "\n".join(lines) + "\n")
    representation = represent(str(vectors), folds, tmp_path)
    assert representation.unknown == ("auk",)
    first = representation.vectors[0, representation.first]
    assert (first.abs().sum(dim=1) == 0).tolist() == (folds["hyponym"] == "auk").tolist()
    assert representation.vectors.pow(2).mean().item() == pytest.approx(1, abs=1e-5)
    own = folds[folds["setting"] == "seen"]
    answers = answer(representation.of((folds["setting"] == "seen").to_numpy()), own, "full", [0])
    assert (answers["known"] == (answers["hyponym"] != "auk")).all()
    vectors.write_text("1 3\nnobody 1 2 3\n")
    with pytest.raises(UserError, match="has a vector for none of the words"):
        represent(str(vectors), folds, tmp_path)


def test_static_vectors_in_any_case():
    matrix = np.array([[1, 2], [3, 4]], dtype=np.float32)
    model = StaticModel("words", WordVectors(["robin", "Eel"], matrix), {})
    table, unknown = model.vectors_of(["Robin", "Eel", "eel"])
    assert table.tolist() == [[1, 2], [3, 4], [0, 0]] and unknown == ["eel"]


def test_characters_see_shared_spelling():
    fish, catfish, cat, robin = characters(["fish", "catfish", "cat", "robin"])
    assert fish @ catfish > 0.4 > abs(fish @ robin) and cat @ catfish > abs(cat @ robin)
    assert np.linalg.norm(fish) == pytest.approx(1)


def test_the_paper_s_finding_on_the_embedded_model(
    tmp_path: Path, short_training: pytest.MonkeyPatch
):
    """One net on the first fold of each setting: far better where the hypernyms were seen."""
    items = load_diagnostic("lm-diagnostic-extended")
    folds = make_folds(items, read_all(shipped_files()), ["seen", "unseen"])
    folds = folds[folds["fold"] == 1].reset_index(drop=True)
    shown = represent(EMBEDDED, folds, tmp_path)
    short_training.setattr(net, "MAX_EPOCHS", 20)
    short_training.setattr(net, "STEPS_PER_EPOCH", STEPS_PER_EPOCH)
    short_training.setattr(net, "N_HIDDEN", N_HIDDEN)
    # The finding is of the net: the logistic regression on all these features takes longer.
    short_training.setattr(answers, "logistic_log_odds", lambda _, __, of: 0.0 * of.label)
    accuracy = {}
    for setting in ("seen", "unseen"):
        rows = (folds["setting"] == setting).to_numpy()
        own = summarise(answer(shown.of(rows), folds[rows], "full", [0]))
        accuracy[setting] = own["accuracy_mean"][0]
    stored = pd.read_csv(Path(__file__).parents[3] / "results/reference/classify-metrics.csv")
    whole = stored[(stored["model"] == EMBEDDED) & (stored["input"] == "full")]
    for setting, mean in whole.set_index("setting")["accuracy_mean"].items():
        assert accuracy[setting] == pytest.approx(mean, abs=7), setting
    assert accuracy["seen"] > accuracy["unseen"] + 15


def test_bad_settings(folds_file: Path, tmp_path: Path, tiny_models):
    with pytest.raises(UserError, match="has no layer 9: it has 0"):
        classify([str(tiny_models["bert"])], folds=folds_file, layer="9", results=tmp_path)
    only = tmp_path / "only.tsv"
    folds = pd.read_csv(folds_file, sep="\t", quoting=3)
    write_frame(only, folds[folds["setting"] == "seen"])
    with pytest.raises(UserError, match="has no unseen folds"):
        classify(folds=only, results=tmp_path)
    with pytest.raises(UserError, match="--seeds 0"):
        classify(n_seeds=0, results=tmp_path)


def test_tables_and_figures(result: ClassifyResult, drawn: None, capsys, tmp_path: Path):
    for table in result.tables():
        show(table)
    shown = capsys.readouterr().out
    for text in ("seen hypernyms", "characters (hypernym only)", "50.0 ±0.0", "false positives",
                 "selectivity", "compression", "word2vec has no vector"):  # fmt: skip
        assert text in shown
    listed = json.loads((result.folder / "run.json").read_text())["files"]
    names = ["folds.png", "folds.svg", "layers.png", "layers.svg"]
    assert sorted(name for name in listed if name.endswith((".svg", ".png"))) == names
    assert set(result.figures) == {"folds", "layers"}
    again = dataclasses.replace(result, folder=tmp_path)
    short = with_short_names({"predictions": result.predictions, "layers": result.layers})
    for name in save_figures(again, report.pictures(**short)):
        assert (tmp_path / name).read_bytes() == (result.folder / name).read_bytes()
    assert len(folds_figure(full_accuracies(result.predictions)).axes) == 2
    (axes,) = layers_figure(result.layers).axes
    assert [list(line.get_xdata()) for line in axes.lines][:2] == [[0, 1, 2], [0, 1, 2]]
    json.dumps(result.metrics.to_dict("records"), default=float)


def test_a_loaded_run_says_the_same_in_a_report(result: ClassifyResult, tiny_models):
    loaded = load(result.folder)
    assert isinstance(loaded, ClassifyResult) and repr(loaded) == repr(result)
    said = report.part({"A": read_run(result.folder)})
    assert said.subjects == (str(tiny_models["bert"]),)
    assert [section.id for section in said.sections] == ["classify-A", "classify-A-details"]
    blocks = [block for section in said.sections for block in section.blocks]
    names = [block.name for block in blocks if isinstance(block, Picture)]
    assert names == ["classify-A-folds", "classify-A-layers"]
    assert len(blocks) == len(names) + len(result.tables())
    assert all(block.source.endswith("of run A") for block in blocks)
    unseen = result.metrics[result.metrics["setting"] == "unseen"].set_index(["model", "input"])
    first, second = said.findings
    assert f"{unseen['accuracy_mean'][said.subjects[0], 'full']:.1f} %" in first.text
    assert "from the hypernym alone 50.0 %" in first.text and "seen the hypernyms" in second.text


def test_a_representation_of_some_rows():
    whole = Representation("x", None, np.arange(4), np.arange(4) + 4, ("",), (), {})
    part = whole.of(np.array([True, False, False, True]))
    assert part.first.tolist() == [0, 3] and part.second.tolist() == [4, 7]


def test_a_full_disk(folds_file: Path, tiny_models: dict[str, Path], tmp_path: Path):
    """Files of some kilobytes stand for a full disk: the encodings are the first that fail."""
    arguments = ("--model", str(tiny_models["bert"]), "--folds", str(folds_file), "--seeds", "1")
    child = fork(tmp_path, "classify", *arguments, "--setting", "seen", limit=20_000)
    assert end_of(child) == 2
    said = (tmp_path / "said.txt").read_text()
    assert said.count("\n") == 1 and "cannot write" in said and "free some space" in said
    assert not list(tmp_path.rglob("*.partial")) and not list(tmp_path.rglob("run.json"))


def own_set(tmp_path: Path, n_categories: int, n: int) -> str:
    extended = load_diagnostic("lm-diagnostic-extended")
    rows = extended[extended["hypernym"].isin(extended["hypernym"].unique()[:n_categories])]
    path = tmp_path / "pairs.tsv"
    columns = ["hyponym", "hypernym"]
    rows.groupby("hypernym").head(n)[columns].to_csv(path, sep="\t", index=False)
    made = build(pairs=path, results=tmp_path)
    return str(made.folder / "pairs.tsv")


def test_a_set_of_ones_own(tiny_models, tmp_path: Path):
    bert, own = str(tiny_models["bert"]), own_set(tmp_path, 3, 14)
    made = classify(bert, diagnostic=own, n_seeds=1, results=tmp_path)
    assert set(made.metrics["setting"]) == {"seen"} and bert in set(made.metrics["model"])
    assert "without any: left out" in made.notes[0] and "42 nouns have no context" in made.notes[1]
    with pytest.raises(UserError, match="choose --setting seen"):
        classify(bert, "unseen", diagnostic=own, results=tmp_path)
    with pytest.raises(UserError, match="--folds brings its own"):
        classify(bert, folds=made.folder / "folds.tsv", diagnostic=own, results=tmp_path)
    few = own_set(tmp_path, 2, 2)
    with pytest.raises(UserError, match="too few nouns for fold 1 of seen"):
        classify(bert, diagnostic=few, results=tmp_path)
