"""Models that the caller has loaded, under names of this process.

Wherever the Python functions take the name of a model they take `(model, tokenizer)` or a
transformers pipeline too. `model_names` is the door: behind it there are names alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from hyperprobe.errors import UserError
from hyperprobe.model_names import distinct_models
from hyperprobe.names import RANDOM


@runtime_checkable
class Pipeline(Protocol):
    """A transformers pipeline: a model and its tokenizer."""

    model: Any
    tokenizer: Any


OneModel: TypeAlias = "str | tuple[Any, Any] | Pipeline"
GivenModels: TypeAlias = "OneModel | Sequence[OneModel]"


@dataclass(frozen=True)
class Loaded:
    """A model in memory, its tokenizer, and the SHA-256 of its weights and of the tokenizer."""

    model: Any
    tokenizer: Any
    digests: Mapping[str, str]

    @property
    def pair(self) -> tuple[Any, Any]:
        return self.model, self.tokenizer


_LOADED: dict[str, Loaded] = {}
# What of a configuration says where it comes from, or is written when it is saved.
_NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version", "architectures", "dtype")


def model_names(models: GivenModels) -> list[str]:
    """The names of models, given as names, as `(model, tokenizer)` pairs, as pipelines, or mixed.

    A model that is loaded is called after its class and a digest of its weights and tokenizer,
    such as `BertForMaskedLM-0a1b2c3d4e`. It is asked as it stands, on its device and in its
    precision, and is left in evaluation mode. The name means this model in this process, and the
    same weights and tokenizer in any other: a run is found again and continued by a call with a
    model of equal weights, and a finished run is read back. The command line and `analyze` in
    another process know no such name: save the model into a folder for them.

    Each once. Raises `UserError` for what is none of these, and for a name that stands for a
    baseline or a control.
    """
    if isinstance(models, str) or _is_model(models):
        return distinct_models([_name(models)])
    if not isinstance(models, Iterable) or _is_network(models):
        raise UserError(_wanted(models))
    return distinct_models(_name(model) for model in models)


def loaded(name: str) -> Loaded | None:
    """The model of this name, if the caller has loaded it; of `random:NAME` that of NAME."""
    return _LOADED.get(name.removeprefix(RANDOM))


def forget(name: str) -> None:
    """Let go of a model, whose name then means nothing; for weights that are about to change."""
    _LOADED.pop(name, None)


def _name(model: Any) -> str:
    if isinstance(model, str):
        return model
    if not _is_model(model):
        raise UserError(_wanted(model))
    pair = model if isinstance(model, (tuple, list)) else (model.model, model.tokenizer)
    network, tokenizer = cast(tuple[Any, Any], tuple(pair))
    digests = {"weights": _digest_of_weights(network), "tokenizer": _digest_of_tokenizer(tokenizer)}
    both = hashlib.sha256("".join(digests.values()).encode()).hexdigest()
    name = f"{type(network).__name__}-{both[:10]}"
    _LOADED[name] = Loaded(network, tokenizer, digests)
    return name


def _is_model(given: Any) -> bool:
    """Whether it is one model: a pair of a network and a tokenizer, or a pipeline."""
    if isinstance(given, (tuple, list)):
        return len(given) == 2 and _is_network(given[0]) and hasattr(given[1], "all_special_ids")
    return isinstance(given, Pipeline) and _is_network(given.model)


def _is_network(given: Any) -> bool:
    return hasattr(given, "state_dict") and hasattr(given, "config")


def _wanted(given: Any) -> str:
    return (
        f"a {type(given).__name__} is no model: give a name, a (model, tokenizer) pair of "
        "transformers, or a pipeline"
    )


def _digest_of_weights(network: Any) -> str:
    """SHA-256 of the configuration and of all weights, in the order of their names."""
    import torch

    config = {k: v for k, v in network.config.to_dict().items() if k not in _NOT_OF_THE_MODEL}
    digest = hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode())
    for key, value in sorted(network.state_dict().items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        numbers = value.detach().cpu().contiguous().flatten()
        digest.update(memoryview(numbers.view(torch.uint8).numpy()))
    return digest.hexdigest()


def _digest_of_tokenizer(tokenizer: Any) -> str:
    """SHA-256 of the rules and the vocabulary, and of which tokens are special."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = json.loads(backend.to_str()) if backend is not None else tokenizer.get_vocab()
    if backend is not None:
        rules |= {"truncation": None, "padding": None}  # they are of the last call
    special = {key: str(value) for key, value in tokenizer.special_tokens_map.items()}
    text = json.dumps([rules, special, tokenizer.model_max_length], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
