"""Models that the caller has loaded: the same numbers as from their folder."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from hyperprobe.cloze import CandidateSet, parse_cloze
from hyperprobe.errors import UserError
from hyperprobe.model_names import distinct_models, is_vectors
from hyperprobe.models.embedding import find_word
from hyperprobe.models.load import config_of, family, identify, load_encoder, load_model
from hyperprobe.models.loaded import model_names
from hyperprobe.names import CONTROL_PREFIXES
from hyperprobe.options import ModelOptions
from hyperprobe.probes.prompts.controls import RANDOM_MODEL, load_control
from hyperprobe.probes.zero_shot.probe import zero_shot
from tests.tiny_models import save_model

CLOZES = [parse_cloze(text, text, "robin") for text in ("A robin is a [MASK].", "[MASK] are birds")]
WORDS = CandidateSet(("bird", "fish", "sparrows"))
CLASSES = {"bert": "AutoModelForMaskedLM", "GPT2": "AutoModelForCausalLM"}


@pytest.fixture(scope="module")
def folders(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory):
    return {
        "bert": tiny_models["bert"],
        "GPT2": save_model("GPT2", tmp_path_factory.mktemp("GPT2")),
    }


def pair(folders: dict[str, Path], shape: str) -> tuple[Any, Any]:
    network = getattr(transformers, CLASSES[shape]).from_pretrained(folders[shape])
    return network, transformers.AutoTokenizer.from_pretrained(folders[shape])


@pytest.mark.parametrize("shape", CLASSES)
def test_scores_are_those_of_the_folder(shape: str, folders: dict[str, Path]):
    (name,) = model_names([pair(folders, shape)])
    assert distinct_models([name]) == [name] and not is_vectors(name)
    assert family(name) == family(str(folders[shape]))
    assert config_of(name).model_type == config_of(str(folders[shape])).model_type
    for prefix in ("", "random:"):
        ours, theirs = load_model(prefix + name), load_model(f"{prefix}{folders[shape]}")
        assert (ours.score(CLOZES, WORDS) == theirs.score(CLOZES, WORDS)).all()
        assert ours.describe()["name"] == prefix + name
        encoders = [load_encoder(f"{prefix}{one}") for one in (name, folders[shape])]
        mentions = [find_word("robin", "a robin is a bird .")]
        one, other = (encoder.encode(mentions, [(0,), (-1,)]) for encoder in encoders)
        assert (one == other).all() and np.isfinite(one).all()


def test_a_run_with_a_loaded_model_equals_that_with_its_folder(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.EMBEDDED_VECTORS", ())
    both = pair(folders, "bert")
    folder = str(folders["bert"])
    results = {
        name: zero_shot(models, ["lm-diagnostic"], results=tmp_path / name, device="cpu")
        for name, models in (("loaded", [both]), ("folder", folder))
    }
    (name,) = model_names(both)
    names = {f"{prefix}{name}": f"{prefix}{folder}" for prefix in ("", *CONTROL_PREFIXES)}
    renamed = results["loaded"].predictions.replace({"model": names})
    pd.testing.assert_frame_equal(renamed, results["folder"].predictions)
    # A model of equal weights finds the run again, and asks nothing.
    monkeypatch.setattr("hyperprobe.probes.zero_shot.ask.load_model", None)
    again = zero_shot(
        [pair(folders, "bert")], ["lm-diagnostic"], results=tmp_path / "loaded", device="cpu"
    )
    assert again.folder == results["loaded"].folder


def test_names_say_the_weights_and_the_tokenizer(folders: dict[str, Path]):
    network, tokenizer = pair(folders, "bert")
    (name,) = model_names((network, tokenizer))
    assert name.startswith("BertForMaskedLM-") and len(name) == len("BertForMaskedLM-") + 10
    tokenizer(["a", "a robin"], padding=True, truncation=True)  # leaves its mark on a tokenizer
    assert model_names([(network, tokenizer)]) == [name]
    digests = identify(name)["sha256"]
    with torch.no_grad():
        next(network.parameters()).view(-1)[0] += 1
    (other,) = model_names([(network, tokenizer)])
    assert other != name
    assert identify(other)["sha256"]["tokenizer"] == digests["tokenizer"]
    assert identify(other)["sha256"]["weights"] != digests["weights"]


def test_a_pipeline_is_its_model_and_tokenizer(folders: dict[str, Path]):
    network, tokenizer = pair(folders, "bert")
    pipeline = transformers.pipeline("fill-mask", model=network, tokenizer=tokenizer)
    assert model_names(pipeline) == model_names([pipeline]) == model_names((network, tokenizer))


def test_names_stay_names():
    assert model_names("embedded") == ["embedded"]
    assert model_names(("embedded", "glove")) == ["embedded", "glove"]


def test_what_is_no_model(folders: dict[str, Path]):
    network, tokenizer = pair(folders, "bert")
    for given in (network, [network], (tokenizer, network), 3, [None]):
        with pytest.raises(UserError, match=r"is no model: give a name, a \(model, tokenizer\)"):
            model_names(given)  # type: ignore[arg-type]
    (name,) = model_names((network.bert, tokenizer))
    with pytest.raises(UserError, match="no language-model head.*AutoModelForMaskedLM"):
        load_model(name)


def test_controls_leave_the_callers_weights_alone(folders: dict[str, Path]):
    network, tokenizer = pair(folders, "bert")
    (name,) = model_names((network, tokenizer))
    before = {key: value.clone() for key, value in network.state_dict().items()}
    drawn = load_control(ModelOptions(device="cpu"), name, RANDOM_MODEL)
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())
    (weights,) = (drawn.model.get_input_embeddings().weight,)
    assert not torch.equal(weights, network.get_input_embeddings().weight)
