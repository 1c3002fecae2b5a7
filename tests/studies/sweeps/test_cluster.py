"""The same jobs on a Dask cluster that loses a worker, or its scheduler, on the way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from edgeopt_papers.figures import reproduce

import edgeopt
from edgeopt.errors import WorkerError
from edgeopt.studies.sweeps import run_jobs
from tests.studies.sweeps.work import jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

distributed = pytest.importorskip("distributed", reason="needs the extra `cluster`")

ROOT = Path(__file__).parents[3]


def started(*command: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
        env=environment,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def awaited(path: Path, count: int) -> None:
    """Wait until a log has so many lines."""
    while not path.exists() or len(path.read_text().split()) < count:
        time.sleep(0.02)


def awaited_address(file: Path) -> str:
    """Wait until a scheduler's file is there and whole: it appears empty, then it is written."""
    while True:
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)


def worker_of(folder: Path) -> subprocess.Popen[bytes]:
    """Start a worker for the scheduler of a folder."""
    options = ("--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard")
    return started("dask_worker", *options, "--no-nanny", "--nthreads", "1")


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and workers; give its address, and it and them as processes."""
    file = folder / "scheduler.json"
    options = ("--scheduler-file", str(file))
    running = [
        started("dask_scheduler", *options, "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
    ]
    running += [worker_of(folder) for _ in range(workers)]
    try:
        yield awaited_address(file), running
    finally:
        for process in running[::-1]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def killing(log: Path, count: int, process: subprocess.Popen[bytes]) -> threading.Thread:
    """Kill a process once a log has so many lines."""

    def kill() -> None:
        awaited(log, count)
        os.killpg(process.pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.long
def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with cluster(tmp_path) as (address, running):
        killer = killing(log, 4, running[1])
        listed = jobs(24, str(log), 0.05)
        table = run_jobs(listed, store=tmp_path / "store", cluster=address)
        killer.join()
        assert running[1].wait() == -signal.SIGKILL
    assert table.equals(run_jobs(jobs(24, str(tmp_path / "other"))))
    assert len(list((tmp_path / "store").glob("*.json"))) == 24


def test_a_lost_scheduler_is_one_sentence_and_costs_no_finished_job(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, store = tmp_path / "log", tmp_path / "store"
    close = distributed.Client.close

    def slow_to_close(client: Any, timeout: float | None = None) -> None:
        """Close as on a busy machine, where that takes longer than one waits."""
        close(client)
        if timeout is not None:
            raise TimeoutError(f"timed out after {timeout} s.")

    monkeypatch.setattr(distributed.Client, "close", slow_to_close)
    with cluster(tmp_path) as (address, running):
        killer = killing(log, 6, running[0])
        with pytest.raises(WorkerError, match=f"the scheduler at {address} is lost; what is fin"):
            run_jobs(jobs(400, str(log), 0.05), store=store, cluster=address)
        killer.join()
    assert capfd.readouterr().err == ""
    finished = set(log.read_text().split())
    kept = {str(json.loads(path.read_text())["row"]["square"]) for path in store.glob("*.json")}
    assert 6 <= len(finished) < 400
    # Each worker may have been killed between the last line of its log and keeping the job.
    assert len({str(float(int(number) ** 2)) for number in finished} - kept) <= 2
    again = run_jobs(jobs(24, str(tmp_path / "other")), store=store)
    assert again.equals(run_jobs(jobs(24, str(tmp_path / "third"))))
    anew = tmp_path / "other"  # not there if all of the 24 were kept
    assert len(anew.read_text().split() if anew.exists() else []) <= 24 - 4


@contextlib.contextmanager
def losing(worker: subprocess.Popen[bytes], store: Path) -> Iterator[None]:
    """Kill a worker as soon as three jobs are kept, before all are."""
    kept = 0

    def kill() -> None:
        nonlocal kept
        while len(list(store.glob("*.json"))) < 3:
            time.sleep(0.02)
        os.killpg(worker.pid, signal.SIGKILL)
        kept = len(list(store.glob("*.json")))

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    thread.join()
    assert worker.wait() == -signal.SIGKILL
    assert kept < len(list(store.glob("*.json")))


def test_figures_and_comparisons_are_those_of_one_process(tmp_path: Path) -> None:
    here, there, jobs = (tmp_path / name for name in ("here", "there", "compared"))
    given: Any = {
        "instances": ["tapfinger-odd-c1-n7", "rescue-odd-k1-t50"],
        "offline": ["auto", "highs"],
        "online": ["min", "tiresias*", "rescue*", "srs"],
        "runs": 5,
    }
    with cluster(tmp_path, 3) as (address, running):
        with losing(running[1], there / "jobs"):
            reproduce("oinc", figure="5", quick=True, out=there, cluster=address)
        running.append(worker_of(tmp_path))
        with losing(running[2], jobs):
            apart = edgeopt.bench(**given, store=jobs, cluster=address).results
    reproduce("oinc", figure="5", quick=True, out=here)
    assert (there / "figure-5.csv").read_bytes() == (here / "figure-5.csv").read_bytes()
    alone = edgeopt.bench(**given).results
    assert len(alone) > 20
    pd.testing.assert_frame_equal(apart.drop(columns="seconds"), alone.drop(columns="seconds"))


@pytest.mark.long
def test_on_the_command_line_it_is_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = [sys.executable, "-c", "from edgeopt.cli import main; main()", "reproduce", "oinc"]
    with cluster(tmp_path) as (address, running):
        client = subprocess.Popen(
            [*program, "--table", "I", "--quick", "--cluster", address, "--out", str(out)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not list((out / "jobs").glob("*.json")):
            assert client.poll() is None
            time.sleep(0.05)
        os.killpg(running[0].pid, signal.SIGKILL)
        published, said = client.communicate()
    [line] = said.splitlines()
    assert line.startswith(f"edgeopt: error: the scheduler at {address} is lost")
    assert (client.returncode, published) == (2, "")


def test_a_disk_that_is_not_shared_is_written_by_the_client_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeopt.studies.sweeps.Store.present", False)
    run_jobs(jobs(3, str(tmp_path / "log")), store=tmp_path / "store")
    assert len(list((tmp_path / "store").glob("*.json"))) == 3
