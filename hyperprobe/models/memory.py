"""What a model will take, from its configuration alone: said, or refused, before it is loaded."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch

from hyperprobe.errors import UserError, one_line
from hyperprobe.models.language import CPU_ROWS, CPU_TOKENS, GPU_ROWS, GPU_TOKENS
from hyperprobe.options import SPREAD, ModelOptions

GB = 1e9
SAID_FROM = 1 * GB
# Of a GPU's free memory, what weights may take before a model is spread over several devices.
SHARE = 0.9
# Of a number; int8: of what is not quantized.
BYTES = {"fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2, "int8": 2}


class Needs(NamedTuple):
    """Parameters of a model, the precision that it computes in, and the bytes of its weights and
    of the largest batch."""

    n_parameters: int
    precision: str
    weights: int
    batch: int


def needs(config: Any, auto_class: str, options: ModelOptions, on_cpu: bool) -> Needs | None:
    """What a model of this configuration takes; nothing is allocated.

    The batch is a rough estimate, for texts that fill the token budget: keys and values of every
    layer, the widest activations, and logits with their soft-max in single precision (of causal
    models at every token, of masked ones at one slot a text). None where the model's code cannot
    be built without memory.
    """
    empty = _empty(config, auto_class, options)
    if empty is None:
        return None
    numbers = sum(parameter.numel() for parameter in empty.parameters())
    # (encoders compute in double precision there)
    is_double = auto_class == "AutoModel" and options.dtype == "fp32" and on_cpu
    precision = "fp64" if is_double else options.dtype
    size = BYTES[precision]
    weights = size * numbers
    if options.dtype == "int8":
        weights -= sum(module.weight.numel() for module in quantized_layers(empty))
    text = config.get_text_config()
    width = getattr(text, "hidden_size", 0)
    heads = getattr(text, "num_attention_heads", None) or 1
    shared = (getattr(text, "num_key_value_heads", None) or heads) / heads
    depth = getattr(text, "num_hidden_layers", 0)
    masked = auto_class == "AutoModelForMaskedLM"
    tokens, rows = (CPU_TOKENS, CPU_ROWS) if on_cpu else (GPU_TOKENS, GPU_ROWS)
    kept = 0 if masked else 2 * depth * width * shared * size
    inner = max((p.shape[0] for p in empty.parameters() if p.dim() == 2 and p.shape[-1] == width
                 and p.shape[0] != text.vocab_size), default=width)  # fmt: skip
    n_logits = 0 if empty.get_output_embeddings() is None else rows if masked else tokens
    batch = tokens * (kept + 2 * inner * size) + n_logits * text.vocab_size * 8
    return Needs(numbers, precision, int(weights), int(batch))


def quantized_layers(model: Any) -> list[torch.nn.Linear]:
    """The layers that int8 quantizes: the linear ones but the language-model head."""
    head = model.get_output_embeddings()
    found = [one for one in model.modules() if isinstance(one, torch.nn.Linear)]
    return [one for one in found if head is None or one.weight is not head.weight]


def _empty(config: Any, auto_class: str, options: ModelOptions) -> Any:
    import transformers

    try:
        with warnings.catch_warnings(), torch.device("meta"):
            warnings.simplefilter("ignore")
            return getattr(transformers, auto_class).from_config(
                config, trust_remote_code=options.trust_remote_code
            )
    except Exception:  # code that computes with its weights when it is built
        return None


def plan(name: str, config: Any, auto_class: str, options: ModelOptions, device: str) -> str:
    """Where the model goes, `device` or `SPREAD`, after a line on standard error if it is large.

    `device` is what `options` mean on this machine. A model that one GPU cannot hold is spread
    where the device was left open. Raises `UserError` where its weights are larger than what is
    free.
    """
    needed = needs(config, auto_class, options, on_cpu=device == "cpu")
    if needed is None:
        return device
    free = free_memory(device)
    is_open = options.device == "auto" and device.startswith("cuda")
    if is_open and free is not None and needed.weights > SHARE * free:
        device, free = SPREAD, free_memory(SPREAD)
    if needed.weights >= SAID_FROM:
        print(one_line(_said(name, needed, device, free)), file=sys.stderr)
    if free is not None and needed.weights > free:
        raise UserError(_refused(name, needed, options, device, free))
    return device


def _said(name: str, needed: Needs, device: str, free: int | None) -> str:
    left = "" if free is None else f", of {_gb(free)} free"
    return (
        f"{name}: {needed.n_parameters / 1e9:.1f} billion parameters, {_gb(needed.weights)} in "
        f"{needed.precision} on {device}{left}; batches take about {_gb(needed.batch)}, less where "
        "that does not fit"
    )


def _refused(name: str, needed: Needs, options: ModelOptions, device: str, free: int) -> str:
    n = needed.n_parameters
    sizes = {"bf16": 2 * n, "int8": 1.1 * n} if options.dtype != "int8" else {}
    remedies = [
        f"--dtype {dtype} (about {_gb(size)})"
        for dtype, size in sizes.items()
        if size < min(free, needed.weights)
    ]
    if device.startswith("cuda"):
        remedies.append("--device spread")
    remedy = " or ".join(remedies) or "a smaller model or a larger machine"
    return (
        f"the weights of {name} take {_gb(needed.weights)} in {needed.precision}, and {device} has "
        f"{_gb(free)} free: use {remedy}"
    )


def _gb(n_bytes: float) -> str:
    return f"{n_bytes / GB:.1f} GB"


# -- what is free ------------------------------------------------------------------------------


def free_memory(device: str) -> int | None:
    """Bytes that are free on a device of this name, or on all together (`spread`); None where
    the system does not say."""
    if device == SPREAD:
        gpus = [torch.cuda.mem_get_info(i)[0] for i in range(torch.cuda.device_count())]
        cpu = free_memory("cpu")
        return None if cpu is None else cpu + sum(gpus)
    if device.startswith("cuda"):
        try:
            return int(torch.cuda.mem_get_info(torch.device(device))[0])
        except (RuntimeError, AssertionError):  # it is not there, which is said when it is used
            return None
    return _free_ram() if device == "cpu" else None


def _free_ram() -> int | None:
    """What Linux calls available, and no more than is left to the control group."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        free = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return min(free, limit - used + int(counts["inactive_file"]))
    except (OSError, KeyError, ValueError):  # no control group, or no limit ("max")
        return free
