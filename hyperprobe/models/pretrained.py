"""Language models in the formats of Hugging Face: which family, loaded safely, or why not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from hyperprobe.errors import UserError
from hyperprobe.families import FAMILIES
from hyperprobe.models.devices import (
    TORCH_DTYPES,
    check_quantized,
    device_named,
    int8_weights,
    quantize,
    spread_over_all,
    to_device,
)
from hyperprobe.models.embedding import Encoder
from hyperprobe.models.failures import explain, explain_missing, incomplete
from hyperprobe.models.folders import check_config, check_ids, check_shards, check_tokenizer
from hyperprobe.models.hub import Source
from hyperprobe.models.language import LanguageModel
from hyperprobe.models.memory import plan
from hyperprobe.options import SPREAD, ModelOptions

RANDOM_SEED = 0
SMALL = 256_000_000  # bytes of weights that every machine holds
MOST_NUMBERS = 20_000_000_000  # in an embedding table; the largest known have 4 milliard


def load_language_model(
    name: str,
    place: Source,
    options: ModelOptions,
    random: bool,
    about: dict[str, Any],
    weights: bool = True,
) -> LanguageModel:
    """The model in `place`, called `name`; with random weights of a fixed seed if asked, or
    without any `weights`. `about` goes into its description. Raises `UserError`."""
    config = read_config(name, place, options.trust_remote_code)
    made = _class_of(family_of(name, config))
    tokenizer = read_tokenizer(name, place, options)
    _check_slot(name, made, tokenizer)
    if weights:
        model, missing = _read_weights(name, place, options, random, config, made.auto_class)
        if missing:
            raise UserError(explain_missing(name, config, missing))
    else:
        _check_size(name, config)
        with torch.device("meta"):
            model = _of_config(name, config, made.auto_class, options)
    check_ids(name, model, tokenizer)
    return made.made(name, model, tokenizer, {**about, "revision": place.commit}, options)


def load_encoder(
    name: str, place: Source, options: ModelOptions, random: bool, about: dict[str, Any]
) -> Encoder:
    """A model of any family without its head. Arguments as in `load_language_model`.

    Of a sequence-to-sequence model it is the encoder.
    """
    config = read_config(name, place, options.trust_remote_code)
    tokenizer = read_tokenizer(name, place, options)
    model, missing = _read_weights(name, place, options, random, config, "AutoModel")
    # A pooler sits on top, and many checkpoints have none: word vectors do not pass through it.
    if missing := [key for key in missing if "pooler" not in key]:
        raise UserError(incomplete(name, missing, "it is no transformer"))
    return _encoder(name, model, tokenizer, {**about, "revision": place.commit})


def load_span_model(folder: str, options: ModelOptions) -> tuple[Any, Any]:
    """The extractive question-answering model in a local folder, on its device, and its tokenizer.

    Raises `UserError` for a folder with anything else.
    """
    place = Source(folder)
    config = read_config(folder, place, options.trust_remote_code)
    tokenizer = read_tokenizer(folder, place, options)
    auto_class = "AutoModelForQuestionAnswering"
    model, missing = _read_weights(folder, place, options, False, config, auto_class)
    if missing:
        raise UserError(incomplete(folder, missing, "it answers no questions"))
    if not tokenizer.is_fast:
        raise UserError(
            f"the tokenizer of {folder} does not say where its tokens are: name a "
            "model with a tokenizer.json"
        )
    check_ids(folder, model, tokenizer)
    return model.eval(), tokenizer


def language_model_of(
    name: str, network: Any, tokenizer: Any, options: ModelOptions, random: bool, about: Any
) -> LanguageModel:
    """A network that is loaded already, as it stands, or its shape with random weights."""
    config = network.config
    made = _class_of(family_of(name, config, [type(network).__name__]))
    check_tokenizer(name, tokenizer)
    _check_slot(name, made, tokenizer)
    if random:
        network = _draw_weights(name, config, made.auto_class, options)
    elif network.get_output_embeddings() is None:
        raise UserError(
            f"{name} has no language-model head, and so fills no slots: use it with classify, or "
            f"load it with transformers.{made.auto_class}"
        )
    check_ids(name, network, tokenizer)
    return made.made(name, network, tokenizer, about, options)


def encoder_of(
    name: str, network: Any, tokenizer: Any, options: ModelOptions, random: bool, about: Any
) -> Encoder:
    """`load_encoder` for a network that is loaded already."""
    config = network.config
    check_tokenizer(name, tokenizer)
    model = _draw_weights(name, config, "AutoModel", options) if random else network.base_model
    return _encoder(name, model, tokenizer, about)


def _class_of(family: str) -> type[LanguageModel]:
    made: type[LanguageModel] = FAMILIES[family].model_class()
    return made


def _encoder(name: str, model: Any, tokenizer: Any, source: dict[str, Any]) -> Encoder:
    check_ids(name, model, tokenizer)
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return Encoder(model.eval(), tokenizer, source)


def read_tokenizer(name: str, place: Source, options: ModelOptions) -> Any:
    """The tokenizer in `place`. Arguments as in `load_language_model`."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                place.folder, trust_remote_code=options.trust_remote_code, **place.keywords()
            )
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    # (panics in the tokenizers' Rust are no `Exception`)
    except BaseException as error:
        raise UserError(explain(name, error)) from error
    check_tokenizer(name, tokenizer)
    return tokenizer


