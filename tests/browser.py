"""Drive a headless Chromium over a pipe, in the DevTools protocol, with the standard library alone.

https://chromedevtools.github.io/devtools-protocol
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0
"""Seconds that an answer may take, on a machine that is busy with other tests."""

_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-sync", "--disable-default-apps", "--metrics-recording-only", "--mute-audio",
    "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
)  # fmt: skip

_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), " ": (32, " ")} | {
    name: (37 + place, "") for place, name in enumerate(("ArrowLeft", "", "ArrowRight"))
}


def find() -> str | None:
    """Path of a Chromium that starts; some systems have no more than a hint of that name."""
    for name in NAMES:
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


class BrowserError(RuntimeError):
    """The browser refused a command, or says nothing any more."""


@dataclass
class Page:
    """One page, and what happened on it.

    Attributes
    ----------
    requests, complaints
        Addresses that it asked for; errors and warnings of its scripts and its console.
    """

    browser: Browser
    session: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.send(method, self.session, **parameters)

    def hear(self, method: str, said: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case "Runtime.exceptionThrown":
                details = said["exceptionDetails"]
                thrown = details.get("exception", {}).get("description", details["text"])
                self.complaints.append(f"exception: {thrown}")
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning", "assert"):
                words = [str(a.get("value", a.get("description"))) for a in said["args"]]
                self.complaints.append(f"console.{said['type']}: {' '.join(words)}")
            case "Log.entryAdded" if said["entry"]["level"] in ("error", "warning"):
                self.complaints.append(f"log: {said['entry']['text']}")
            case _:
                pass

    def open(self, address: str, *, scripts: bool = True) -> None:
        """Load an address and wait until it and its scripts are done."""
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.browser.loaded.discard(self.session)
        self.send("Page.navigate", url=address)
        self.browser.listen_until(lambda: self.session in self.browser.loaded)

    def look(
        self, *, width: int, height: int = 900, scheme: str = "light", media: str = ""
    ) -> None:
        """Set the size of the window in pixels, the preferred colour scheme and the medium."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def evaluate(self, script: str) -> Any:
        """Value of a JavaScript expression on the page."""
        said = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in said:
            raise BrowserError(said["result"].get("description", said["exceptionDetails"]["text"]))
        return said["result"].get("value")

    def click(self, selector: str) -> None:
        """Scroll an element into view and press the mouse in its middle."""
        name = json.dumps(selector)
        x, y = self.evaluate(
            f"(() => {{ const it = document.querySelector({name});"
            " it.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});"
            " const box = it.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key; what has the focus receives it."""
        code, text = _KEYS[key]
        named = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **named)
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write what is seen, or the whole page, as a PNG file."""
        more: dict[str, Any] = {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        said = self.send("Page.captureScreenshot", format="png", optimizeForSpeed=True, **more)
        path.write_bytes(base64.b64decode(said["data"]))

    def pdf(self, path: Path) -> None:
        """Print to a file."""
        said = self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        path.write_bytes(base64.b64decode(said["data"]))


@dataclass
class Browser:
    """A running Chromium; `read` and `write` are our ends of the two pipes."""

    process: int
    read: int
    write: int
    pages: dict[str, Page] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)
    _answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    _rest: bytes = b""
    _number: int = 0

    def page(self) -> Page:
        """Open an empty page."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        return page

    def send(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Give a command and return the answer."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data) :]
        self.listen_until(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def listen_until(self, done: Any) -> None:
        """Take in messages until `done()`."""
        limit = time.monotonic() + PATIENCE
        while not done():
            if not select.select([self.read], [], [], max(0.0, limit - time.monotonic()))[0]:
                raise BrowserError(f"no answer within {PATIENCE:g} s")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended")
            *messages, self._rest = (self._rest + data).split(b"\0")
            for message in messages:
                self._hear(json.loads(message))

    def _hear(self, said: dict[str, Any]) -> None:
        if "id" in said:
            self._answers[said["id"]] = said
        elif said.get("sessionId") in self.pages:
            if said["method"] == "Page.loadEventFired":
                self.loaded.add(said["sessionId"])
            self.pages[said["sessionId"]].hear(said["method"], said["params"])


@contextmanager
def chromium(path: str, profile: Path) -> Iterator[Browser]:
    """Run a Chromium with a profile of its own.

    The browser reads commands from its file descriptor 3 and answers on 4.
    """
    # Above 4, so that the one does not overwrite the other when they get their numbers.
    theirs, computed, answers, heard = (
        fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (*os.pipe(), *os.pipe())
    )
    quiet = os.open(os.devnull, os.O_RDWR)
    process = os.posix_spawn(
        path,
        [path, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        os.environ,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, quiet, number) for number in (0, 1, 2)),
            (os.POSIX_SPAWN_DUP2, theirs, 3),
            (os.POSIX_SPAWN_DUP2, heard, 4),
        ],
    )
    for end in (theirs, heard, quiet):
        os.close(end)
    try:
        browser = Browser(process, read=answers, write=computed)
        yield browser
        browser.send("Browser.close")
        ended = time.monotonic() + 10
        while time.monotonic() < ended and os.waitpid(process, os.WNOHANG) == (0, 0):
            time.sleep(0.05)
    finally:
        _end(process)
        os.close(computed)
        os.close(answers)


def _end(process: int) -> None:
    """End a process that has not ended by itself."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.waitpid(process, os.WNOHANG)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
