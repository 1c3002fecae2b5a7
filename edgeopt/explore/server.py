"""The program that serves the page to this machine alone."""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from edgeopt.errors import MissingDependencyError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

HOST = "127.0.0.1"
"""No other machine reaches the page."""

_GUARDED: Final = "edgeopt.explore.guard"
"""Module that runs marimo, and refuses requests that pages of others send."""


class Served(NamedTuple):
    """A page that is served: its address with the token, and the process."""

    address: str
    process: subprocess.Popen[bytes]


def require_marimo(command: str) -> None:
    """Refuse to go on where marimo is missing."""
    if find_spec("marimo") is None:
        raise MissingDependencyError(f'{command} needs marimo: pip install "edgeopt[notebook]"')


def serve(
    system: str, source: str = "", port: int | None = None, *, browser: bool = False
) -> Served:
    """Start to serve the page of a system; whoever calls waits for the process, or ends it."""
    about = ["--system", system, *(["--instance", source] if source else [])]
    page = Path(__file__).with_name("page.py")
    address, process = _serve("run", page, port, browser, about)
    return Served(f"{address}&system={system}", process)


def serve_notebook(notebook: Path, port: int | None = None, *, browser: bool = False) -> Served:
    """Start to serve a notebook that can be changed."""
    return _serve("edit", notebook, port, browser)


def _serve(
    how: str, notebook: Path, port: int | None, browser: bool, about: Sequence[str] = ()
) -> Served:
    port = _free(port)
    token = secrets.token_urlsafe(16)
    process = subprocess.Popen(
        [
            sys.executable, "-m", _GUARDED, "--quiet", how, str(notebook), "--host", HOST,
            "--port", str(port), *([] if browser else ["--headless"]),
            "--token", "--token-password-file", "-", "--", *about,
        ],
        stdin=subprocess.PIPE,
        env=_environment(),
        preexec_fn=_end_with_parent if sys.platform == "linux" else None,
    )  # fmt: skip
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(token.encode())
    return Served(f"http://{HOST}:{port}/?access_token={token}", process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End the server, whether it wants to or not."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_PATIENCE: Final = 3.0
"""Seconds that a server has to end by itself."""

_PR_SET_PDEATHSIG: Final = 1


def _end_with_parent() -> None:
    """Ask Linux to end this process when the one that started it is gone, however that ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


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
