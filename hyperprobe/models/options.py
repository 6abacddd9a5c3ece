"""Options about models, checked before anything heavy is imported."""

from __future__ import annotations

import re

from hyperprobe.errors import UserError, quoted

SPREAD = "spread"
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
