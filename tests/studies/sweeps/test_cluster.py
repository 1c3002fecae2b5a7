"""The same cells on a Dask cluster, one of whose workers is killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from edgeopt.studies.sweeps import run_cells
from tests.studies.sweeps.work import cells

pytest.importorskip("distributed", reason="needs the extra `cluster`")

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


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = tmp_path / "scheduler.json"
    options = ("--scheduler-file", str(file))
    scheduler = started(
        "dask_scheduler", *options, "--port", "0", "--no-dashboard", "--host", "127.0.0.1"
    )
    workers = [
        started("dask_worker", *options, "--no-nanny", "--nthreads", "1", "--no-dashboard")
        for _ in range(2)
    ]
    try:
        while not file.exists():
            time.sleep(0.05)
        import json

        address = json.loads(file.read_text())["address"]

        def kill() -> None:
            awaited(log, 4)
            os.killpg(workers[0].pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        listed = cells(24, str(log), 0.05)
        table = run_cells(listed, store=tmp_path / "store", cluster=address)
        killer.join()
        assert workers[0].wait() == -signal.SIGKILL
    finally:
        for process in (*workers, scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    assert table.equals(run_cells(cells(24, str(tmp_path / "other"))))
    assert len(list((tmp_path / "store").glob("*.json"))) == 24
