"""Ctrl-C prints its line, ends with 130 and leaves no worker behind one second later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edgeopt import processes
from edgeopt.errors import WorkerError
from edgeopt.studies.sweeps import Job, run_jobs
from tests.draws import some

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-c", "from edgeopt.cli import main; main()"]
COMMANDS = {
    "reproduce": ["reproduce", "idn", "--figure", "9", "--quick", "--workers", "2"],
    "check": ["check", "--instances", "20", "--workers", "2"],
    "study": ["study", "oinc", "--draws", "40", "--workers", "2"],
}

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to see processes"
)


def of_session(leader: int, named: str = "") -> list[int]:
    """Processes of a session that have not ended, whose command line holds a text."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdecimal():
                state, *others = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_text(errors="replace")
                if int(others[2]) == leader and state not in "ZX" and named in command:
                    found.append(int(folder.name))
    return found


@contextlib.contextmanager
def started(command: list[str], out: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a command until both of its workers are there."""
    running = subprocess.Popen(
        [*PROGRAM, *command, "--out", str(out)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        while len(of_session(running.pid, "LokyProcess")) < 2:
            assert running.poll() is None
            time.sleep(0.02)
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


@pytest.mark.parametrize("name", some(COMMANDS, "reproduce"))
def test_an_interrupt_ends_everything(tmp_path: Path, name: str) -> None:
    with started(COMMANDS[name], tmp_path / "out") as running:
        time.sleep(0.7 * list(COMMANDS).index(name))
        # As a terminal does: to every process in the foreground.
        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate()[1]
        time.sleep(1)
        assert of_session(running.pid) == []
    assert said == "interrupted\n"
    assert running.returncode == 130


def test_threads_that_an_interrupt_leaves_behind_say_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = []
    monkeypatch.setattr(threading, "excepthook", lambda raised: said.append(raised.exc_value))

    def fail(error: Exception) -> None:
        raise error

    mine, others = KeyError(1), KeyError(2)
    with contextlib.suppress(KeyboardInterrupt), processes.pool(1):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    for name, error in (("ExecutorManagerThread", mine), ("other", others)):
        thread = threading.Thread(target=fail, name=name, args=(error,))
        thread.start()
        thread.join()
    assert said == [others]


def test_the_workers_of_a_killed_parent_end_themselves(tmp_path: Path) -> None:
    with started(COMMANDS["check"], tmp_path / "out") as running:
        running.kill()
        running.wait()
        # They may have to begin before they can look.
        deadline = time.monotonic() + 60
        while of_session(running.pid, "LokyProcess") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert of_session(running.pid, "LokyProcess") == []


def test_a_worker_that_is_killed_is_named(tmp_path: Path) -> None:
    listed = [Job({"n": number}, os._exit, (1,)) for number in range(2)]
    with pytest.raises(WorkerError, match="was killed or crashed"):
        run_jobs(listed, workers=2)
