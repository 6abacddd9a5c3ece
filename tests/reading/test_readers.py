"""Readers: DrQA's own numbers, a restatement of spans, and a tiny transformer."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForQuestionAnswering

from hyperprobe.errors import UserError
from hyperprobe.options import ModelOptions
from hyperprobe.reading import answers, build
from hyperprobe.reading.answers import RetrieveRead, load_reader
from hyperprobe.reading.drqa_reader import Words, feature_rows, load_drqa_reader
from hyperprobe.reading.ngrams import tokenise
from hyperprobe.reading.span_reader import SpanReader
from tests.reading.drqa_files import N_BUCKETS, save_reader
from tests.tiny_models import SMALL, SPREAD

CPU = ModelOptions(device="cpu")


def log_softmax(scores: Any) -> Any:
    scores = np.asarray(scores, dtype=float)
    return scores - np.log(np.exp(scores).sum())


def best_spans(starts: Any, ends: Any, most: int, normalised: bool) -> list[tuple[int, int, float]]:
    """The five best (start, end, score) of spans of `most` words at most."""
    if normalised:
        starts, ends = log_softmax(starts), log_softmax(ends)
    n = len(starts)
    spans = [(i, j) for i in range(n) for j in range(i, min(n, i + most))]
    scored = [(i, j, float(np.exp(starts[i] + ends[j]))) for i, j in spans]
    return sorted(scored, key=lambda span: -span[2])[:5]


@pytest.mark.parametrize("kind", ["reader", "reader_no_annotations"])
def test_drqas_reader_gives_its_scores(kind: str, shared: Path):
    folder = shared / "lama_models/drqa"
    expected = json.loads((folder / "expected.json").read_text())
    texts = {one["question"]: one for one in expected["reader"]["examples"]}
    reader = load_drqa_reader(folder / f"{kind}.mdl", "cpu")
    for one in expected[kind]["examples"]:
        of_text = texts[one["question"]]
        question = Words(of_text["question_tokens"], of_text["question_lemmas"])
        keys = ("document_tokens", "document_lemmas", "pos", "ner")
        document = Words(*(of_text[key] for key in keys))
        features = feature_rows(document, question, reader.places)
        wanted = torch.zeros(features.shape)
        for row, column, value in one["features_not_zero"]:
            wanted[row, column] = value
        assert torch.allclose(features, wanted, atol=1e-6)
        [(starts, ends)] = reader.scores(question, [document])
        assert log_softmax(starts) == pytest.approx(one["start_logprob"], abs=1e-5)
        assert log_softmax(ends) == pytest.approx(one["end_logprob"], abs=1e-5)
        for most in (1, 15):
            for name in ("normalized", "exp_scores"):
                spans = best_spans(starts, ends, most, name == "normalized")
                theirs = one["best_spans"][f"{name}_max_len_{most}"]
                assert [span[:2] for span in spans] == [tuple(span[:2]) for span in theirs]
                assert [s[2] for s in spans] == pytest.approx([s[2] for s in theirs], rel=1e-5)


def test_both_steps_give_drqas_answers(
    shared: Path, unpacked: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = shared / "lama_models/drqa"
    expected = json.loads((folder / "expected.json").read_text())
    found = RetrieveRead(folder, folder / "reader_no_annotations.mdl", unpacked, CPU)
    asked = expected["pipeline_no_annotations_simple_tokenizer"]
    assert {one["max_len"] for one in asked} == {1, 15}
    for one in asked:
        if one["max_len"] == 1:
            monkeypatch.setattr(answers, "N_DOCUMENTS", one["n_docs"])
            best = found.answers(one["query"])
            # DrQA gives one span of each paragraph; a word's best score is over all of them.
            for answer in one["answers"]:
                assert np.exp(best[answer["span"]]) >= answer["span_score"] * (1 - 1e-5)
            first = one["answers"][0]
            assert max(best, key=best.__getitem__) == first["span"]
            assert np.exp(max(best.values())) == pytest.approx(first["span_score"], rel=1e-5)
        else:
            self_read = {}
            for column, _ in found.index.scores(one["query"])[: one["n_docs"]]:
                for line in found.index.document(column)[1].split("\n"):
                    if text := line.strip():
                        words = [Words.of(part) for part in (one["query"], text)]
                        [(starts, ends)] = found.reader.scores(words[0], [words[1]])  # type: ignore[attr-defined]
                        i, j, score = best_spans(starts, ends, 15, False)[0]
                        tokens = tokenise(text)
                        self_read[text[tokens[i].start : tokens[j].end], text] = score
            ranked = sorted(self_read.items(), key=lambda pair: -pair[1])[:5]
            assert [key for key, _ in ranked] == [(a["span"], a["context"]) for a in one["answers"]]
            theirs = [answer["span_score"] for answer in one["answers"]]
            assert [score for _, score in ranked] == pytest.approx(theirs, rel=1e-5)


def test_padding_changes_nothing(tmp_path: Path):
    reader = load_drqa_reader(save_reader(tmp_path / "r.mdl", ["robin", "bird", "a"]), "cpu")
    paragraphs = ["a robin is a bird", "", "robin", "bird " * 40]
    together = reader.word_scores("what is a robin ?", paragraphs)
    assert [len(words) for words in together] == [5, 0, 1, 40]
    for paragraph, words in zip(paragraphs, together, strict=True):
        [alone] = reader.word_scores("what is a robin ?", [paragraph])
        assert [word for word, _ in alone] == [word for word, _ in words]
        assert [s for _, s in alone] == pytest.approx([s for _, s in words], abs=1e-5)
    # A question without words has no answer.
    assert [score for _, score in reader.word_scores(" ", ["a b"])[0]] == [-np.inf] * 2


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, (f"touch {self.path}",)


def change(key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.update({key: value})


def drop_weights(content: dict[str, Any]) -> None:
    del content["state_dict"]["self_attn.linear.bias"]


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "another kind": ({"rnn_type": "gru"}, "rnn_type is 'gru', and only 'lstm' is read"),
    "no number": ({"hidden_size": "3"}, "args: hidden_size"),
    "too large": ({"hidden_size": 10**9}, "hidden_size is 1000000000, no fit number"),
    "other features": ({"num_features": 5}, "3 features, and args has 5"),
    "other width": ({"embedding_dim": 5}, "embedding.weight has the shape"),
    "no features": ({"change": change("feature_dict", {"tf": 7})}, "feature_dict does not number"),
    "no words": ({"change": change("word_dict", {})}, "word_dict does not number"),
    "no weights": ({"change": drop_weights}, "no weights self_attn.linear.bias"),
    "no args": ({"change": lambda content: content.pop("args")}, "no reader of DrQA"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_reader_that_does_not_fit(kind: str, tmp_path: Path):
    about, message = BROKEN[kind]
    path = save_reader(tmp_path / "r.mdl", ["robin"], **about)
    with pytest.raises(UserError, match=message):
        load_reader(path, CPU)


def test_a_reader_that_is_evil_or_cut(tmp_path: Path):
    path = save_reader(tmp_path / "r.mdl", ["robin"], change=change("args", Evil(tmp_path / "ran")))
    with pytest.raises(UserError, match="which no such file needs: nothing of it was run"):
        load_reader(path, CPU)
    assert not (tmp_path / "ran").exists()
    whole = save_reader(path, ["robin"]).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="cannot read reader"):
        load_reader(path, CPU)


# -- transformers ---------------------------------------------------------------------------


@pytest.fixture(scope="session")
def qa_folder(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with a head for question answering, with the tiny BERT's tokenizer."""
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("qa")
    tokenizer = AutoTokenizer.from_pretrained(tiny_models["bert"])
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=SPREAD, **SMALL)
    BertForQuestionAnswering(config).save_pretrained(folder)
    return folder


