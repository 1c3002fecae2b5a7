"""Regions of a page: where they are, what fills them, and whether that is what stands there."""

from __future__ import annotations

import re
import shlex
import time
from typing import TYPE_CHECKING, NamedTuple

from fill.kinds import KINDS
from fill.markdown import DOCS, Asked
from fill.running import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

REGION = re.compile(r"<!-- made: (.*?) -->(.*?)<!-- end -->", re.DOTALL)

NUMBER = re.compile(r"[-\u2212]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

TIME = re.compile(r"\b[\d.,]+ ?(?:s|ms|µs|us|ns|seconds?|minutes?)\b")

CLOSE = 1e-3
"""How far numbers may differ, as a share of the larger one: processors round differently."""


class Region(NamedTuple):
    """A region: kind, arguments, what stands in it, where, and the fence that ends before it."""

    kind: str
    arguments: list[str]
    text: str
    span: tuple[int, int]
    language: str
    code: str


def regions(page: str) -> Iterator[Region]:
    """Find the regions of a page, in their order."""
    for found in REGION.finditer(page):
        kind, *arguments = shlex.split(found[1])
        language, code = fence_before(page[: found.start()])
        yield Region(kind, arguments, found[2], found.span(2), language, code)


def fence_before(text: str) -> tuple[str, str]:
    """Return language and code of the fence with which a text ends, or nothing."""
    if not text.endswith("\n```\n"):
        return "", ""
    before = text[: -len("```\n")]
    language, _, code = before[before.rindex("\n```") + 4 :].partition("\n")
    return language, code


def filled(page: str, name: str, *, tell: bool = False, keep: bool = False,
           chosen: Callable[[str], bool] = lambda kind: True) -> str:  # fmt: skip
    """Return a page with its regions made anew; those that are alike stay as they are.

    With `keep` pictures are not written. Regions of kinds that are not `chosen` stay unread.
    """
    blocks, parts, end = Blocks(), [], 0
    for region in regions(page):
        if not chosen(region.kind):
            continue
        began = time.perf_counter()
        asked = Asked(region.arguments, region.language, region.code, blocks, keep)
        try:
            made = KINDS[region.kind](asked)
        except Exception as error:
            line = page.count("\n", 0, region.span[0]) + 1
            error.add_note(f"{name}, line {line}: {region.kind} {' '.join(region.arguments)}")
            raise
        if page[region.span[0] : region.span[0] + 1] == "\n" or "\n" in made:
            space = "\n" if region.kind == "output" else "\n\n"
            made = f"{space}{made}{space}" if made else "\n"
        same = alike(region.text, made)
        parts += [page[end : region.span[0]], region.text if same else made]
        end = region.span[1]
        took = time.perf_counter() - began
        if tell and (took > 1 or not same):
            what = f"{region.kind} {' '.join(region.arguments)}".strip()
            print(f"  {name}: {what}, {took:.0f} s{'' if same else ', differs'}", flush=True)
    return "".join([*parts, page[end:]])


def alike(one: str, other: str) -> bool:
    """Whether two texts say the same: times are passed over, numbers need only be close."""
    first, second = (TIME.sub("T", text) for text in (one, other))
    if _words(first) != _words(second):
        return False
    pairs = zip(NUMBER.findall(first), NUMBER.findall(second), strict=True)
    values = [(_value(a), _value(b)) for a, b in pairs]
    return all(abs(a - b) <= CLOSE * max(abs(a), abs(b)) + 1e-9 for a, b in values)


def _value(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


def _words(text: str) -> list[str]:
    """The words around numbers; columns and their lines may be wider."""
    return re.sub(r"([-\u2500-\u257f])\1+", r"\1", NUMBER.sub(" # ", text)).split()


def pictures() -> set[Path]:
    """Pictures that the pages show of what has been made for them."""
    shown = re.compile(r"\]\((_static/made/[^)]*)\)")
    texts = (page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    return {DOCS / one for text in texts for one in shown.findall(text)}
