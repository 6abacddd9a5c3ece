"""What `--model` may be given, and what it says to what it may not."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.models.load import identify, load_model
from hyperprobe.names import EMBEDDED
from hyperprobe.options import ModelOptions
from hyperprobe.runs.jobs import LastLoaded
from tests.tiny_models import save_bert, save_model


def test_the_embedded_model_is_small_and_knows_its_files():
    model = load_model(EMBEDDED)
    about = model.describe()
    assert 3e6 < about["n_parameters"] < 10e6
    assert set(about["sha256"]) >= {"config.json", "model.safetensors"}
    assert identify(EMBEDDED)["sha256"] == about["sha256"]
    words = set(model.words())
    assert {"bird", "birds", "insect", "vegetables", "building"} <= words


def test_random_weights_have_the_shape_and_not_the_knowledge(tiny_models: dict[str, Path]):
    name = f"random:{tiny_models['bert']}"
    trained, first, again = (load_model(n) for n in (str(tiny_models["bert"]), name, name))
    weights = [m.model.get_input_embeddings().weight for m in (trained, first, again)]
    assert weights[0].shape == weights[1].shape and not weights[0].equal(weights[1])
    assert weights[1].equal(weights[2])
    assert first.describe()["name"] == name


def copy_of(tiny_models: dict[str, Path], folder: Path) -> Path:
    return Path(shutil.copytree(tiny_models["bert"], folder / "copy"))


@pytest.mark.parametrize(
    ("save", "setting", "kept"),
    [
        (save_bert, {"pll": "all-masked"}, True),
        (partial(save_model, "GPT2"), {"causal_scoring": "continuation"}, True),
        (save_bert, {"pll": "all-masked", "dtype": "bf16"}, False),
    ],
)
def test_weights_are_loaded_once_for_several_ways_to_ask(
    tmp_path: Path, save: Callable[[Path], object], setting: dict[str, str], kept: bool
):
    save(tmp_path)
    name, options = str(tmp_path), ModelOptions(**setting)
    models = LastLoaded()
    first = models.get(load_model, name, ModelOptions())
    models.kept["asked"] = 1
    second = models.get(load_model, name, options)
    assert (first.model is second.model) is kept and not models.kept
    fresh = load_model(name, options)
    assert second.describe() == fresh.describe() != first.describe()
    asked = [parse_cloze("A robin is a [MASK].", "a"), parse_cloze("The [MASK] sings.", "b")]
    words = CandidateSet(("bird", "vehicles", "tools"))
    assert (second.score(asked, words) == fresh.score(asked, words)).all()


def test_a_folder_without_a_mask_token(tiny_models: dict[str, Path], tmp_path: Path):
    folder = copy_of(tiny_models, tmp_path)
    for name in ("tokenizer_config.json", "tokenizer.json"):
        text = (folder / name).read_text()
        if name == "tokenizer_config.json":
            settings = json.loads(text)
            settings["mask_token"] = None
            settings["tokenizer_class"] = "PreTrainedTokenizerFast"
            text = json.dumps(settings)
        (folder / name).write_text(text)
    with pytest.raises(UserError, match="has no mask token"):
        load_model(str(folder))


def test_a_folder_cut_short(tiny_models: dict[str, Path], tmp_path: Path):
    folder = copy_of(tiny_models, tmp_path)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(UserError, match="cannot load the model"):
        load_model(str(folder))


def test_weights_that_lack_a_part_are_refused(tiny_models: dict[str, Path], tmp_path: Path):
    from safetensors.torch import load_file, save_file

    folder = copy_of(tiny_models, tmp_path)
    weights = load_file(folder / "model.safetensors")
    weights = {key: value for key, value in weights.items() if "attention.output" not in key}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="has no weights for .* and [0-9]+ more"):
        load_model(str(folder))


@pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model"])
def test_an_unknown_name(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=f"no model {name}"):
        load_model(name)


def test_an_empty_folder(tmp_path: Path):
    with pytest.raises(UserError, match="holds no config.json"):
        load_model(str(tmp_path))


def test_pickled_weights_are_not_read(tiny_models: dict[str, Path], tmp_path: Path):
    import torch
    from safetensors.torch import load_file

    folder = copy_of(tiny_models, tmp_path)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="cannot load the model"):
        load_model(str(folder))
