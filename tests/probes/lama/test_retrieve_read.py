"""The baseline `retrieve-read`: what it asks, how it ranks, and the command."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hyperprobe.cloze import CandidateSet
from hyperprobe.comparison.papers import with_lama
from hyperprobe.errors import UserError
from hyperprobe.names import RETRIEVE_READ
from hyperprobe.probes.lama.metrics import add_filtered_rank, summarise_facts
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.retrieve_read import (
    predict_retrieve_read,
    question_of,
    read_questions,
)
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.reading import build
from hyperprobe.runs.read import read_run
from tests.commands import one_line_error, run
from tests.reading.drqa_files import N_BUCKETS, save_index, save_reader

TEMPLATE = Relation("mine", "P1", Path("P1.jsonl"), "the [X] is a [Y] .")
SENTENCES = Relation("squad", "squad", Path("test.jsonl"))
CANDIDATES = CandidateSet(("bird", "fish", "tree", "tool"))


class Found:
    """Documents and a reader that give these scores to any question."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.asked: list[str] = []

    def answers(self, question: str) -> Mapping[str, float]:
        self.asked.append(question)
        return self.scores


def predict(
    scores: Mapping[str, float], *golds: str, lowercase: bool = False
) -> tuple[pd.DataFrame, Any]:
    found: Any = Found(scores)
    facts = [Fact(str(i), "robin", gold) for i, gold in enumerate(golds)]
    return predict_retrieve_read(found, TEMPLATE, facts, CANDIDATES, {}, lowercase), found


def test_candidates_are_ranked_by_their_best_answer_and_others_have_no_rank():
    scores = {"zebra": 9.0, "fish": 2.5, "bird": 1.0, "Tree": 7.0}
    table, found = predict(scores, "fish", "bird", "tree")
    assert table["gold_rank"].tolist() == [1, 2, 0]
    assert table["best"].tolist() == ["fish"] * 3 and table["best_score"].tolist() == [2.5] * 3
    assert [list(row) for row in table["top"]] == [["fish", "bird"]] * 3
    assert [list(row) for row in table["top_scores"]] == [[2.5, 1.0]] * 3
    assert found.asked == table["text"].tolist() == ["the robin is a ."] * 3
    metrics = summarise_facts(add_filtered_rank(table)).set_index(["relation", "ranking"])
    assert metrics.loc[("macro", "raw"), "p_at_1"] == pytest.approx(100 / 3)
    # The other two questions' objects are right too, and leave the filtered ranking.
    assert metrics.loc[("macro", "filtered"), "p_at_1"] == pytest.approx(200 / 3)


def test_lower_case_and_no_answer_at_all():
    table, _ = predict({"Tree": 7.0, "fish": 2.0}, "tree", lowercase=True)
    assert table["gold_rank"].tolist() == [1]
    table, _ = predict({}, "tree", "fish")
    assert table["gold_rank"].tolist() == [0, 0] and table["best"].isna().all()
    metrics = summarise_facts(add_filtered_rank(table))
    # To find nothing is to be wrong, and not to be unable.
    assert metrics["p_at_1"].eq(0).all() and metrics["n_scored"].eq(metrics["n_facts"]).all()


def test_the_question_is_found_by_the_facts_id(tmp_path: Path):
    rows = [{"id": "56be4db0", "question": "What colour?"}, {"id": "a_1", "question": "Who?"}]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"qas": rows}]}]}))
    questions = read_questions(path)
    sentences = ("The [MASK] color was used.",)
    asked = {
        id: question_of(Fact(id, "Squad", "gold", sentences), SENTENCES, questions)
        for id in ("56be4db0_0", "a_1", "b_0")
    }
    assert list(asked.values()) == ["What colour?", "Who?", "The color was used."]
    for content, message in (
        ('{"data": []}', "has no questions"),
        ('{"data": [{"paragraphs": [{"qas": [{"id": 1}]}]}]}', "data.0.paragraphs.0.qas.0.id"),
        ("[]", "squad.json"),
    ):
        path.write_text(content)
        with pytest.raises(UserError, match=message):
            read_questions(path)


# -- the command ----------------------------------------------------------------------------


