"""The first result, sent with the page itself: it is seen while scripts of marimo are loaded."""

from __future__ import annotations

import asyncio
import logging
from html import escape
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from edgeopt.errors import EdgeOptError
from edgeopt.explore import controls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.explore.guard import Application, Message, Receive, Send

_PAGE: Final = """
<style>
  #first { margin: 2rem; font: 1rem/1.5 "PT Sans", sans-serif; color-scheme: light dark }
  #first ~ #root { position: absolute; visibility: hidden }
  @media (min-width: 900px) {
    #first { margin-left: calc(max(2rem, (100vw - 1150px) / 2) + 23.5rem); max-width: 48rem }
  }
  @media (prefers-color-scheme: dark) {
    body:has(#first) { background: #181c1a; color: #ecf0ee }
  }
</style>
<div id="first">%s<p><small>%s; sliders follow</small></p></div>
<script>
  addEventListener("DOMContentLoaded", () => new MutationObserver((_, observer) => {
    if (!document.querySelector("#stamp, .marimo-error, #root [role=alertdialog]")) return;
    document.querySelector("#first").remove();
    observer.disconnect();
  }).observe(document.querySelector("#root"), {childList: true, subtree: true}));
</script>
"""


def result(command: Mapping[str, str], address: Mapping[str, str]) -> str:
    """Return the result that a page shows at first, in HTML; empty if it takes long, or fails."""
    record, source = controls.chosen(command, address)
    moved = controls.moved_to(record, source, address)
    instance = controls.drawn(record, moved)
    if controls.size(record, instance) > 1:
        return ""
    try:
        shown = controls.shown(instance, moved)
    except EdgeOptError:  # the page says it
        return ""
    return _PAGE % (shown._repr_html_(), escape(controls.stamp(instance, moved)))


def _result(command: Mapping[str, str], address: Mapping[str, str]) -> str:
    """Return the first result, or nothing: a fault of this extra must not keep the page away."""
    try:
        return result(command, address)
    except Exception:
        logging.getLogger(__name__).exception("the page starts without its first result")
        return ""


def with_result(application: Application, command: Mapping[str, str]) -> Application:
    """Return an application whose page starts with its first result."""

    async def answer(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/":
            await application(scope, receive, send)
            return
        head: Message = {}
        body = b""

        async def take(message: Message) -> None:
            nonlocal head, body
            if message["type"] == "http.response.start":
                head = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            kept = list(head["headers"])
            page = any(name == b"content-type" and b"html" in said for name, said in kept)
            if head["status"] == 200 and page:
                address = dict(parse_qsl(scope["query_string"].decode()))
                text = await asyncio.to_thread(_result, command, address)
                body = body.replace(b"<body>", b"<body>" + text.encode(), 1)
                # What is shown depends on the program: no browser may keep it.
                kept = [one for one in kept if one[0] not in _OF_A_FILE]
                kept += [(b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
            await send({**head, "headers": kept})
            await send({"type": "http.response.body", "body": body})

        await application(scope, receive, take)

    return answer


_OF_A_FILE: Final = (b"cache-control", b"content-length", b"etag")
