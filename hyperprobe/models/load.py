"""`load_model(name)`: from what the user wrote after `--model` to something that answers clozes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from hyperprobe.errors import UserError
from hyperprobe.models.masked import MaskedModel
from hyperprobe.models.static import StaticModel, load_vectors
from hyperprobe.runs import file_digest

EMBEDDED = "embedded"
RANDOM, RANDOM_SEED = "random:", 0
EMBEDDED_VECTORS = ("word2vec", "glove", "fasttext")
EMBEDDED_FOLDER = Path(__file__).parent / "embedded"
VECTOR_SUFFIXES = (".txt", ".vec", ".bin", ".kv", ".model", ".gz", ".wordvectors")
IDENTIFYING = (".json", ".safetensors", ".txt", ".model")
DTYPES = ("fp32", "bf16")


def load_model(
    name: str,
    device: str = "auto",
    dtype: str = "fp32",
    trust_remote_code: bool = False,
) -> MaskedModel | StaticModel:
    """The model called `name`.

    `embedded` is the masked LM that ships and `word2vec` the vectors that ship;
    a file is read as static vectors; anything else is a Hugging Face folder or
    hub name. `random:NAME` has NAME's shape and tokenizer, and random weights of
    a fixed seed. Raises `UserError` when there is
    no such model or it cannot fill a slot.
    """
    path = model_path(name)
    if is_vectors(name):
        return StaticModel(name, load_vectors(path), identify(name))
    return _load_masked(name, _folder(name), device, dtype, trust_remote_code)


def is_vectors(name: str) -> bool:
    """Whether a model of this name is a file of static vectors."""
    path = model_path(name)
    return path.is_file() or path.suffix in VECTOR_SUFFIXES


def model_path(name: str) -> Path:
    """Where a model of this name would lie: the files that ship, or a path of the user's."""
    name = name.removeprefix(RANDOM)
    if name in EMBEDDED_VECTORS:
        return EMBEDDED_FOLDER / f"{name}.bin.gz"
    return EMBEDDED_FOLDER / "masked-lm" if name == EMBEDDED else Path(name)


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


def _load_masked(
    name: str, folder: str, device: str, dtype: str, trust_remote_code: bool
) -> MaskedModel:
    config, tokenizer = read_tokenizer(name, folder, trust_remote_code)
    if tokenizer.mask_token is None:
        raise UserError(_no_mask(name))
    model, missing = read_weights(
        "AutoModelForMaskedLM", name, folder, config, device, dtype, trust_remote_code
    )
    if missing:
        raise UserError(_incomplete(name, missing, "it is no masked language model"))
    return MaskedModel(name, model, tokenizer, source_of(name, config))


def load_encoder(
    name: str, device: str = "auto", dtype: str = "fp32", trust_remote_code: bool = False
) -> tuple[Any, Any, dict[str, Any]]:
    """A Hugging Face model of any family without its head, its tokenizer, and its source.

    Of a sequence-to-sequence model it is the encoder. `name` as in `load_model`.
    """
    folder = _folder(name)
    config, tokenizer = read_tokenizer(name, folder, trust_remote_code)
    model, missing = read_weights(
        "AutoModel", name, folder, config, device, dtype, trust_remote_code
    )
    # A pooler sits on top, and many checkpoints have none: word vectors do not pass through it.
    if missing := [key for key in missing if "pooler" not in key]:
        raise UserError(_incomplete(name, missing, "it is no transformer"))
    if config.is_encoder_decoder:
        model = model.get_encoder()
    return model.eval(), tokenizer, source_of(name, config)


def read_config(name: str, trust_remote_code: bool = False) -> Any:
    """The Hugging Face configuration of a model, without its weights."""
    return read_tokenizer(name, _folder(name), trust_remote_code)[0]


def _folder(name: str) -> str:
    """What Hugging Face loads for this name: a folder here, or a name on the hub."""
    path = model_path(name)
    return str(path) if path.is_dir() else name.removeprefix(RANDOM)


def source_of(name: str, config: Any) -> dict[str, Any]:
    """The hashes of a local model's files, and the revision of one from the hub."""
    return {**identify(name), "revision": getattr(config, "_commit_hash", None)}


def read_tokenizer(name: str, folder: str, trust_remote_code: bool) -> tuple[Any, Any]:
    """The configuration and tokenizer in `folder`, or on the hub under that name."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(
                auto.from_pretrained(folder, trust_remote_code=trust_remote_code)
                for auto in (transformers.AutoConfig, transformers.AutoTokenizer)
            )
    except Exception as error:
        raise UserError(_explain(name, error)) from error


def read_weights(
    auto: str,
    name: str,
    folder: str,
    config: Any,
    device: str,
    dtype: str,
    trust_remote_code: bool,
) -> tuple[Any, list[str]]:
    """The model that the Auto class called `auto` makes, and the keys that it lacks weights for.

    Random weights of a fixed seed when `name` asks for them.
    """
    import torch
    import transformers

    if dtype not in DTYPES:
        raise UserError(f"unknown dtype {dtype}: choose from {', '.join(DTYPES)}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = torch.bfloat16 if dtype == "bf16" else torch.float32
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            auto_class = getattr(transformers, auto)
            if name.startswith(RANDOM):
                with torch.random.fork_rng():
                    torch.manual_seed(RANDOM_SEED)
                    model = auto_class.from_config(
                        config, dtype=precision, trust_remote_code=trust_remote_code
                    )
                missing = []
            else:
                model, report = auto_class.from_pretrained(
                    folder,
                    dtype=precision,
                    trust_remote_code=trust_remote_code,
                    use_safetensors=True,
                    output_loading_info=True,
                )
                missing = sorted(report["missing_keys"])
    except Exception as error:
        raise UserError(_explain(name, error)) from error
    try:
        return model.to(device), missing
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:120]
        raise UserError(f"cannot use device {device} ({reason}): choose cpu or auto") from error


def _incomplete(name: str, missing: list[str], otherwise: str) -> str:
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"{name} has no weights for {missing[0]}{more}: {otherwise}, or its files are incomplete"


def _no_mask(name: str) -> str:
    return (
        f"{name} has no mask token: name a masked language model "
        "(causal and sequence-to-sequence models cannot be asked yet)"
    )


def _explain(name: str, error: Exception) -> str:
    """One line for what went wrong inside transformers."""
    text = " ".join(str(error).split())
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            return f"{name} holds no config.json: name the folder that save_pretrained wrote"
        return (
            f"cannot load the model in {name} ({text[:150]}): its files are incomplete or foreign"
        )
    if "trust_remote_code" in text:
        return f"{name} runs code of its own: pass --trust-remote-code if you trust its authors"
    if "Unrecognized configuration class" in text:
        return _no_mask(name)
    return (
        f"no model {name}: it is neither a folder nor a file here, nor in the local Hugging Face "
        "cache, nor could it be fetched from the hub: check the name and the network"
    )
