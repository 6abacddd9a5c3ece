"""`load_model(name)`: from what the user wrote after `--model` to something that answers clozes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack, cast

from hyperprobe.addresses import prefixed, served
from hyperprobe.aliases import target
from hyperprobe.errors import UserError
from hyperprobe.families import FAMILIES, SERVED, Family
from hyperprobe.model_names import file_family, is_vectors, model_path
from hyperprobe.models.base import ClozeModel
from hyperprobe.models.hub import Source, find
from hyperprobe.models.loaded import loaded
from hyperprobe.models.static import StaticModel
from hyperprobe.names import RANDOM
from hyperprobe.options import ModelKeywords, ModelOptions
from hyperprobe.revisions import split_revision
from hyperprobe.runs.files import file_digest

if TYPE_CHECKING:
    from hyperprobe.models.embedding import Encoder
    from hyperprobe.models.language import LanguageModel

IDENTIFYING = (".json", ".safetensors", ".txt", ".model")
OF_TOKENIZERS = (".json", ".txt", ".model")


def load_model(
    name: str, options: ModelOptions | None = None, **keywords: Unpack[ModelKeywords]
) -> ClozeModel:
    """The model called `name`.

    `embedded` is the masked LM that ships and `word2vec` the vectors that ship;
    a file is read as static vectors, `FAMILY:PATH` as a model of a family with a format of its
    own (`hyperprobe.families`); anything else is a Hugging Face folder or
    hub name of a masked, causal or sequence-to-sequence LM, whose config says
    which. `random:NAME` has NAME's shape and tokenizer, and random weights of
    a fixed seed. `options` say how it is loaded and asked, or their fields as keywords; of a
    model that the caller has loaded (`hyperprobe.models.loaded`) only how it is asked.
    Raises `UserError` when there is no such model or it cannot
    fill a slot.
    """
    options = options or ModelOptions(**keywords)
    model = _load(name, options)
    if options.batch_size and hasattr(model, "max_rows"):
        model.max_rows = options.batch_size
    if hasattr(model, "loaded_by"):
        model.loaded_by = options
    return model


def load_outline(name: str, options: ModelOptions | None = None) -> ClozeModel:
    """The model called `name` without its weights: it is asked about words and tokens alone.

    A model that the caller has loaded has them, and one of a family that reads files of its own.
    Raises `UserError`.
    """
    return _load(name, options or ModelOptions(), weights=False)


def _load(name: str, options: ModelOptions, weights: bool = True) -> ClozeModel:
    from hyperprobe.models import pretrained  # (late: with it comes torch)

    random, about = name.startswith(RANDOM), identify(name)
    if held := loaded(name):
        return pretrained.language_model_of(name, *held.pair, options, random and weights, about)
    if behind := served(name):
        made = FAMILIES[SERVED].model_class()
        asked: ClozeModel = made.load(name, behind, _place(behind.tokenizer), about, options)
        return asked
    if family := file_family(name):
        return _load_own(name, FAMILIES[family], about, options)
    return pretrained.load_language_model(name, _place(name), options, random, about, weights)


def _load_own(
    name: str, about: Family, source: dict[str, Any], options: ModelOptions
) -> ClozeModel:
    """A model of a family that reads files of its own."""
    keywords: dict[str, Any] = {key: getattr(options, key) for key in about.keywords}
    if of_family := prefixed(name):
        keywords |= of_family.choices
    model: ClozeModel = about.model_class().load(name, model_path(name), source, **keywords)
    return model


def load_network(
    name: str, options: ModelOptions | None = None, weights: bool = True
) -> LanguageModel:
    """The language model of Hugging Face called `name`, or its outline. Raises `UserError` for
    any other."""
    if is_vectors(name):
        raise UserError(f"{name} holds static vectors, which read no prompt: name a language model")
    _check_transformer(name)
    return cast("LanguageModel", (load_model if weights else load_outline)(name, options))


def _check_transformer(name: str) -> None:
    """Raises `UserError` for a model of a family that reads files of its own."""
    if not loaded(name) and (family := file_family(name)):
        raise UserError(
            f"{name} is of the family {family}, and this needs a model in the format of "
            "transformers: name another --model"
        )


def load_static(name: str) -> StaticModel:
    """The vectors called `name`. Raises `UserError` for a model that is none."""
    model = load_model(name)
    if not isinstance(model, StaticModel):
        raise UserError(f"{name} is a language model and no vectors: name a file of vectors")
    return model


def load_encoder(name: str, options: ModelOptions | None = None) -> Encoder:
    """A Hugging Face model of any family without its head, its tokenizer, and its source.

    Of a sequence-to-sequence model it is the encoder. `name` as in `load_model`.
    """
    from hyperprobe.models import pretrained  # (late: with it comes torch)

    options = options or ModelOptions()
    _check_transformer(name)
    random, about = name.startswith(RANDOM), identify(name)
    if held := loaded(name):
        encoder = pretrained.encoder_of(name, *held.pair, options, random, about)
    else:
        encoder = pretrained.load_encoder(name, _place(name), options, random, about)
    return encoder._replace(max_rows=options.batch_size)


def config_of(name: str, trust_remote_code: bool = False) -> Any:
    """The Hugging Face configuration of a model, without its weights."""
    from hyperprobe.models import pretrained  # (late: with it comes torch)

    if held := loaded(name):
        return held.model.config
    _check_transformer(name)
    return pretrained.read_config(name, _place(name), trust_remote_code)


def n_parameters(name: str, trust_remote_code: bool = False) -> int:
    """How many numbers the network of a model has, without loading it; about as many of a file of
    another format, as its size says."""
    if not loaded(name) and file_family(name):
        path = model_path(name)
        files = [path] if path.is_file() else path.glob("*")
        return sum(file.stat().st_size for file in files if file.is_file()) // 4
    from hyperprobe.models.memory import needs  # (late: with it comes torch)

    options = ModelOptions(trust_remote_code=trust_remote_code)
    needed = needs(config_of(name, trust_remote_code), "AutoModel", options, on_cpu=True)
    return needed.n_parameters if needed else 0


def family(name: str, trust_remote_code: bool = False) -> str:
    """The `kind` of the model called `name`, from its config alone: nothing else is loaded."""
    from hyperprobe.models import pretrained  # (late: with it comes torch)

    held = loaded(name)
    if not held and (from_file := file_family(name)):
        return from_file
    classes = [type(held.model).__name__] if held else None
    return pretrained.family_of(name, config_of(name, trust_remote_code), classes)


def touching_settings(names: Iterable[str], trust_remote_code: bool = False) -> set[str]:
    """The settings that change numbers of any of the models (`families.Family.settings`)."""
    families = {family(name, trust_remote_code) for name in names}
    return {setting for one in families for setting in FAMILIES[one].settings}


def _place(name: str) -> Source:
    """What Hugging Face loads for this name, a folder here or a model of the hub. Raises
    `UserError` for a name of neither."""
    path = model_path(name)
    if path.is_dir():
        return Source(str(path))
    name = target(name).removeprefix(RANDOM)
    folder, revision = split_revision(name)
    return Source(folder, *find(name), revision or "main")


def identify(name: str) -> dict[str, Any]:
    """SHA-256 of the files of a local model, or of the weights and the tokenizer of one that the
    caller has loaded; the bare name of one on the hub. Of a served model its address, its name
    there, and the SHA-256 of its tokenizer's files.

    Needs no loading: it tells whether two runs asked the same model.
    """
    if held := loaded(name):
        return {"sha256": dict(held.digests)}
    path = model_path(name)
    if of_family := prefixed(name):
        own = FAMILIES[of_family.family].model_class().files(path)
        return {"sha256": {file.name: file_digest(file) for file in own}}
    behind = served(name)
    suffixes = OF_TOKENIZERS if behind else IDENTIFYING
    paths = [path] if path.is_file() else sorted(path.glob("*")) if path.is_dir() else []
    if not paths and target(name) != name and not behind:
        return {"hub": target(name).removeprefix(RANDOM), "sha256": {}}
    about: dict[str, Any] = {
        "sha256": {
            p.name: file_digest(p)
            for p in paths
            if p.is_file() and (len(paths) == 1 or p.suffix in suffixes)
        }
    }
    return {**asdict(behind), **about} if behind else about
