"""`load_model(name)`: from what the user wrote after `--model` to something that answers clozes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from hyperprobe.models import pretrained
from hyperprobe.models.hub import only_local
from hyperprobe.models.language import LanguageModel
from hyperprobe.models.pretrained import family_of, load_language_model, read_config
from hyperprobe.models.static import StaticModel, load_vectors
from hyperprobe.names import RANDOM, is_vectors, model_path
from hyperprobe.options import ModelKeywords, ModelOptions
from hyperprobe.runs.files import file_digest

IDENTIFYING = (".json", ".safetensors", ".txt", ".model")


def load_model(
    name: str, options: ModelOptions | None = None, **keywords: Unpack[ModelKeywords]
) -> LanguageModel | StaticModel:
    """The model called `name`.

    `embedded` is the masked LM that ships and `word2vec` the vectors that ship;
    a file is read as static vectors; anything else is a Hugging Face folder or
    hub name of a masked, causal or sequence-to-sequence LM, whose config says
    which. `random:NAME` has NAME's shape and tokenizer, and random weights of
    a fixed seed. `options` say how it is loaded and asked, or their fields as keywords.
    Raises `UserError` when there is no such model or it cannot
    fill a slot.
    """
    path = model_path(name)
    if is_vectors(name):
        return StaticModel(name, load_vectors(path), identify(name))
    options = options or ModelOptions(**keywords)
    folder, local = _folder(name)
    random = name.startswith(RANDOM)
    return load_language_model(name, folder, options, random, identify(name), local)


class LastLoaded:
    """Loads models with `load` when they are first asked, and holds one at a time."""

    def __init__(self, load: Callable[..., Any]) -> None:
        self._load = load
        self._asked: tuple[Any, ...] | None = None
        self._model: Any = None

    def get(self, *asked: Any) -> Any:
        """What `load` makes of these arguments."""
        if asked != self._asked:
            self._asked = self._model = None  # free it before the next one comes
            self._model = self._load(*asked)
            self._asked = asked
        return self._model

    def answer(self, predict: Callable[[Any], Any], *asked: Any) -> tuple[Any, dict[str, Any]]:
        """What `predict` makes of the model, and the model's description."""
        model = self.get(*asked)
        return predict(model), model.describe()


def load_encoder(name: str, options: ModelOptions | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """A Hugging Face model of any family without its head, its tokenizer, and its source.

    Of a sequence-to-sequence model it is the encoder. `name` as in `load_model`.
    """
    options = options or ModelOptions()
    folder, local = _folder(name)
    random = name.startswith(RANDOM)
    return pretrained.load_encoder(name, folder, options, random, identify(name), local)


def config_of(name: str, trust_remote_code: bool = False) -> Any:
    """The Hugging Face configuration of a model, without its weights."""
    return read_config(name, *_folder(name), trust_remote_code)


def family(name: str, trust_remote_code: bool = False) -> str:
    """The `kind` of the model called `name`, from its config alone: nothing else is loaded."""
    if is_vectors(name):
        return StaticModel.kind
    return family_of(name, config_of(name, trust_remote_code))


def _folder(name: str) -> tuple[str, bool]:
    """What Hugging Face loads for this name, a folder here or a name on the hub, and whether
    the hub is left alone. Raises `UserError` for a name of neither."""
    path = model_path(name)
    if path.is_dir():
        return str(path), True
    name = name.removeprefix(RANDOM)
    return name, only_local(name)


def identify(name: str) -> dict[str, Any]:
    """SHA-256 of the files of a local model; the bare name of one on the hub.

    Needs no loading: it tells whether two runs asked the same model.
    """
    path = model_path(name)
    paths = [path] if path.is_file() else sorted(path.glob("*")) if path.is_dir() else []
    return {
        "sha256": {
            p.name: file_digest(p)
            for p in paths
            if p.is_file() and (len(paths) == 1 or p.suffix in IDENTIFYING)
        }
    }
