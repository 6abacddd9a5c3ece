"""fconv, Transformer-XL and ELMo: the original programs' answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hyperprobe.cloze import SLOT, CandidateSet, Cloze
from hyperprobe.models import elmo
from hyperprobe.models.base import TextModel
from hyperprobe.models.elmo import ElmoModel
from hyperprobe.models.word_level import WordModel
from hyperprobe.probes.lama.protocol import Fact
from tests.lama_files import load_word_model as load
from tests.lama_files import ranked_scores

Record = dict[str, Any]
LIMIT = 1e-4  # of the originals' log-probabilities


@pytest.fixture(scope="module")
def originals() -> Path:
    folder = Path(__file__).parents[3] / "shared" / "lama_models"
    if not folder.is_dir():
        pytest.skip("no shared data beside this checkout")
    return folder


def expected_of(originals: Path, folder: str) -> Record:
    found: Record = json.loads((originals / folder / "expected.json").read_text("utf-8"))
    return found


def clozes_of(originals: Path, model: WordModel, records: Sequence[Record]) -> list[Cloze]:
    """The sentences of the records, each with its gold word as the subject."""
    lines = (originals / "sentences.jsonl").read_text("utf-8").splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    clozes = []
    for record in records:
        row = rows[record["id"]]
        object_ = row["obj_label"]
        fact = Fact(str(row["id"]), object_, object_, tuple(row["masked_sentences"]))
        clozes.append(fact.cloze(None))
    assert any(cloze.second for cloze in clozes) or len(records) < len(rows)
    return model.fit(clozes)


def check_open(model: TextModel, clozes: list[Cloze], answers: Sequence[Record]) -> None:
    """The 20 best words, and the rank of the gold one, over the whole vocabulary."""
    ranking, top = model.rank_open(clozes, [c.subject or "" for c in clozes], 20)
    for i, answer in enumerate(answers):
        assert top[i] == [word for word, _, _ in answer["top20"]]
        values = [value for _, _, value in answer["top20"]]
        assert np.abs(ranking.top_score[i] - values).max() < LIMIT
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_full"] if gold else 0)


def check_candidates(
    model: TextModel, clozes: list[Cloze], answers: Sequence[Record], words: Sequence[str]
) -> None:
    """The log-probabilities of candidates, and the rank of the gold one among `words`."""
    for cloze, answer in zip(clozes, answers, strict=True):
        values = answer["candidates"]
        (scores,) = model.score([cloze], CandidateSet(tuple(values)))
        for value, score in zip(values.values(), scores, strict=True):
            assert score == -np.inf if value is None else abs(score - value) < LIMIT
    known = CandidateSet(tuple(w for w, one in zip(words, model.single_tokens(words)) if one))  # noqa: B905
    ranking = model.rank(clozes, known, [known.index.get(c.subject or "") for c in clozes], 5)
    for i, answer in enumerate(answers):
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_in_subset"] if gold else 0)
        assert [known.words[j] for j in ranking.top[i]] == [w for w, _ in answer["subset_top5"]]


def common_words(originals: Path) -> list[str]:
    return (originals / "common_vocab_cased.txt").read_text("utf-8").split()


@pytest.mark.parametrize(("file", "key"), [("", ""), ("/wiki103_old_layout.pt", "_old_layout")])
def test_fconv_as_the_original(originals: Path, file: str, key: str):
    expected = expected_of(originals, "fconv")
    records = expected[f"sentences{key}"]
    model = load(f"fconv:{originals}/fconv{file}", "continuation")
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        (ids,) = model.token_ids([cloze.text])
        assert [2, *ids, 2] == record["input_ids"]
        tokens = [
            SLOT if token == "<unk>" else token for token in model.tokenizer.split(cloze.text)
        ]
        assert [*tokens, "</s>"] == record["tokens"]
        (before,) = model.token_ids([cloze.left])
        assert len(before) == record["mask_indices"][0]
    check_open(model, clozes, records)
    words = common_words(originals)
    check_candidates(model, clozes, records, words)
    unknown = [word for word, one in zip(words, model.single_tokens(words), strict=True) if not one]
    assert sorted(unknown) == expected["vocab_subset_words_not_in_model"]


@pytest.mark.parametrize("tokens", ["0.6.1", "0.6.2"])
@pytest.mark.parametrize("memory", ["zero", "none"])
def test_transformer_xl_as_the_original(originals: Path, memory: str, tokens: str):
    expected = expected_of(originals, "transformer-xl")
    records = expected["sentences"]
    if tokens == "0.6.2":
        newer = expected["pytorch_pretrained_bert_0.6.2"]
        records = [r for r in records if r["id"] in newer["same_input"]]
        records += newer["sentences_with_other_tokens"]
    folder = originals / "transformer-xl" / "transfo-xl-wt103"
    choices = "" if (memory, tokens) == ("zero", "0.6.1") else f"?memory={memory}&tokens={tokens}"
    model = load(f"transformer-xl:{folder}{choices}", "continuation")
    key = f"{'no' if memory == 'none' else memory}_memory"
    records = [record for record in records if key in record]
    assert len(records) >= 9
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        (ids,) = model.token_ids([cloze.text])
        assert [0, *ids] == record["full_ids"]
        assert ["<eos>", *model.tokenizer.split(cloze.text)] == record["tokens"]
        (before,) = model.token_ids([cloze.left])
        assert len(before) == record["mask_indices"][0]
    answers = [record[key] for record in records]
    check_open(model, clozes, answers)
    check_candidates(model, clozes, answers, common_words(originals))
    assert (model.describe()["memory"], model.describe()["tokens"]) == (memory, tokens)


def elmo_answers(originals: Path, model: ElmoModel, key: str) -> tuple[list[Cloze], list[Record]]:
    records = expected_of(originals, "elmo")["sentences"]
    clozes = clozes_of(originals, model, records)
    for cloze, record in zip(clozes, records, strict=True):
        text = model.text(cloze)
        assert list(text.words) == record["tokens"] and text.slot == record["mask_indices"][0]
    return clozes, [record[key] for record in records]


def load_elmo(originals: Path, state: str) -> ElmoModel:
    model = load(f"elmo:{originals}/elmo/original?state={state}")
    assert isinstance(model, ElmoModel)
    return model


def check_subset(
    originals: Path, model: ElmoModel, clozes: list[Cloze], answers: list[Record]
) -> None:
    """The original's records over the vocabulary that was cut, `<S>` and `</S>` ranked as well."""
    cut = CandidateSet(tuple(expected_of(originals, "elmo")["vocab_after_optimize_top_layer"]))
    gold = [cut.index.get(c.subject or "") for c in clozes]
    ranking = model.rank(clozes, cut, gold, len(cut))
    scores = ranked_scores(ranking)
    for i, answer in enumerate(answers):
        best = ranking.top[i, :20]
        assert [cut.words[j] for j in best] == [word for word, _, _ in answer["top20"]]
        values = [value for _, _, value in answer["top20"]]
        assert np.abs(ranking.top_score[i, :20] - values).max() < LIMIT
        gold = answer["gold"]
        assert ranking.gold_rank[i] == (gold["rank_full"] if gold else 0)
        for word, value in answer["candidates"].items():
            assert value is None or abs(scores[i, cut.index[word]] - value) < LIMIT
        assert np.exp(scores[i]).sum() == pytest.approx(answer["sum_of_probabilities"], abs=1e-3)


