"""`load_model(name)`: from what the user wrote after `--model` to something that answers clozes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from hyperprobe.errors import UserError
from hyperprobe.models.masked import MaskedModel
from hyperprobe.models.names import EMBEDDED, EMBEDDED_FOLDER, EMBEDDED_VECTORS, RANDOM
from hyperprobe.models.static import StaticModel, load_vectors
from hyperprobe.runs import file_digest

RANDOM_SEED = 0
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
    folder = str(path) if path.is_dir() else name.removeprefix(RANDOM)
    return _load_masked(name, folder, device, dtype, trust_remote_code)


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
    import torch
    import transformers

    if dtype not in DTYPES:
        raise UserError(f"unknown dtype {dtype}: choose from {', '.join(DTYPES)}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = transformers.AutoConfig.from_pretrained(
                folder, trust_remote_code=trust_remote_code
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                folder, trust_remote_code=trust_remote_code
            )
            if tokenizer.mask_token is None:
                raise UserError(_no_mask(name))
            precision = torch.bfloat16 if dtype == "bf16" else torch.float32
            if name.startswith(RANDOM):
                with torch.random.fork_rng():
                    torch.manual_seed(RANDOM_SEED)
                    model = transformers.AutoModelForMaskedLM.from_config(
                        config, dtype=precision, trust_remote_code=trust_remote_code
                    )
                missing = []
            else:
                model, report = transformers.AutoModelForMaskedLM.from_pretrained(
                    folder,
                    dtype=precision,
                    trust_remote_code=trust_remote_code,
                    use_safetensors=True,
                    output_loading_info=True,
                )
                missing = sorted(report["missing_keys"])
    except UserError:
        raise
    except Exception as error:
        raise UserError(_explain(name, error)) from error
    try:
        model = model.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:120]
        raise UserError(f"cannot use device {device} ({reason}): choose cpu or auto") from error
    if missing:
        raise UserError(
            f"{name} has no weights for {missing[0]}"
            f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}: "
            "it is no masked language model, or its files are incomplete"
        )
    return MaskedModel(
        name,
        model,
        tokenizer,
        {**identify(name), "revision": getattr(config, "_commit_hash", None)},
    )


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
