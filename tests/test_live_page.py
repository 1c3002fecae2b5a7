"""The service of the page on live use: killed at any moment, it goes on with the next event."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES = 40


def service() -> str:
    page = (ROOT / "docs" / "live.md").read_text()
    [text] = [code for code in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
              if "Starlette(" in code]  # fmt: skip
    return text


def test_the_service_is_short() -> None:
    assert len(service().splitlines()) <= MOST_LINES


class Service:
    """The service in a process of its own, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "service.py").write_text(service())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = ["-m", "uvicorn", "service:app", "--workers", "1", "--port", str(self.port)]
        environment = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"}
        self.process = subprocess.Popen(
            [sys.executable, *command, "--log-level", "warning"], cwd=folder, env=environment
        )
        deadline = time.monotonic() + 120
        while True:
            try:
                self.log()
                return
            except OSError:
                assert self.process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)

    def log(self) -> list[str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/log") as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return lines

    def post(self, body: Any) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/events", data=data)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as why:
            return why.code, json.loads(why.read())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.mark.long
def test_a_service_that_is_killed_goes_on_with_the_next_event(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    events = [{"event": "task", "slot": slot, "device": slot % 3} for slot in range(12)]
    first = Service(tmp_path)
    try:
        answers = [first.post(event) for event in events[:5]]
        assert [code for code, _ in answers] == [200] * 5
        assert first.post(b"{nope")[0] == first.post({"event": "boot", "slot": 4})[0] == 409
        lines = first.log()
    finally:
        first.kill()
    second = Service(tmp_path)
    try:
        assert second.log() == lines
        assert len(lines) == 1 + 5
        for event in events[5:]:
            code, answer = second.post(event)
            assert (code, answer["slot"]) == (200, event["slot"])
    finally:
        second.kill()
    decided = [json.loads(line).get("decision") for line in lines[1:]]
    assert decided == [answer["decision"] for _, answer in answers]
