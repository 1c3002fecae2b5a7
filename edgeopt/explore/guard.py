"""The server of marimo with a guard before it: only its own pages can talk to it.

A site that points its name at 127.0.0.1, or opens a WebSocket there, has the cookie of a reader but
not the right Host or Origin.
"""

from __future__ import annotations

import asyncio
import contextlib
import runpy
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Message, Receive, Send], Awaitable[None]]

_NAMES: Final = ("127.0.0.1", "localhost")
_POLICY_VIOLATION: Final = 1008  # RFC 6455, 7.4.1


def is_own(headers: list[tuple[bytes, bytes]], port: int) -> bool:
    """Tell whether a request names this server, and comes from a page of it or from no page."""
    ends = ("", ":80") if port == 80 else (f":{port}",)
    hosts = {f"{name}{end}".encode() for name in _NAMES for end in ends}
    named = [value.lower() for name, value in headers if name.lower() == b"host"]
    origins = [value.lower() for name, value in headers if name.lower() == b"origin"]
    if len(named) != 1 or named[0] not in hosts or len(origins) > 1:
        return False
    return set(origins) <= {b"http://" + host for host in hosts}


def guarded(application: Application) -> Application:
    """Return an ASGI application that refuses what is not its own, WebSockets too."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        served = scope["type"] in ("http", "websocket")
        if not served or is_own(scope["headers"], scope["server"][1]):
            await application(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            said = b"Refused: open the page at the address that edgeopt has printed.\n"
            await send({"type": "http.response.body", "body": said})

    return answer


@contextlib.asynccontextmanager
async def _guard(application: Any) -> AsyncIterator[None]:
    """Stand before every middleware: those of marimo for language servers answer by themselves."""
    command = _command(sys.argv)
    page = application.middleware_stack
    if command:
        from edgeopt.explore.first import result, with_result

        page = with_result(page, command)
        asyncio.get_running_loop().run_in_executor(None, result, command, {})  # fills caches
    application.middleware_stack = guarded(page)
    yield


def _command(arguments: Sequence[str]) -> dict[str, str]:
    """Return what `edgeopt explore` says of the page: system, and instance."""
    said = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    names = [name.removeprefix("--") for name in said[::2]]
    return dict(zip(names, said[1::2], strict=True))


def main() -> None:
    """Run marimo with the arguments of this process."""
    from marimo._server.registry import LIFESPAN_REGISTRY

    LIFESPAN_REGISTRY.register("edgeopt", _guard)
    runpy.run_module("marimo", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
