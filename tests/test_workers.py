"""Work in several processes ends when it should, and leaves nobody behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hyperprobe.errors import UserError
from hyperprobe.workers import in_order
from tests.commands import end_of, fork, wait_until

PATIENCE = 60.0
pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")


def living(group: int) -> list[int]:
    """The processes of a group that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getpgid(int(path.name)) == group:
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                found += [int(path.name)] if state not in "ZX" else []
    return found


def wait_for_workers(process: subprocess.Popen[str], number: int) -> list[int]:
    """The workers' ids, once there are `number` of them."""
    deadline = time.monotonic() + PATIENCE
    while len(workers := [pid for pid in living(process.pid) if pid != process.pid]) < number:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return workers


def wait_for_the_end(group: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while living(group):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background of a shell inherits that it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


ENDLESS = """
import itertools
from hyperprobe.workers import in_order
from hyperprobe.errors import UserError
try:
    for _ in in_order(lambda n: "x" * 100_000, itertools.repeat("y" * 100_000), 3): pass
except UserError as error:
    raise SystemExit(f"told: {error}")
"""


def half(number: int) -> float:
    return 1 / (number - 5)


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("n_items", [0, 1, 5])
def test_results_come_in_order(processes: int, n_items: int) -> None:
    assert list(in_order(half, range(n_items), processes)) == [half(n) for n in range(n_items)]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_work_raises_is_raised_here(processes: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_order(half, range(9), processes))


def test_few_items_are_read_ahead() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = in_order(str, items(), 3)
    assert next(results) == "0"
    assert len(taken) <= 4
    results.close()


def test_a_killed_worker_is_one_error() -> None:
    process = start("-c", ENDLESS)
    os.kill(wait_for_workers(process, 3)[1], signal.SIGKILL)
    _, error = process.communicate(timeout=PATIENCE)
    assert error.startswith("told: a process of the search was killed (out of memory?)")
    assert error.count("\n") == 1 and process.returncode == 1
    wait_for_the_end(process.pid)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(signal_: signal.Signals) -> None:
    process = start("-c", ENDLESS)
    wait_for_workers(process, 3)
    process.send_signal(signal_)
    _, error = process.communicate(timeout=PATIENCE)
    assert (error, process.returncode) == ("", 143 if signal_ == signal.SIGTERM else -9)
    wait_for_the_end(process.pid)


def test_ctrl_c_ends_a_search_of_many_small_files(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    text = "From the top of the hedge the robin sang and then carried a worm to its nest.\n" * 40
    for i in range(1500):
        (folder / f"{i}.txt").write_text(text)
    mine = ("contexts", "mine", str(folder), "--diagnostic", "lm-diagnostic")
    process = fork(tmp_path, *mine)
    os.setpgid(process, process)
    wait_until(process, lambda: len(living(process)) > 2)
    asked = time.monotonic()
    os.killpg(process, signal.SIGINT)
    assert end_of(process) == 130 and time.monotonic() - asked < 20
    said = (tmp_path / "said.txt").read_text()
    assert said.startswith("hyperprobe: interrupted") and said.count("\n") == 1
    assert not living(process)


def test_the_error_is_one_of_users() -> None:
    def end(_: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(UserError, match="--processes 1 continues"):
        list(in_order(end, range(9), 2))
