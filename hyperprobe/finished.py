"""Finished runs as results: what a command gave back, from its folder."""

from __future__ import annotations

from hyperprobe import registry
from hyperprobe.errors import UserError
from hyperprobe.names import StrPath
from hyperprobe.render.result import Result
from hyperprobe.runs.read import read_run


def load(folder: StrPath) -> Result:
    """The result of the finished run in `folder`, of whatever command it is.

    Raises `UserError` when there is no finished run, it is damaged, or its command has no
    result to read.
    """
    run = read_run(folder)
    if run.command not in registry.COMMANDS:
        known = ", ".join(registry.COMMANDS)
        raise UserError(f"{folder} is a run of {run.command}: load one of {known}")
    result: Result = registry.load(registry.COMMANDS[run.command].result).read(run)
    return result