@pytest.mark.parametrize("state", ["zero-state-10", "zero-state-1"])
def test_elmo_as_the_original(originals: Path, state: str):
    model = load_elmo(originals, state)
    key = state.replace("-", "_")
    clozes, answers = elmo_answers(originals, model, f"full_{key}")
    check_open(model, clozes, answers)
    for cloze, answer in zip(clozes, answers, strict=True):
        values = answer["candidates"]
        (scores,) = model.score([cloze], CandidateSet(tuple(values)))
        for value, score in zip(values.values(), scores, strict=True):
            assert score == -np.inf if value is None else abs(score - value) < LIMIT
    _, answers = elmo_answers(originals, model, f"subset_{key}")
    check_subset(originals, model, clozes, answers)
    # The two marks take part in the soft-max where they do not compete, too.
    cut = expected_of(originals, "elmo")["vocab_after_optimize_top_layer"]
    words = CandidateSet(tuple(word for word in cut if word not in ("<S>", "</S>")))
    scores = ranked_scores(model.rank(clozes[:3], words, [None] * 3, len(words)))
    for row, answer in zip(scores, answers, strict=False):
        for word, value in answer["candidates"].items():
            assert value is None or abs(row[words.index[word]] - value) < LIMIT


def test_elmo_in_the_reference_order(originals: Path, monkeypatch: pytest.MonkeyPatch):
    model = load_elmo(originals, "reference-order")
    monkeypatch.setattr(elmo, "BATCH", 16)
    clozes, answers = elmo_answers(originals, model, "subset_lama_pass_1")
    check_subset(originals, model, clozes, answers)
    order = elmo.reference_order(clozes)
    batches = expected_of(originals, "elmo")["lama_passes"]["pass_1"]["batches"]
    assert order == sum(batches, [])  # noqa: RUF017
    # All again in batches of 32, straight on, as the original did once more.
    states = model.sides(clozes).states
    monkeypatch.setattr(elmo, "BATCH", 32)
    read = model.sides
    monkeypatch.setattr(
        model, "sides", lambda clozes, *around: read(clozes, *around, states=states)
    )
    _, answers = elmo_answers(originals, model, "subset_lama_pass_2")
    check_subset(originals, model, clozes, answers)
