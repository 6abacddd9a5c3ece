"""Options that many commands share, checked before anything heavy is imported."""

from __future__ import annotations

import re

from hyperprobe.errors import UserError, quoted

SPREAD = "spread"
MAX_SEED = 2**32 - 1  # numpy takes no more
_DEVICE = re.compile(r"auto|cpu|mps|spread|cuda(:(0|[1-9][0-9]{0,2}))?")


def check_device(device: str) -> str:
    """The device's name, if it is one. Whether the machine has it is seen when a model loads.

    Raises `UserError`.
    """
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        raise UserError(
            f"unknown device {quoted(device)}: choose from auto, cpu, cuda, cuda:1, mps, spread"
        )
    return device


def check_seed(seed: int) -> int:
    """The seed, if every random generator takes it. Raises `UserError`."""
    if type(seed) is not int or not 0 <= seed <= MAX_SEED:
        raise UserError(f"--seed {quoted(seed)}: give a whole number from 0 to {MAX_SEED}")
    return seed
