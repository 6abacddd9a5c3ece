"""Prompts of vectors: the forward pass, the learning, the files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperprobe.cloze import CandidateSet
from hyperprobe.errors import UserError
from hyperprobe.models.load import load_model
from hyperprobe.models.prompt_vectors import (
    encode_clozes,
    encode_subjects,
    frozen,
    plain_words,
    random_vectors,
    score_vectors,
    slot_logits,
    vectors_of_prompt,
)
from hyperprobe.options import ModelOptions
from hyperprobe.probes.lama.predictions import predict_facts
from hyperprobe.probes.lama.probe import lama
from hyperprobe.probes.lama.prompts import (
    Prompts,
    count_markers,
    load_prompts,
    owner_of,
    prompts_file,
)
from hyperprobe.probes.lama.protocol import Fact
from hyperprobe.probes.lama.sources import Relation
from hyperprobe.probes.prompts import autoprompt as search
from hyperprobe.probes.prompts.autoprompt import autoprompt, likely_tokens
from hyperprobe.probes.prompts.controls import RANDOM_EMBEDDINGS, RANDOM_MODEL, load_control
from hyperprobe.probes.prompts.finetune import finetuned
from hyperprobe.probes.prompts.learning import QuestionSet, descend, seeded
from hyperprobe.probes.prompts.optiprompt import optiprompt
from hyperprobe.probes.prompts.splits import Split
from tests.probes.lama.test_probe import write_source

CANDIDATES = CandidateSet(("bird", "fish", "tree", "tool", "house"))
RELATION = Relation("mine", "P1", Path("P1.jsonl"), "the [X] is a [Y] .")
FACTS = [
    Fact("1", "robin", "bird"),
    Fact("2", "sparrow", "bird"),
    Fact("3", "trout", "fish"),
    Fact("4", "oak", "tree"),
    Fact("5", "hammer", "tool"),
]
SPLIT = Split(RELATION, FACTS, FACTS[:3], [Fact("6", "car", "bird")], {})


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def loss(model: Any, prompts: Prompts | None = None) -> float:
    """The mean loss over the candidates on FACTS, from the scores."""
    table = predict_facts(model, RELATION, FACTS, CANDIDATES, prompts)
    total = [np.logaddexp.reduce(scores) for scores in table["top_scores"]]
    return float(np.mean(total - table["gold_score"]))


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hyperprobe.probes.prompts.optiprompt.MIN_STEPS", 12)


@pytest.fixture
def bert(tiny_models: dict[str, Path]) -> Any:
    return load_model(str(tiny_models["bert"]))


@pytest.mark.parametrize("shape", ["bert", "roberta", "albert"])
@pytest.mark.parametrize("template", ["[X] is a [Y] .", "the [Y] , [X] are trees."])
def test_vectors_that_are_rows_of_the_table_answer_as_tokens(
    shape: str, template: str, tiny_models: dict[str, Path]
):
    """All at once, slot alone, against one text at a time, all places, from token ids."""
    model = load_model(str(tiny_models[shape]))
    candidates = CandidateSet(tuple(w for w in ("a", "is", "bird") if len(model.pieces(w)) == 1))
    pattern, vectors = vectors_of_prompt(model, template)
    tokens = [
        token
        for part in template.replace("[X]", "").replace("[Y]", "").split()
        for token in model.tokenizer(f" {part}", add_special_tokens=False)["input_ids"]
    ]
    assert count_markers(pattern) == len(vectors) == len(tokens) > 2
    subjects = [fact.subject for fact in FACTS]
    found = score_vectors(model, subjects, pattern, vectors.numpy(), candidates)
    columns = [model.pieces(word)[0] for word in candidates.words]
    for i, question in enumerate(encode_subjects(model, subjects, pattern)):
        ids = torch.tensor([question.ids])
        ids[0, list(question.positions)] = torch.tensor(tokens)
        with torch.no_grad():
            logits = model.model(input_ids=ids).logits[0, question.slot].log_softmax(dim=0)
        assert found[i] == pytest.approx(logits[columns].numpy(), abs=1e-5)
        assert ids[0, question.slot] == model.tokenizer.mask_token_id


def test_vectors_of_the_words_answer_as_the_words(bert: Any):
    for template in ("[X] is a [Y] .", "the [Y], [X] are trees."):
        pattern, vectors = vectors_of_prompt(bert, template)
        found = score_vectors(
            bert, [f.subject for f in FACTS], pattern, vectors.numpy(), CANDIDATES
        )
        clozes = [fact.cloze(template) for fact in FACTS]
        assert found == pytest.approx(bert.score(clozes, CANDIDATES), abs=1e-5)
        with torch.no_grad():
            logits = slot_logits(bert, encode_clozes(bert, clozes)).log_softmax(dim=1)
        columns = [bert.pieces(word)[0] for word in CANDIDATES.words]
        assert logits[:, columns].numpy() == pytest.approx(found, abs=1e-5)


def test_only_the_vectors_move(bert: Any):
    before = weights(bert)
    found = optiprompt(bert, SPLIT, CANDIDATES, seed=0)
    assert same(before, weights(bert))
    assert all(p.grad is None and p.requires_grad for p in bert.model.parameters())
    assert not bert.model.training
    _, start = vectors_of_prompt(bert, RELATION.template)
    assert found.vectors.shape == tuple(start.shape)
    assert not np.array_equal(found.vectors, start.numpy())


@pytest.mark.parametrize(("start", "n"), [("manual", 4), ("5", 5), ("10", 10)])
def test_vectors_learn(bert: Any, start: str, n: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hyperprobe.probes.prompts.optiprompt.MIN_STEPS", 100)
    split = Split(RELATION, FACTS, [], [], {})  # without dev, train decides
    found = optiprompt(bert, split, CANDIDATES, seed=0, start=start)
    assert len(found.vectors) == count_markers(found.templates[0]) == n
    if start == "manual":
        template, vectors = vectors_of_prompt(bert, RELATION.template)
    else:
        with seeded(0):
            template, vectors = random_vectors(bert, n)
    assert template == found.templates[0]
    begin = Prompts("vectors", (template,), vectors=vectors.numpy(), owner=found.owner)
    assert loss(bert, found) < loss(bert, begin) - 0.03


def test_the_same_seed_gives_the_same_vectors(bert: Any):
    first, again = (optiprompt(bert, SPLIT, CANDIDATES, 3, "5").vectors for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, optiprompt(bert, SPLIT, CANDIDATES, 4, "5").vectors)


def test_learning_draws_no_random_numbers_of_others(bert: Any):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    optiprompt(bert, SPLIT, CANDIDATES, 0, "5")
    assert torch.equal(torch.rand(3), expected)


def test_the_loss_is_that_of_the_candidates_alone(bert: Any):
    template, vectors = random_vectors(bert, 5)
    questions = encode_subjects(bert, [fact.subject for fact in FACTS], template)
    exercise = QuestionSet.of(bert, questions, FACTS, CANDIDATES)
    with torch.no_grad():
        loss = exercise.loss(bert, range(5), vectors)
        places = [bert.pieces(word)[0] for word in CANDIDATES.words]
        scores = slot_logits(bert, questions, vectors)[:, places].log_softmax(dim=1)
    gold = [CANDIDATES.index[fact.object] for fact in FACTS]
    assert float(loss) == pytest.approx(-float(scores[range(5), gold].mean()), abs=1e-5)
    right, minus_loss = exercise.quality(bert, vectors)
    assert minus_loss == pytest.approx(-float(loss), abs=1e-5)
    assert right == pytest.approx(
        float((scores.argmax(dim=1) == torch.tensor(gold)).float().mean())
    )


def test_the_schedule_warms_up_and_ends_at_nothing(bert: Any):
    rates: list[float] = []
    parameter = torch.nn.Parameter(torch.zeros(1))

    class Watched(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    original, torch.optim.Adam = torch.optim.Adam, Watched  # type: ignore[misc]
    try:
        descend(
            bert, [parameter], lambda batch: (parameter - 1).square().sum(), 10,
            learning_rate=1.0, batch_size=2, epochs=8, quality=lambda: (0.0, 0.0),
            keep=lambda: None,
        )  # fmt: skip
    finally:
        torch.optim.Adam = original  # type: ignore[misc]
    assert rates[:5] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert len(rates) == 40 and rates[-1] == pytest.approx(1 / 36)


def test_a_long_subject_loses_its_first_tokens(bert: Any):
    (question,) = encode_subjects(bert, ["snow " * 300 + "robin"], "[X] [V1] [Y] .")
    assert len(question.ids) == bert.max_tokens
    tokens = bert.tokenizer.convert_ids_to_tokens(list(question.ids))
    assert tokens[0] == "[CLS]" and tokens[-5] == "robin"
    assert question.slot == len(tokens) - 3 and question.positions == (len(tokens) - 4,)


# -- files ------------------------------------------------------------------------------


def save_prompts(folder: Path, relation: str, prompts: Prompts) -> Path:
    """The file that `prompts` writes."""
    name, content = prompts_file(relation, prompts)
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


def test_a_file_of_vectors_comes_back(bert: Any, tmp_path: Path):
    found = optiprompt(bert, SPLIT, CANDIDATES, 0)
    path = save_prompts(tmp_path, "P1", found)
    assert path == tmp_path / "P1.safetensors"
    (again,) = load_prompts(tmp_path).values()
    assert again == found and np.array_equal(again.vectors, found.vectors)
    assert again.describe() == found.describe()
    one, other = (predict_facts(bert, RELATION, FACTS, CANDIDATES, p) for p in (found, again))
    assert one.equals(other)


def test_lama_asks_with_vectors_and_minds_whose_they_are(
    tiny_models: dict[str, Path], tmp_path: Path
):
    source, folder = str(write_source(tmp_path / "facts")), str(tiny_models["bert"])
    model = load_model(folder)
    found = optiprompt(model, SPLIT, CANDIDATES, 0)
    save_prompts(tmp_path / "found", "P1", found)
    result = lama([folder], [source], prompts=tmp_path / "found", results=tmp_path)
    own = result.predictions[result.predictions["model"] == folder]
    assert set(own["prompt"]) == {found.templates[0]} and set(own["relation"]) == {"P1"}
    with pytest.raises(UserError, match="these vectors belong to .* and mean nothing to"):
        lama([str(tiny_models["albert"])], [source], prompts=tmp_path / "found", results=tmp_path)
    with pytest.raises(UserError, match="these vectors belong to"):
        found.check_owner(load_model(f"random:{folder}"))


def test_a_copy_of_a_model_is_the_same_model(tiny_models: dict[str, Path], tmp_path: Path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in tiny_models["bert"].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    found = Prompts("vectors", ("[X] [Y]",), owner=owner_of(load_model(str(tiny_models["bert"]))))
    found.check_owner(load_model(str(copy)))


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("[X] [V1] .", "write [Y] exactly once"),
        ("[X] [V2] [V1] [Y]", "number its vectors"),
        ("[X] [V1] [Y] .", "2 vectors of 4 numbers, but its template has 1"),
    ],
)
def test_broken_files_of_vectors_are_told(template: str, says: str, tmp_path: Path):
    vectors = np.zeros((2, 4), dtype=np.float32)
    prompts = Prompts("vectors", (template,), vectors=vectors, owner={"name": "x"})
    path = save_prompts(tmp_path, "P1", prompts)
    with pytest.raises(UserError, match="P1.safetensors") as error:
        load_prompts(path)
    assert says in str(error.value)
    path.write_bytes(b"nonsense")
    with pytest.raises(UserError, match="holds no prompt of vectors"):
        load_prompts(path)


def test_text_prompts_come_back(tmp_path: Path):
    for i, prompts in enumerate(
        (
            Prompts("template", ("[X] → 1987 [Y].",)),
            Prompts("ensemble", ("[X] [Y]", "[Y] , [X]"), (0.25, 0.75)),
        )
    ):
        path = save_prompts(tmp_path, f"P{i}", prompts)
        assert load_prompts(path) == {f"P{i}": prompts}


# -- AutoPrompt ---------------------------------------------------------------------------


def test_autoprompt_solves_a_problem_of_two_tokens(bert: Any, monkeypatch: pytest.MonkeyPatch):
    words = ["snow", "winter", "when", "some", "in", "are", "perches", ","]
    ids = torch.tensor([bert.pieces(word)[0] for word in words])
    monkeypatch.setattr(search, "plain_words", lambda model, without: ids)
    split = Split(RELATION, FACTS, [], [], {})
    questions = encode_subjects(bert, [f.subject for f in FACTS], "[X] [V1] [V2] [Y] .")
    exercise = QuestionSet.of(bert, questions, FACTS, CANDIDATES)
    table = bert.model.get_input_embeddings().weight.detach()
    quality = {
        (a, b): exercise.quality(bert, table[torch.stack([ids[i], ids[j]])])
        for i, a in enumerate(words)
        for j, b in enumerate(words)
    }
    best = min(quality, key=lambda pair: -quality[pair][1])  # of the lowest loss of all 64
    found = autoprompt(bert, split, CANDIDATES, 0, n_triggers=2, steps=12, n_candidates=8)
    pair = tuple(found.templates[0].split()[1:3])
    losses = sorted(-loss for _, loss in quality.values())
    assert -quality[pair][1] <= losses[2], (pair, best)
    assert quality[pair] > quality[("snow", "snow")] or best == ("snow", "snow")


def test_candidates_are_those_of_the_gradient(bert: Any):
    with frozen(bert), seeded(0):
        template, _ = random_vectors(bert, 2)
        questions = encode_subjects(bert, [f.subject for f in FACTS], template)
        exercise = QuestionSet.of(bert, questions, FACTS, CANDIDATES)
        table = bert.model.get_input_embeddings().weight.detach()
        triggers = torch.tensor([bert.pieces(w)[0] for w in ("snow", "winter")])
        allowed = torch.arange(5, 40)
        found = likely_tokens(bert, exercise, table, triggers, 1, range(5), allowed, 4)
        step = 1e-2  # the gradient by differences
        change = torch.empty(len(allowed))
        for i, token in enumerate(allowed):
            moved = table[triggers].clone()
            toward = table[token] - moved[1]
            losses = []
            for sign in (1, -1):
                shifted = moved.clone()
                shifted[1] += sign * step * toward
                losses.append(exercise.loss(bert, range(5), shifted).double())
            change[i] = (losses[0] - losses[1]) / (2 * step)
    assert set(found.tolist()) == set(allowed[change.argsort()[:4]].tolist())


@pytest.mark.parametrize("shape", ["bert", "roberta"])
def test_triggers_are_words_that_are_read_as_they_are(shape: str, tiny_models: dict[str, Path]):
    model = load_model(str(tiny_models[shape]))
    tokens = plain_words(model, {"bird"}).tolist()
    words = [model.tokenizer.decode([token]).strip() for token in tokens]
    assert len(words) > 20 and "bird" not in words and "birds" in words
    assert not set(tokens) & set(model.tokenizer.all_special_ids)
    text = " " + " ".join(words)
    assert model.tokenizer(text, add_special_tokens=False)["input_ids"] == tokens


def test_autoprompt_gives_a_text_that_scores_as_it_did(bert: Any):
    before = weights(bert)
    found = autoprompt(bert, SPLIT, CANDIDATES, 1, steps=7, n_candidates=4)
    assert same(before, weights(bert))
    assert found == autoprompt(bert, SPLIT, CANDIDATES, 1, steps=7, n_candidates=4)
    (template,) = found.templates
    words = template.split()
    assert len(words) == 8 and "[MASK]" not in words
    table = bert.model.get_input_embeddings().weight.detach()
    vectors = table[torch.tensor([bert.pieces(word)[0] for word in words[1:6]])]
    pattern = "[X] [V1] [V2] [V3] [V4] [V5] [Y] ."
    subjects = [fact.subject for fact in FACTS]
    assert bert.score([f.cloze(template) for f in FACTS], CANDIDATES) == pytest.approx(
        score_vectors(bert, subjects, pattern, vectors.numpy(), CANDIDATES), abs=1e-5
    )


# -- fine-tuning and controls --------------------------------------------------------------


def test_fine_tuning_changes_the_model_for_a_while(bert: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("hyperprobe.probes.prompts.finetune.LEARNING_RATE", 1e-3)
    before = weights(bert)
    split = Split(RELATION, FACTS, [], [], {})
    with finetuned(bert, split, CANDIDATES, 0):
        tuned = loss(bert)
        assert not same(before, weights(bert))
    assert tuned < loss(bert) - 0.1
    assert same(before, weights(bert))
    with pytest.raises(RuntimeError), finetuned(bert, split, CANDIDATES, 0):
        raise RuntimeError
    assert same(before, weights(bert))


def test_random_embeddings_are_all_that_is_random(tiny_models: dict[str, Path]):
    name = str(tiny_models["bert"])
    plain, control = (
        weights(load_control(ModelOptions(), name)),
        load_control(ModelOptions(), name, RANDOM_EMBEDDINGS),
    )
    changed = {key for key, value in weights(control).items() if not torch.equal(plain[key], value)}
    assert changed == {"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"}
    assert same(weights(control), weights(load_control(ModelOptions(), name, RANDOM_EMBEDDINGS)))
    assert control.name == f"random-embeddings:{name}"


def test_a_random_model_keeps_nothing_but_the_spread(tiny_models: dict[str, Path]):
    name = str(tiny_models["bert"])
    plain, control = (
        weights(load_control(ModelOptions(), name)),
        load_control(ModelOptions(), name, RANDOM_MODEL),
    )
    drawn = weights(control)
    for key, value in plain.items():
        if value.ndim > 1:
            both = torch.stack([value.flatten(), drawn[key].flatten()])
            assert abs(float(torch.corrcoef(both)[0, 1])) < 0.2, key
            assert float(drawn[key].std()) == pytest.approx(float(value.std()), rel=0.15), key
        elif value.dtype.is_floating_point:
            assert set(drawn[key].tolist()) == ({0.0} if key.endswith("bias") else {1.0}), key
    assert same(drawn, weights(load_control(ModelOptions(), name, RANDOM_MODEL)))


def test_gradient_methods_refuse_other_models(bert: Any):
    class Causal:
        name, kind = "gpt2", "causal"

    for method in (optiprompt, autoprompt):
        with pytest.raises(UserError, match="needs a masked language model, and gpt2 is a causal"):
            method(Causal(), SPLIT, CANDIDATES, 0)
    with (
        pytest.raises(UserError, match="needs a masked"),
        finetuned(Causal(), SPLIT, CANDIDATES, 0),
    ):
        pass


def test_the_header_names_the_model(bert: Any, tmp_path: Path):
    from safetensors import safe_open

    path = save_prompts(tmp_path / "P1", "P1", optiprompt(bert, SPLIT, CANDIDATES, 0, "1"))
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["hyperprobe"])
    assert header["model"]["name"] == bert.name
    assert "model.safetensors" in header["model"]["sha256"]
    assert header["template"] == "[X] [V1] [Y] ." and header["relation"] == "P1"
