"""Commands in this process, which has loaded torch already, and in a fork that can be killed."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from unittest import mock

import torch
import typer.main

from hyperprobe import cli

GET_COMMAND = cache(typer.main.get_command)  # read from the signatures of all commands once
PATIENCE = 100.0  # seconds until a command has to have begun


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`hyperprobe ARGUMENTS` as a user in `folder` would run it: exit code and both outputs."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    command = ["hyperprobe", *arguments]
    with (
        mock.patch("typer.main.get_command", GET_COMMAND),
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", command),
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return subprocess.CompletedProcess(command, code, *texts)


def one_line_error(done: subprocess.CompletedProcess[str]) -> str:
    """What a command says that ends for the user's error, after checking how it ends."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith("hyperprobe: error: ")
    return done.stderr


def fork(folder: Path, *arguments: str, limit: int = 0) -> int:
    """`hyperprobe ARGUMENTS` in `folder`, in a fork of this process: its process id.

    What it says goes to `folder`/said.txt; its files may have `limit` bytes, if given.
    """
    child = os.fork()
    if child:
        return child
    try:
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        torch.set_num_threads(1)  # a fork has no other threads
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        sys.argv = ["hyperprobe", *arguments]
        cli.main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(end.code or 0))
    finally:
        os._exit(70)


def end_of(child: int) -> int:
    """The exit code of a fork, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def wait_until(child: int, done: object) -> None:
    """Until `done()`, which `child` has to bring about."""
    assert callable(done)
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < deadline
        time.sleep(0.005)


def finished_cells(folder: Path) -> dict[Path, int]:
    """The cells stored below `folder`/results, and when each was written (nanoseconds)."""
    cells = (folder / "results").glob("*/cells/*.parquet")
    return {path: path.stat().st_mtime_ns for path in cells}


def kill_after(folder: Path, command: list[str], n_cells: int) -> dict[Path, int]:
    """Run `hyperprobe COMMAND` in `folder`, kill it when it has stored `n_cells`; its cells."""
    child = fork(folder, *command)
    wait_until(child, lambda: len(finished_cells(folder)) >= n_cells)
    os.kill(child, signal.SIGKILL)
    assert end_of(child) == -signal.SIGKILL
    return finished_cells(folder)
