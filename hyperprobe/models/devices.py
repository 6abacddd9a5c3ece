"""Where a network runs, and in which precision: GPUs, the CPU, all of them, weights of 8 bits."""

from __future__ import annotations

from typing import Any

import torch

from hyperprobe.errors import UserError
from hyperprobe.models.memory import quantized_layers
from hyperprobe.options import SPREAD

TORCH_DTYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "int8": torch.bfloat16,  # of what is not quantized
}


def best_device() -> str:
    """The first GPU, Apple's, or the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_named(asked: str) -> str:
    """What the name of a device means on this machine."""
    return best_device() if asked == "auto" else asked


def spread_over_all() -> dict[str, Any]:
    """What spreads a model over all GPUs and then the CPU. Raises `UserError`."""
    try:
        import accelerate  # noqa: F401
    except ImportError as error:
        raise UserError(
            "a model on several devices needs the package accelerate: pip install accelerate"
        ) from error
    return {"device_map": "auto"}


def int8_weights() -> Any:
    """torchao's setting for weights of 8 bits with a scale for each row. Raises `UserError`."""
    try:
        from torchao.quantization import Int8WeightOnlyConfig
    except ImportError as error:
        raise UserError("int8 needs the package torchao: pip install torchao") from error
    return Int8WeightOnlyConfig()


def quantize(name: str, model: Any) -> None:
    """Quantize weights that were drawn, as transformers does those that it reads."""
    setting = int8_weights()
    from torchao.quantization import quantize_

    check_quantized(name, model)
    layers = quantized_layers(model)
    quantize_(model, setting, filter_fn=lambda module, _: any(module is one for one in layers))


def check_quantized(name: str, model: Any) -> None:
    if not quantized_layers(model):
        raise UserError(
            f"{name} has no layers that int8 quantizes (GPT-2's are of another kind): "
            "use --dtype bf16"
        )


def to_device(model: Any, device: str) -> Any:
    """The model on a device of this name (`ModelOptions`). Raises `UserError`."""
    device = best_device() if device == SPREAD else device_named(device)
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise UserError(
            f"the model does not fit on {device}: use --dtype bf16 or --device spread"
        ) from error
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0][:120]
        raise UserError(f"cannot use device {device} ({reason}): choose cpu or auto") from error