TEXTS = {"a": "robin bird", "b": "oak tree", "c": "trout fish", "d": "hammer tool", "e": "car"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts, documents of each kind and a reader of random weights, in one folder."""
    monkeypatch.setattr(build, "N_BUCKETS", N_BUCKETS)
    (tmp_path / "facts").mkdir()
    facts = [
        {"uuid": name, "sub_label": one, "obj_label": other, "masked_sentences": [f"{one} [MASK]"]}
        for name, (one, other) in ((k, v.split()) for k, v in TEXTS.items() if " " in v)
    ]
    (tmp_path / "facts" / "squad.jsonl").write_text("\n".join(map(json.dumps, facts)))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("\n\n".join(TEXTS.values()))
    (tmp_path / "index").mkdir()
    save_index(tmp_path / "index", TEXTS)
    words = sorted({word for text in TEXTS.values() for word in text.split()})
    save_reader(tmp_path / "reader.mdl", words)
    (tmp_path / "words.txt").write_text("\n".join(words))
    return tmp_path


def command(model: Path, documents: str, *more: str) -> list[str]:
    return [
        "lama", "--model", str(model), "--source", "facts", "--vocab", "words.txt", "--baseline",
        RETRIEVE_READ, "--documents", documents, "--reader", "reader.mdl", *more,
    ]  # fmt: skip


def test_the_same_answers_from_texts_and_from_an_index(folder: Path, tiny_models: dict[str, Path]):
    rows = {}
    for documents in ("texts", "index"):
        done = run(folder, *command(tiny_models["bert"], documents, "--json"))
        assert done.returncode == 0, done.stderr
        about = json.loads(done.stdout)
        rows[documents] = [row for row in about["rows"] if row["model"] == RETRIEVE_READ]
        table = pd.read_parquet(folder / about["run"] / "predictions.parquet")
        mine = table[table["model"] == RETRIEVE_READ]
        assert mine["text"].tolist() == ["robin", "oak", "trout", "hammer"]
        # Each finds its one document, whose two words are ranked by the reader alone.
        assert [set(top) for top in mine["top"]] == [set(TEXTS[k].split()) for k in "abcd"]
        assert set(mine["gold_rank"]) <= {1, 2}
        assert list(table["model"].unique()[:2]) == ["freq", RETRIEVE_READ]
    for of_documents in rows.values():
        for row in of_documents:
            del row["signature"]  # the documents are named in another way
    assert rows["texts"] == rows["index"] and len(rows["texts"]) == 6
    shown = run(folder, *command(tiny_models["bert"], "index"))
    assert RETRIEVE_READ in shown.stdout
    notes = json.loads((folder / about["run"] / "run.json").read_text())
    assert notes["settings"][RETRIEVE_READ]["n_documents"] == 5
    assert notes["models"][f"{RETRIEVE_READ} on facts/squad"]["zero_features"] == []


def test_squad_stands_beside_the_papers_column(folder: Path, tiny_models: dict[str, Path]):
    data = folder / "data" / "Squad"
    data.mkdir(parents=True)
    (folder / "facts" / "squad.jsonl").rename(data / "test.jsonl")
    arguments = command(tiny_models["bert"], "index", "--json", "--data", "data")
    arguments[arguments.index("facts")] = "squad"
    done = run(folder, *arguments)
    assert done.returncode == 0, done.stderr
    made = folder / json.loads(done.stdout)["run"]
    rows = [row for row in with_lama(read_run(made)) if row["model"] == RETRIEVE_READ]
    assert [(row["other"], row["other_value"]) for row in rows] == [("published drqa", 37.5)]


WRONG: dict[str, tuple[list[str], str]] = {
    "alone": (["--baseline", RETRIEVE_READ], "needs --documents"),
    "no reader": (["--baseline", RETRIEVE_READ, "--documents", "texts"], "needs --reader"),
    "nothing asks": (["--reader", "reader.mdl"], "--reader is for retrieve-read"),
    "a name": (["--baseline", "drqa"], "unknown baseline 'drqa'"),
    "no documents": (["--documents", "nowhere"], "no corpus nowhere"),
    "no such reader": (["--reader", "nowhere.mdl"], "no reader nowhere.mdl"),
    "a folder": (["--reader", "texts"], "no reader texts"),
    "another file": (["--reader", "words.txt"], "words.txt"),
    "several tokens": (["--multi-token"], "leave --multi-token out"),
    "no questions": (["--questions", "nowhere.json"], "no questions nowhere.json"),
    "other questions": (["--questions", "words.txt"], "not JSON"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_in_one_line(kind: str, folder: Path, tiny_models: dict[str, Path]):
    more, message = WRONG[kind]
    arguments = ["lama"] if kind in list(WRONG)[:4] else command(tiny_models["bert"], "texts")
    assert message in one_line_error(run(folder, *arguments, *more))
