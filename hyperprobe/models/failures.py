"""Why a model cannot be loaded, in one line."""

from __future__ import annotations

from typing import Any

from hyperprobe.model_names import model_path


def explain_missing(name: str, config: Any, missing: list[str]) -> str:
    classes = config.architectures or []
    if any(c.endswith("ForPreTraining") and "Electra" in c for c in classes):
        return f"{name} is ELECTRA's discriminator, which fills no slots: name the generator"
    if classes and all(c.endswith("Model") and not c.endswith("LMHeadModel") for c in classes):
        return (
            f"{name} is an encoder without a language-model head ({classes[0]}), which fills no "
            "slots: use it with hyperprobe classify, or name a model with its head"
        )
    return incomplete(name, missing, "it is no language model with a head")


def incomplete(name: str, missing: list[str], otherwise: str) -> str:
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"{name} has no weights for {missing[0]}{more}: {otherwise}, or its files are incomplete"


def explain(name: str, error: BaseException) -> str:
    """One line for what went wrong inside transformers."""
    text = " ".join(str(error).split())
    if model_path(name).is_dir():
        return (
            f"cannot load the model in {name} ({text[:150]}): its files are incomplete or foreign"
        )
    if "trust_remote_code" in text:
        return f"{name} runs code of its own: pass --trust-remote-code if you trust its authors"
    if "safetensors" in text:
        return f"{name} has no weights in safetensors, and pickles are not read: convert it"
    return (
        f"no model {name}: it is neither a folder nor a file here, nor in the local Hugging Face "
        "cache, nor could it be fetched from the hub: check the name and the network"
    )
