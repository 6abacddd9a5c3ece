"""What `torch.save` wrote years ago, read as data: tensors, numbers, texts and lists of them.

torch's own reader of weights makes nothing but these. Classes of other programs that stand in old
files are named by their reader (`stubs`): what they held becomes the attributes of an empty
object, and no code of theirs is needed or run. A file that asks for anything else is refused.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.serialization import safe_globals

from hyperprobe.documents import FREE_BYTES, MAX_RATIO
from hyperprobe.errors import UserError, one_line, quoted

Weights = dict[str, torch.Tensor]
RANDOM_SEED = 0
_ASKED = re.compile(r"GLOBAL `?([\w.]+)")


class Stub:
    """An object of a class that is not looked up; its attributes are what the file says."""


def read_torch(path: Path, what: str, stubs: Iterable[tuple[str, str]] = ()) -> Any:
    """The value in a file of `torch.save`; `what` names it in messages.

    `stubs` are the (module, class) pairs that the file may name beside tensors. Raises
    `UserError` for a file that asks for anything else, or is damaged.
    """
    if not path.is_file():
        raise UserError(f"no {what} {path}: check the name")
    made: list[Any] = [type(name, (Stub,), {"__module__": module}) for module, name in stubs]
    try:
        with warnings.catch_warnings(), safe_globals([Counter, *made]):
            warnings.simplefilter("ignore")  # (of damage, on lines of their own)
            return torch.load(path, map_location="cpu", weights_only=True)
    # (torch's reader raises all kinds on damaged files)
    except Exception as error:
        text = str(error)
        if asked := _ASKED.search(text):
            raise UserError(
                f"{what} {path} asks for {quoted(asked[1])}, which no such file needs: nothing of "
                "it was run: fetch the file again from its authors"
            ) from error
        reason = one_line(text.rpartition("WeightsUnpickler error:")[2])[:100]
        raise UserError(
            f"cannot read {what} {path} ({reason or type(error).__name__}): it is damaged, or no "
            "such file: fetch it again"
        ) from error


def check_weights(path: Path, weights: Any, shapes: Mapping[str, tuple[int, ...]]) -> Weights:
    """`weights`, if they are exactly the tensors that `shapes` names. Raises `UserError`."""
    if not isinstance(weights, dict):
        raise UserError(f"{path}: no table of weights: is it the right file?")
    if missing := [key for key in shapes if key not in weights]:
        raise UserError(f"{path}: no weights {missing[0]}: the file is incomplete: fetch it again")
    if unknown := [key for key in weights if key not in shapes]:
        raise UserError(
            f"{path}: unknown weights {quoted(unknown[0])}: the model has another shape than its "
            "settings say: fetch both again"
        )
    for key, shape in shapes.items():
        found = weights[key]
        if not isinstance(found, torch.Tensor) or found.is_complex() or found.is_quantized:
            raise UserError(f"{path}: {key} holds no numbers: fetch the file again")
        if tuple(found.shape) != shape:
            raise UserError(
                f"{path}: {key} has the shape {list(found.shape)}, and {list(shape)} would fit "
                "the model's settings and vocabulary: fetch all of its files again"
            )
        if found.layout != torch.strided or found.device.type != "cpu":
            raise UserError(f"{path}: {key} is no plain table: fetch the file again")
        stored = found.untyped_storage().nbytes()
        if found.numel() * found.element_size() > stored:
            raise UserError(f"{path}: {key} is larger than what the file holds: fetch it again")
    return {key: weights[key].float() for key in shapes}


def check_unpacked(path: Path, key: str, n_bytes: int) -> None:
    """Raises `UserError` if so many bytes cannot come from a file of this size."""
    if n_bytes > max(FREE_BYTES, MAX_RATIO * path.stat().st_size):
        raise UserError(
            f"{path}: {key} promises more numbers than the file can hold: fetch it again"
        )


def drawn(weights: Weights) -> Weights:
    """Random weights of a fixed seed in the same shapes: each table normal, with the mean and the
    spread of the numbers in it."""
    random = torch.Generator().manual_seed(RANDOM_SEED)
    return {
        key: torch.randn(table.shape, generator=random)
        * (table.std() if table.numel() > 1 else 1.0)
        + table.mean()
        for key, table in weights.items()
    }
