"""What a model's files say, checked before and after transformers reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hyperprobe.documents import Document, check, parse_json, read_json, read_text
from hyperprobe.errors import UserError, quoted

# Numbers of a config.json that decide how much is built, by what they count, and their limits.
_LIMITS = {
    **dict.fromkeys(("num_hidden_layers", "num_layers", "num_decoder_layers", "n_layer"), 2000),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "n_layers"), 2000),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_head"), 10_000),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "embedding_size", "d_kv"), 1_000_000),
    **dict.fromkeys(("vocab_size",), 10_000_000),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx"), 100_000_000),
}


class _Kind(Document):
    """What a config.json says about the model's class."""

    model_type: str | None = None
    architectures: list[str] | None = None


class _Index(Document):
    """Which file has which weights."""

    weight_map: dict[str, str]


def check_config(name: str, folder: Path) -> None:
    """Raises `UserError` if the folder's config.json is no object, or has no fit numbers."""
    path = folder / "config.json"
    if not path.is_file():
        raise UserError(f"{name} holds no config.json: name the folder that save_pretrained wrote")
    config = parse_json(read_text(path, "config"), str(path))
    if not isinstance(config, dict):
        raise UserError(f"{path}: not a model's configuration: fetch the model again")
    for key, most in _LIMITS.items():
        value = config.get(key)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and 1 <= value <= most):
            raise UserError(
                f"{path}: {key} is {quoted(value)}, not a number from 1 to {most}: correct it"
            )
    check(_Kind, config, str(path))


def check_shards(name: str, folder: Path) -> None:
    """Raises `UserError` unless weights in several files are all there."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    files = sorted(set(read_json(index, _Index, "index of weights").weight_map.values()))
    for file in files:
        if Path(file).name != file:
            raise UserError(f"{index}: {quoted(file)} is no file beside it: fetch the model again")
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise UserError(
            f"{name} lacks {missing[0]}, {len(missing)} of its {len(files)} weight files: "
            "fetch the model again"
        )


def check_tokenizer(name: str, tokenizer: Any) -> None:
    """Raises `UserError` for a tokenizer without a vocabulary, or with a limit that is none."""
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise UserError(f"{name} has no tokenizer files with words: fetch the model again")
    longest = getattr(tokenizer, "model_max_length", 1)
    if not isinstance(longest, int | float) or not longest >= 1:
        raise UserError(
            f"the tokenizer of {name} has model_max_length {quoted(longest)}: "
            "repair its tokenizer files"
        )


def check_ids(name: str, model: Any, tokenizer: Any) -> None:
    """Raises `UserError` if a tokenizer's padding or mask has no row in the embedding table.

    (Added tokens behind the table are common in good models, and harmless until they are used.)
    """
    n_rows = embedding_rows(model)
    for kind in ("pad_token_id", "mask_token_id"):
        token = getattr(tokenizer, kind, None)
        if token is not None and not 0 <= token < n_rows:
            raise UserError(_outside(name, token, n_rows))


def check_rows(name: str, n_rows: int, texts: list[tuple[int, ...]]) -> None:
    """Raises `UserError` if a text has a token id without a row in the embedding table."""
    for ids in texts:
        if ids and (max(ids) >= n_rows or min(ids) < 0):
            raise UserError(_outside(name, max(max(ids), -min(ids)), n_rows))


def embedding_rows(model: Any) -> int:
    """How many token ids the model can read."""
    return int(model.get_input_embeddings().weight.shape[0])


def _outside(name: str, token: int, n_rows: int) -> str:
    return (
        f"the tokenizer of {name} gives token {token}, and its embedding table has {n_rows} rows: "
        "its tokenizer belongs to another model"
    )
