"""Every family through the commands, which models are refused and why, and spelling rules."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
import transformers
from transformers import AutoTokenizer

from hyperprobe import cli
from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.load import family, load_model
from tests.tiny_models import SPREAD, save_model

CLOZE = parse_cloze("A robin is a [MASK].", "robin")
BIRDS = CandidateSet(("bird", "fish"))


@pytest.fixture(scope="module")
def folders(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    made = {
        name: save_model(name, tmp_path_factory.mktemp(name))
        for name in ("GPT2", "Llama", "T5", "Bart")
    }
    return {**tiny_models, **made}


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The command line in this process: its exit code."""
    monkeypatch.setattr(sys, "argv", ["hyperprobe", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("name", ["GPT2", "Llama", "T5", "Bart"])
def test_zero_shot_of_every_family(
    name: str, folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    model = str(folders[name])
    arguments = ("zero-shot", "--paired", "--model", model, "--diagnostic", "lm-diagnostic")
    assert command(monkeypatch, *arguments, "--control", "random") == 0
    out = capsys.readouterr().out
    assert "what the question adds to the noun" in out and "McNemar" in out
    assert command(monkeypatch, *arguments, "--control", "random", "--json") == 0
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert set(rows) == {
        "majority",
        "word2vec",
        f"control:{model}",
        f"control-bare:{model}",
        f"random:{model}",
        model,
    }
    for row in (rows[model], rows[f"random:{model}"]):
        for metric in ("open_p_at_1", "singular", "plural", "contextual", "paired_aggregate"):
            assert 0 <= row[metric] <= 100
    assert rows[model]["n_unscored_singular"] == 0


@pytest.mark.parametrize("name", ["T5"])
def test_each_article_policy_and_scoring(
    name: str, folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    folder = str(folders[name])
    rows = []
    for scoring in ("full", "continuation"):
        arguments = ["zero-shot", "--model", folder, "--diagnostic", "lm-diagnostic", "--json"]
        arguments += ["--causal-scoring", scoring, "--article", "marginal"]
        assert command(monkeypatch, *arguments) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["settings"]["causal_scoring"] == scoring
        rows.append(document["rows"][-1])
        notes = json.loads((Path(document["run"]) / "run.json").read_text())
        about = notes["models"][f"{folder} on lm-diagnostic"]
        assert about["scoring"] == scoring and notes["peak_memory_mb"]["ram"] > 10
    assert rows[0]["margin_singular"] != rows[1]["margin_singular"]


@pytest.mark.parametrize("name", ["GPT2", "T5"])
def test_facts_of_every_family(
    name: str, folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hyperprobe.probes.lama.probe.EMBEDDED_VECTORS", ())
    (tmp_path / "facts.txt").write_text("bird\nfish\ntree\n")
    relation = tmp_path / "facts" / "is.jsonl"
    relation.parent.mkdir()
    lines = [
        {"sub_label": sub, "obj_label": obj, "masked_sentences": [f"A {sub} is a [MASK]."]}
        for sub, obj in (("robin", "bird"), ("trout", "fish"), ("oak", "tree"))
    ]
    relation.write_text("\n".join(map(json.dumps, lines)))
    arguments = ["lama", "--model", str(folders[name]), "--source", str(relation), "--json"]
    assert command(monkeypatch, *arguments, "--vocab", str(tmp_path / "facts.txt")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    (row,) = (
        r
        for r in rows
        if r["model"] == str(folders[name]) and r["relation"] == "is" and r["ranking"] == "raw"
    )
    assert row["n_facts"] >= 2 and row["p_at_10"] == 100


# -- which family, and which is none ---------------------------------------------------------


def test_the_config_says_the_family(folders):
    kinds = {name: family(str(folder)) for name, folder in folders.items()}
    assert kinds == {
        "bert": "masked", "roberta": "masked", "albert": "masked",
        "GPT2": "causal", "Llama": "causal", "T5": "seq2seq", "Bart": "seq2seq",
    }  # fmt: skip
    assert family("word2vec") == "static"
    for name, kind in kinds.items():
        assert load_model(str(folders[name])).kind == kind


def save(model: object, tokenizer_of: Path, folder: Path) -> Path:
    model.save_pretrained(folder)  # type: ignore[attr-defined]
    AutoTokenizer.from_pretrained(tokenizer_of).save_pretrained(folder)
    return folder


BERT = {
    "vocab_size": 80,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


@pytest.mark.parametrize(
    ("model_class", "message"),
    [
        ("BertModel", "is an encoder without a language-model head .*use it with hyperprobe class"),
        ("ElectraForPreTraining", "is ELECTRA's discriminator.* name the generator"),
        ("ViTModel", "is a vit, no language model that can fill a slot"),
    ],
)
def test_models_that_fill_no_slots(model_class: str, message: str, folders, tmp_path: Path):
    model_class = getattr(transformers, model_class)
    small = dict(BERT, embedding_size=16) if "Electra" in model_class.__name__ else BERT
    save(model_class(model_class.config_class(**small)), folders["bert"], tmp_path)
    with pytest.raises(UserError, match=message):
        load_model(str(tmp_path))


def copy_of(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "copy"))


def test_a_causal_model_that_is_a_bert(folders, tmp_path: Path):
    config = transformers.BertConfig(**BERT, is_decoder=True, initializer_range=SPREAD)
    folder = save(transformers.BertLMHeadModel(config), folders["bert"], tmp_path)
    model = load_model(str(folder))
    assert model.kind == "causal" and model.score([CLOZE], BIRDS).shape == (1, 2)


def test_a_missing_shard_is_named(folders, tmp_path: Path):
    model = transformers.AutoModelForCausalLM.from_pretrained(folders["GPT2"])
    folder = copy_of(folders["GPT2"], tmp_path)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="30KB")
    assert load_model(str(folder)).score([CLOZE], BIRDS).shape == (1, 2)
    shards = sorted(folder.glob("model-*.safetensors"))
    shards[1].unlink()
    with pytest.raises(UserError, match=f"lacks {shards[1].name}, 1 of its {len(shards)} weight"):
        load_model(str(folder))
    (folder / "model.safetensors.index.json").write_text('{"weight_map": ')
    with pytest.raises(UserError, match=r"index\.json: not JSON"):
        load_model(str(folder))


@pytest.mark.parametrize("name", ["bert", "GPT2", "T5"])
def test_nan_is_an_error_and_no_answer(name: str, folders):
    model = load_model(str(folders[name]))
    with torch.no_grad():
        model.model.get_output_embeddings().weight[0] = float("nan")
    with pytest.raises(UserError, match="answers robin with NaN: its weights are damaged"):
        model.score([CLOZE], BIRDS)
    with pytest.raises(UserError, match="answers robin with NaN"):
        model.rank([CLOZE], BIRDS, [0], 1)
    with pytest.raises(UserError, match="answers robin with NaN"):
        model.rank_open([CLOZE], ["bird"], 1)


@pytest.mark.parametrize(
    ("name", "mark"), [("bert", r"\[MASK\]"), ("Bart", "<mask>"), ("T5", "<ex")]
)
def test_a_tokenizer_that_splits_its_own_mask(name: str, mark: str, folders, tmp_path: Path):
    folder = copy_of(folders[name], tmp_path)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "split_special_tokens": True}))
    with pytest.raises(UserError, match=f"splits its own mask token {mark}.*repair"):
        load_model(str(folder))


# -- spelling --------------------------------------------------------------------------------

SPELLED = {
    "bert": {"start": "bird", "space": "bird", "inside": "bird"},  # WordPiece
    "roberta": {"start": "b", "space": "Ġbird", "inside": "b"},  # byte-level BPE
    "GPT2": {"start": "b", "space": "Ġbird", "inside": "b"},
    "albert": {"start": "▁bird", "space": "▁bird", "inside": "b"},  # SentencePiece unigram
    "T5": {"start": "▁bird", "space": "▁bird", "inside": "b"},
    "Llama": {"start": "▁bird", "space": "▁bird", "inside": "b"},  # BPE with byte fallback
}


@pytest.mark.parametrize("name", SPELLED)
def test_a_space_before_the_slot_is_spelled_as_the_tokenizer_does(name: str, folders):
    model = load_model(str(folders[name]))
    for at, first in SPELLED[name].items():
        pieces = model.tokenizer.convert_ids_to_tokens(model.pieces("bird", at))
        assert pieces[0].startswith(first) and not (first == "b" and pieces[0][0] in "Ġ▁")
        spelled = "".join(pieces).replace("##", "").lstrip("Ġ▁")
        assert spelled == "bird"


def test_a_word_that_shares_a_piece_with_what_is_before_it(folders):
    """The whole piece is then scored, for every candidate."""
    model = load_model(str(folders["GPT2"]))
    cloze = parse_cloze("A robin is a b[MASK].", "robin")
    scores = model.score([cloze], CandidateSet(("ird", "oat")))
    whole = model.score([CLOZE], CandidateSet(("bird", "boat")))
    assert scores == pytest.approx(whole, abs=1e-5)


def test_case_is_the_tokenizers_business(folders):
    cased, uncased = (load_model(str(folders[name])) for name in ("GPT2", "bert"))
    assert cased.pieces("Bird") != cased.pieces("bird")
    assert uncased.pieces("Bird") == uncased.pieces("bird")


def test_words_are_decoded(folders):
    words = load_model(str(folders["GPT2"])).words()
    assert "bird" in words and not any(word[0] in "Ġ▁" for word in words)


# -- devices ---------------------------------------------------------------------------------


def test_spread_over_devices(folders, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("accelerate")
    exact = load_model(str(folders["GPT2"]), device="cpu").score([CLOZE], BIRDS)
    # Without a GPU, all layers land on the CPU; the way there is the same.
    spread = load_model(str(folders["GPT2"]), device="spread")
    assert spread.score([CLOZE], BIRDS) == pytest.approx(exact, abs=1e-5)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(UserError, match="pip install accelerate"):
        load_model(str(folders["GPT2"]), device="spread")


@pytest.mark.parametrize("kind", ["bert", "GPT2", "Llama", "T5"])
def test_weights_that_do_not_fit_beside_the_others(
    kind: str, folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The disk stands for a second device: the last layers and the head are brought when they
    are needed."""
    pytest.importorskip("accelerate")
    from hyperprobe.models import pretrained

    whole = load_model(str(folders[kind]), device="cpu")
    size = 4 * sum(p.numel() for p in whole.model.parameters())
    room = {"max_memory": {"cpu": int(0.8 * size)}, "offload_folder": str(tmp_path)}
    monkeypatch.setattr(pretrained, "spread_over_all", lambda: {"device_map": "auto", **room})
    spread = load_model(str(folders[kind]), device="spread")
    assert set(spread.model.hf_device_map.values()) == {"cpu", "disk"}
    assert spread.score([CLOZE], BIRDS) == pytest.approx(whole.score([CLOZE], BIRDS), abs=1e-5)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus(folders):
    pytest.importorskip("accelerate")
    exact = load_model(str(folders["GPT2"]), device="cpu").score([CLOZE], BIRDS)
    spread = load_model(str(folders["GPT2"]), device="spread")
    assert len(set(spread.model.hf_device_map.values())) == 2
    assert spread.score([CLOZE], BIRDS) == pytest.approx(exact, abs=1e-4)
