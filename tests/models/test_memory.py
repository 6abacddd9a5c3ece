"""What models take, said before they are loaded; weights in few bits."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models import memory
from hyperprobe.models.load import load_encoder, load_model
from hyperprobe.models.memory import free_memory, needs, plan
from hyperprobe.options import ModelOptions
from tests.tiny_models import save_model

MASKED, CAUSAL = "AutoModelForMaskedLM", "AutoModelForCausalLM"
CLOZE = parse_cloze("A robin is a [MASK] in winter.", "robin")
WORDS = CandidateSet(("bird", "fish", "insect", "tree"))
LLAMA_7B = transformers.LlamaConfig()  # the defaults are its shape


@pytest.mark.parametrize(
    ("config", "auto_class", "published"),
    [
        (LLAMA_7B, CAUSAL, 6_738_415_616),
        (
            transformers.GPTNeoXConfig(
                vocab_size=50_432, hidden_size=4096, num_hidden_layers=32, intermediate_size=16_384
            ),
            CAUSAL,
            6_857_302_016,  # Pythia 6.9B
        ),
        (transformers.BertConfig(), MASKED, 109_514_298),  # BERT base with its head
        (transformers.T5Config(), "AutoModelForSeq2SeqLM", 60_506_624),  # T5 small
    ],
)
def test_parameters_are_those_that_are_published(config, auto_class: str, published: int):
    needed = needs(config, auto_class, ModelOptions(), on_cpu=True)
    assert needed is not None and needed.n_parameters == published
    assert needed.weights == 4 * published
    half = needs(config, auto_class, ModelOptions(dtype="fp16"), on_cpu=True)
    assert half is not None and half.weights == 2 * published and half.batch <= needed.batch


def test_the_parts_of_a_batch_by_hand():
    """2,048 tokens of Llama 7B in bf16: keys and values of 32 layers of 4,096 numbers, activations
    of 11,008 numbers twice, logits over 32,000 tokens twice in single precision."""
    needed = needs(LLAMA_7B, CAUSAL, ModelOptions(dtype="bf16"), on_cpu=True)
    assert needed is not None
    assert needed.batch == 2048 * (2 * 32 * 4096 * 2 + 2 * 11_008 * 2 + 32_000 * 8)


def test_weights_on_disk_are_as_large_as_estimated(tiny_models: dict[str, Path]):
    config = transformers.AutoConfig.from_pretrained(tiny_models["bert"])
    needed = needs(config, MASKED, ModelOptions(), on_cpu=True)
    assert needed is not None
    on_disk = (tiny_models["bert"] / "model.safetensors").stat().st_size
    assert needed.weights == pytest.approx(on_disk, rel=0.1)  # (beside a header)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch):
    """A function that says how many GB are free on each device."""

    def say(**gigabytes: float) -> None:
        sizes = {name: int(1e9 * size) for name, size in gigabytes.items()}
        monkeypatch.setattr(memory, "free_memory", sizes.get)

    return say


def test_a_large_model_is_announced(free, capsys: pytest.CaptureFixture[str]):
    free(cpu=64)
    assert plan("llama", LLAMA_7B, CAUSAL, ModelOptions(dtype="bf16"), "cpu") == "cpu"
    assert capsys.readouterr().err == (
        "llama: 6.7 billion parameters, 13.5 GB in bf16 on cpu, of 64.0 GB free; batches take "
        "about 1.7 GB, less where that does not fit\n"
    )
    assert plan("bert", transformers.BertConfig(), MASKED, ModelOptions(), "cpu") == "cpu"
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("gigabytes", "dtype", "remedy"),
    [
        (20, "fp32", r"--dtype bf16 \(about 13.5 GB\) or --dtype int8 \(about 7.4 GB\)"),
        (10, "bf16", r"use --dtype int8 \(about 7.4 GB\)"),
        (5, "bf16", "use a smaller model or a larger machine"),
        (5, "int8", "use a smaller model or a larger machine"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(free, gigabytes: float, dtype, remedy: str):
    free(cpu=gigabytes)
    with pytest.raises(
        UserError, match=f"take .* in {dtype}, and cpu has {gigabytes}.0 GB free: .*{remedy}"
    ):
        plan("llama", LLAMA_7B, CAUSAL, ModelOptions(dtype=dtype), "cpu")


def test_an_encoder_needs_double_precision_on_a_cpu(free):
    free(cpu=40)
    said = r"take 5\d.\d GB in fp64, .*: use --dtype bf16 \(about 13.\d GB\) or --dtype int8"
    with pytest.raises(UserError, match=said):
        plan("llama", LLAMA_7B, "AutoModel", ModelOptions(), "cpu")
    assert plan("llama", LLAMA_7B, "AutoModel", ModelOptions(dtype="bf16"), "cpu") == "cpu"


def test_a_model_larger_than_the_gpu_is_spread(free):
    free(cuda=31, spread=90)
    assert plan("llama", LLAMA_7B, CAUSAL, ModelOptions(), "cuda") == "cuda"  # 27 GB
    free(**{"cuda": 29, "cuda:0": 20, "spread": 90})
    assert plan("llama", LLAMA_7B, CAUSAL, ModelOptions(), "cuda") == "spread"
    with pytest.raises(UserError, match="cuda:0 has 20.0 GB free: .* or --device spread"):
        plan("llama", LLAMA_7B, CAUSAL, ModelOptions("cuda:0"), "cuda:0")


def test_memory_of_this_machine():
    free = free_memory("cpu")
    assert free is None or 1e7 < free < 1e14
    assert free_memory("mps") is None


def test_code_that_needs_its_weights_when_it_is_built_is_not_estimated(monkeypatch):
    def builds(*_: object, **__: object) -> None:
        torch.zeros(1).item()

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_config", builds)
    assert needs(LLAMA_7B, CAUSAL, ModelOptions(), on_cpu=True) is None
    assert plan("mine", LLAMA_7B, CAUSAL, ModelOptions(), "cpu") == "cpu"


# -- few bits ----------------------------------------------------------------------------------


def test_fp16_is_close(tiny_models: dict[str, Path]):
    exact = load_model(str(tiny_models["bert"])).score([CLOZE], WORDS)
    half = load_model(str(tiny_models["bert"]), dtype="fp16")
    assert half.describe()["dtype"] == "float16"
    assert half.score([CLOZE], WORDS) == pytest.approx(exact, abs=0.01)


def test_without_torchao(tiny_models: dict[str, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "torchao.quantization", None)
    with pytest.raises(UserError, match="pip install torchao"):
        load_model(str(tiny_models["bert"]), dtype="int8")


@pytest.mark.parametrize("kind", ["bert", "Llama", "T5"])
def test_int8_is_close(kind: str, tiny_models: dict[str, Path], tmp_path: Path):
    pytest.importorskip("torchao")
    folder = tiny_models["bert"] if kind == "bert" else save_model(kind, tmp_path)
    for name in (str(folder), f"random:{folder}"):
        exact, few = (load_model(name, dtype=dtype) for dtype in ("fp32", "int8"))
        head = few.model.get_output_embeddings().weight
        kinds = {type(one.weight).__name__ for one in memory.quantized_layers(few.model)}
        assert kinds == {"Int8Tensor"} and type(head).__name__ == "Parameter"
        scores, expected = few.score([CLOZE], WORDS), exact.score([CLOZE], WORDS)
        assert scores == pytest.approx(expected, abs=0.2) and (scores != expected).all()
    assert type(load_encoder(str(folder), ModelOptions(dtype="int8")).model).__name__


def test_int8_that_would_quantize_nothing(tmp_path: Path):
    pytest.importorskip("torchao")
    folder = save_model("GPT2", tmp_path)
    with pytest.raises(UserError, match="no layers that int8 quantizes"):
        load_model(str(folder), dtype="int8")