def test_words_are_scored_at_their_first_and_last_pieces(qa_folder: Path):
    reader = load_reader(qa_folder, CPU)
    assert isinstance(reader, SpanReader)
    question, text = "a robin is a bird ?", "the goldfinch perches"
    [words] = reader.word_scores(question, [text])
    asked = reader.tokenizer(question, text, return_tensors="pt")
    with torch.inference_mode():
        answer = reader.model(**asked)
    pieces = asked.tokens()
    starts = {
        "the": pieces.index("the"), "goldfinch": pieces.index("the") + 1,
        "perches": pieces.index("perches"),
    }  # fmt: skip
    ends = starts | {"goldfinch": pieces.index("perches") - 1}
    assert ends["goldfinch"] > starts["goldfinch"]
    wanted = [
        float(answer.start_logits[0, starts[word]] + answer.end_logits[0, ends[word]])
        for word in ("the", "goldfinch", "perches")
    ]
    assert [word for word, _ in words] == ["the", "goldfinch", "perches"]
    assert [score for _, score in words] == pytest.approx(wanted, abs=1e-4)


def test_a_long_paragraph_is_read_in_windows(qa_folder: Path):
    reader = load_reader(qa_folder, CPU)
    assert isinstance(reader, SpanReader) and reader.window == 256
    long = "robin " * 600
    found, empty, short = reader.word_scores("what is a robin ?", [long, "", "robin"])
    assert len(found) == 600 and np.isfinite([score for _, score in found]).all()
    assert empty == [] and len(short) == 1
    # The first words of a paragraph are in its first window alone.
    room = reader.window - len(reader.tokenizer("what is a robin ?", "")["input_ids"])
    [alone] = reader.word_scores("what is a robin ?", ["robin " * room])
    assert found[0][1] == pytest.approx(alone[0][1], abs=1e-4)
    # A question that is too long is cut; there is an answer all the same.
    [cut] = reader.word_scores("robin " * 400, ["a bird"])
    assert np.isfinite([score for _, score in cut]).all()


def test_a_folder_that_answers_no_questions(tiny_models: dict[str, Path]):
    with pytest.raises(UserError, match="it answers no questions"):
        load_reader(tiny_models["bert"], CPU)


def test_weights_that_are_no_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "N_BUCKETS", N_BUCKETS)

    def damage(content: dict[str, Any]) -> None:
        content["state_dict"]["self_attn.linear.bias"][0] = float("nan")

    (tmp_path / "a.txt").write_text("a robin is a bird\n\nan oak\n\na trout\n")
    path = save_reader(tmp_path / "r.mdl", ["robin"], change=damage)
    found = RetrieveRead(tmp_path / "a.txt", path, tmp_path / "results", CPU)
    with pytest.raises(UserError, match="answers with NaN"):
        found.answers("robin")
