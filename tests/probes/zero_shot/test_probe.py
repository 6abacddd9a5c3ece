from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hyperprobe.cloze import CandidateSet
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.load import load_model
from hyperprobe.names import EMBEDDED_VECTORS
from hyperprobe.probes.zero_shot.clozes import PLURAL, SINGULAR, make_clozes, shuffled_words
from hyperprobe.probes.zero_shot.predictions import closed_predictions, predict, predict_majority
from hyperprobe.probes.zero_shot.probe import zero_shot
from tests.conftest import Within

ASKED = load_set("lm-diagnostic")
SET = ASKED.frame


def test_article_policies():
    ant = SET[SET["hyponym"] == "ant"]
    texts = {
        policy: make_clozes(ASKED, ant, SINGULAR, policy)[0].text
        for policy in ("gold", "fixed", "marginal")
    }
    assert texts == {
        "gold": "An ant is an [MASK].",
        "fixed": "An ant is a [MASK].",
        "marginal": "An ant is [MASK].",
    }
    assert make_clozes(ASKED, ant, PLURAL, "fixed")[0].text == "Ants are [MASK]."


def test_marginal_scores_article_and_noun_by_the_chain_rule(tiny_models: dict[str, Path]):
    model = load_model(str(tiny_models["bert"]))
    table = predict(model, ASKED, "marginal")
    row = table[(table["model"] == model.name) & (table["item"] == "ant")]
    row = row[row["probe"] == "singular"].iloc[0]
    cloze = make_clozes(ASKED, SET[SET["hyponym"] == "ant"], SINGULAR, "marginal")
    phrases = CandidateSet(("a bird", "an insect"))
    assert model.score(cloze, phrases)[0] == pytest.approx(
        [row["score_bird"], row["score_insect"]], abs=1e-5
    )
    # There is no one prompt to fill from the whole vocabulary.
    asked = set(zip(table["model"], table["probe"], strict=True))
    assert (model.name, "open") not in asked and (model.name, "plural") in asked


def test_vectors_do_not_mind_the_article():
    vectors = load_model("word2vec")
    tables = [predict(vectors, ASKED, policy) for policy in ("gold", "fixed", "marginal")]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    assert (tables[0]["gold_rank"] == 1).mean() > 0.5


def test_predictions_hold_what_the_scores_say():
    rows = SET.iloc[:3]  # trout, salmon, ant
    words = ["fish", "insect"]
    scores = np.array([[-1.0, -2.0], [-3.0, -1.0], [np.nan, np.nan]], dtype=np.float32)
    table = closed_predictions(rows, "hypernym", words, words, scores)
    assert table["gold_rank"].tolist() == [1, 2, 0]
    assert table["best"].tolist()[:2] == ["fish", "insect"] and pd.isna(table["best"][2])
    assert table["margin"].tolist()[:2] == [1.0, -2.0]
    assert table["score_fish"].tolist()[:2] == [-1.0, -3.0]


def test_the_majority_answers_the_largest_class():
    extended = load_diagnostic("lm-diagnostic-extended")
    table = predict_majority(extended)
    share = 100 * (table[table["probe"] == "singular"]["gold_rank"] == 1).mean()
    assert share == pytest.approx(100 * extended["hypernym"].value_counts().iloc[0] / 576)
    assert set(table["probe"]) == {"singular", "plural", "contextual"}
    without = predict_majority(extended.assign(contextual=""))
    assert set(without["probe"]) == {"singular", "plural"}


def test_contexts_are_asked_where_there_are_some(tiny_models: dict[str, Path]):
    own = SET.copy()
    own["contextual"] = ["A [MASK] perches in a tree."] * 2 + [""] * 16
    table = predict(load_model(str(tiny_models["roberta"])), replace(ASKED, frame=own), "gold")
    contextual = table[table["probe"] == "contextual"]
    assert contextual["item"].tolist() == ["trout", "salmon"]
    assert contextual["score_bird"].nunique() == 1


def test_shuffled_contexts_are_a_control_of_their_own(tiny_models: dict[str, Path], tmp_path: Path):
    bert = str(tiny_models["bert"])
    made = zero_shot([bert], ["lm-diagnostic"], controls=["shuffled"], results=tmp_path)
    assert made.metrics["model"].tolist() == [
        "majority", "word2vec", f"control:{bert}", f"control-bare:{bert}",
        f"shuffled:{bert}", bert,
    ]  # fmt: skip
    table = made.predictions[made.predictions["model"] == f"shuffled:{bert}"]
    assert set(table["probe"]) == {"contextual"} and len(table) == 18
    shuffled = SET.iloc[:1].assign(contextual=shuffled_words(SET)[:1])
    before, after = SET["contextual"].iloc[0], shuffled["contextual"].iloc[0]
    assert before != after and sorted(before.split()) == sorted(after.split())


@pytest.fixture(scope="module")
def result(
    tiny_models: dict[str, Path],
    drawing: Within,
    all_vectors: Within,
    tmp_path_factory: pytest.TempPathFactory,
):
    results = tmp_path_factory.mktemp("results")
    with drawing(), all_vectors():
        return zero_shot([str(tiny_models["bert"])], ["lm-diagnostic"], results=results)


def test_a_run_has_its_baselines_and_files(result, tiny_models: dict[str, Path]):
    bert = str(tiny_models["bert"])
    assert result.metrics["model"].tolist() == [
        "majority", *EMBEDDED_VECTORS, f"control:{bert}", f"control-bare:{bert}", bert,
    ]  # fmt: skip
    files = {path.name for path in result.folder.iterdir() if path.is_file()}
    assert files == {
        "run.json", "predictions.parquet", "metrics.csv", "mcnemar.csv", "breakdown.csv",
        "confusion.csv", "adds.csv", "systematic.csv", "accuracy.svg", "accuracy.png", "adds.svg",
        "adds.png",
    }  # fmt: skip
    stored = pd.read_parquet(result.folder / "predictions.parquet")
    assert len(stored) == len(result.predictions)
    assert result.metrics.set_index("model").loc["majority", "singular"] == pytest.approx(100 / 9)
    # Vectors read no context: their columns are there, and empty.
    vectors = result.metrics.set_index("model").loc["word2vec"]
    assert vectors[["contextual", "paired_aggregate"]].isna().all()
    assert result.metrics["contextual"].notna().sum() == 2  # majority and BERT


def test_the_same_run_again_asks_no_model(
    result, all_vectors: Within, tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    def no_model(*args: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.load_model", no_model)
    bert, results = str(tiny_models["bert"]), result.folder.parent
    with all_vectors():
        again = zero_shot([bert], ["lm-diagnostic"], results=results)
    pd.testing.assert_frame_equal(again.metrics, result.metrics)


def test_an_interrupted_run_goes_on(
    tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    names = [str(tiny_models["bert"]), str(tiny_models["roberta"])]
    asked: list[str] = []

    def interrupt(name: str, *args: object):
        asked.append(name)
        if name == names[1] and len(asked) == 2:
            raise KeyboardInterrupt
        return load_model(name)

    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.load_model", interrupt)
    with pytest.raises(KeyboardInterrupt):
        zero_shot(names, ["lm-diagnostic"], results=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert not (folder / "run.json").exists()
    resumed = zero_shot(names, ["lm-diagnostic"], results=tmp_path)
    # The first model was loaded again only for its vocabulary, from which vectors answer.
    assert resumed.folder == folder and asked.count(names[1]) == 2
    fresh = zero_shot(names, ["lm-diagnostic"], results=tmp_path / "fresh")
    pd.testing.assert_frame_equal(resumed.metrics, fresh.metrics)
