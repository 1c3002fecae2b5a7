"""``edgeopt explore`` leaves nothing behind, and a reader that stops reading is no bug."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

START = "from edgeopt.cli.main import main; main()"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux to end the server")
def test_the_server_ends_with_the_program_however_that_ends() -> None:
    pytest.importorskip("marimo", reason="the extra notebook")
    command = [sys.executable, "-c", START, "explore", "tapfinger", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        port = urlsplit(program.stdout.readline()).port
        assert port is not None
        for _ in range(300):
            if listens(port):
                break
            time.sleep(0.2)
        assert listens(port)
        program.send_signal(signal.SIGKILL)
        program.wait()
        for _ in range(100):
            if not listens(port):
                break
            time.sleep(0.2)
        assert not listens(port)


def test_a_reader_that_stops_reading_is_no_bug() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", START, "solvers"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
