"""The program that serves the page to this machine alone."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edgeopt.errors import MissingDependencyError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

HOST = "127.0.0.1"
"""No other machine reaches the page."""


class Served(NamedTuple):
    """A page that is served: its address with the token, and the process."""

    address: str
    process: subprocess.Popen[bytes]


def require_marimo() -> None:
    """Refuse to go on where marimo is missing."""
    if find_spec("marimo") is None:
        raise MissingDependencyError(
            'edgeopt explore needs marimo: pip install "edgeopt[notebook]"'
        )


def serve(
    system: str, source: str = "", port: int | None = None, *, browser: bool = False
) -> Served:
    """Start to serve the page of a system; whoever calls waits for the process, or ends it."""
    require_marimo()
    port = _free(port)
    token = secrets.token_urlsafe(16)
    page = Path(__file__).with_name("page.py")
    about = ["--system", system, *(["--instance", source] if source else [])]
    process = subprocess.Popen(
        [
            sys.executable, "-m", "marimo", "--quiet", "run", str(page), "--host", HOST,
            "--port", str(port), *([] if browser else ["--headless"]),
            "--token", "--token-password-file", "-", "--", *about,
        ],
        stdin=subprocess.PIPE,
        env=_environment(),
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(token.encode())
    return Served(f"http://{HOST}:{port}/?access_token={token}&system={system}", process)


def _environment() -> dict[str, str]:
    """Return the environment without requests to the outside, with the modules of this process."""
    paths: Sequence[str] = [path for path in sys.path if path]
    return {**os.environ, "MARIMO_SKIP_UPDATE_CHECK": "1", "PYTHONPATH": os.pathsep.join(paths)}


def _free(port: int | None) -> int:
    """Return the port if it is free, or any free one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port or 0))
        except OSError as error:
            raise OptionError(f"--port {port}: {error.strerror}; choose another") from error
        return int(probe.getsockname()[1])