def _read_weights(
    name: str, place: Source, options: ModelOptions, random: bool, config: Any, auto_class: str
) -> tuple[Any, list[str]]:
    """The model on its device, and the keys that it lacks weights for."""
    import transformers

    check_shards(name, Path(place.folder))
    if random:
        return _draw_weights(name, config, auto_class, options), []
    device = device_named(options.device)
    if not _is_small(place):
        device = plan(name, config, auto_class, options, device)
    placed = spread_over_all() if device == SPREAD else {}
    quantized = {}
    if options.dtype == "int8":
        quantized["quantization_config"] = transformers.TorchAoConfig(int8_weights())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, report = getattr(transformers, auto_class).from_pretrained(
                place.folder,
                dtype=TORCH_DTYPES[options.dtype],
                use_safetensors=True,
                output_loading_info=True,
                trust_remote_code=options.trust_remote_code,
                **place.keywords(),
                **placed,
                **quantized,
            )
    except UserError:
        raise
    except Exception as error:
        raise UserError(explain(name, error)) from error
    if options.dtype == "int8":
        check_quantized(name, model)
    if not getattr(model, "hf_device_map", None):
        model = to_device(model, device)
    return model, sorted(report["missing_keys"])


def _is_small(place: Source) -> bool:
    """Whether the weights are in files here of too few bytes to be counted before loading."""
    files = list(Path(place.folder).glob("*.safetensors")) if place.local else []
    return bool(files) and sum(file.stat().st_size for file in files) < SMALL


def _draw_weights(name: str, config: Any, auto_class: str, options: ModelOptions) -> Any:
    """A model of this configuration on its device, with random weights of a fixed seed."""
    _check_size(name, config)
    device = plan(name, config, auto_class, options, device_named(options.device))
    with torch.random.fork_rng():
        torch.manual_seed(RANDOM_SEED)
        model = _of_config(name, config, auto_class, options)
    if options.dtype == "int8":
        quantize(name, model)
    return to_device(model, device)


def _of_config(name: str, config: Any, auto_class: str, options: ModelOptions) -> Any:
    """A model of this configuration as it is before it is trained."""
    import transformers

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(transformers, auto_class).from_config(
                config,
                dtype=TORCH_DTYPES[options.dtype],
                trust_remote_code=options.trust_remote_code,
            )
    except Exception as error:
        raise UserError(explain(name, error)) from error


def read_config(name: str, place: Source, trust_remote_code: bool) -> Any:
    """The model's config. Raises `UserError`."""
    if Path(place.folder).is_dir():
        check_config(name, Path(place.folder))
    import transformers

    transformers.utils.logging.set_verbosity_error()
    try:
        return transformers.AutoConfig.from_pretrained(
            place.folder, trust_remote_code=trust_remote_code, **place.keywords()
        )
    except Exception as error:
        raise UserError(explain(name, error)) from error


def family_of(name: str, config: Any, classes: Sequence[str] | None = None) -> str:
    """The family of a model, from its configuration and the names of its classes alone (default:
    those that the configuration names). Raises `UserError` for a model of none."""
    from transformers.models.auto import modeling_auto as auto

    classes = config.architectures or [] if classes is None else classes
    remote = getattr(config, "auto_map", None) or {}
    certain: dict[str, int] = {}
    for family, about in FAMILIES.items():
        if about.from_file:
            continue
        made = _class_of(family)
        if config.model_type in getattr(auto, made.mapping) or made.auto_class in remote:
            certain[family] = made.certainty(config, classes)
    if not any(certain.values()):
        raise UserError(
            f"{name} is a {config.model_type}, no language model that can fill a slot: "
            "name a masked, causal or sequence-to-sequence one"
        )
    return max(certain, key=lambda family: certain[family])


def _check_slot(name: str, made: type[LanguageModel], tokenizer: Any) -> None:
    """Raises `UserError` unless the tokenizer reads each mark of a slot as one token."""
    for mark in made.slot_marks(name, tokenizer):
        ids = tokenizer(mark, add_special_tokens=False)["input_ids"]
        if list(ids) != [tokenizer.convert_tokens_to_ids(mark)]:
            raise UserError(
                f"the tokenizer of {name} splits its own mask token {mark}: "
                "repair its tokenizer files"
            )


def _check_size(name: str, config: Any) -> None:
    """Weights that are drawn and not read have no file that could be too small for them."""
    n_rows = getattr(config.get_text_config(), "vocab_size", None) or 1
    width = getattr(config.get_text_config(), "hidden_size", None) or 1
    if n_rows * width > MOST_NUMBERS:
        raise UserError(
            f"{name} would have an embedding table of {n_rows} times {width} numbers: "
            "correct its config.json"
        )
