"""The log of a session: JSON lines, each with a digest of itself and of all lines before it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT: Final = 1
"""Version of the format, in the first line."""

_DIGEST: Final = re.compile(r',"digest":"([0-9a-f]{16})"\}$')

_HOW: Final = {"problem", "seconds", "path", "iterations", "prices", "duals"}
"""Fields that say how a decision was found, not what it is."""


def as_json(value: Any) -> Any:
    """Return what JSON can hold: NaN as null, infinity as text, matrices of bools as places."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if np.isfinite(value):
            return float(value)
        return None if np.isnan(value) else str(value)
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, np.ndarray):
        if value.dtype == np.bool_ and value.ndim == 2:
            return np.flatnonzero(value).tolist()
        return as_json(value.tolist())
    if hasattr(value, "_asdict"):
        return as_json(value._asdict())
    if is_dataclass(value):
        names = [one.name for one in fields(value) if one.name not in _HOW]
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    raise OptionError(f"a log holds numbers, texts and arrays, no {type(value).__name__}")


class Written(NamedTuple):
    """A line with its digest, and the digest by itself."""

    line: str
    digest: str


def written(row: dict[str, Any], before: str) -> Written:
    """Write a row as the line that follows the one of digest `before`, which is empty at first."""
    body = json.dumps(row, separators=(",", ":"), allow_nan=False)[:-1]
    digest = hashlib.sha256((before + body).encode()).hexdigest()[:16]
    return Written(f'{body},"digest":"{digest}"}}', digest)


def read_log(lines: Iterable[str] | str) -> tuple[list[dict[str, Any]], str]:
    """Check every line against its digest; return the rows, and the digest of the last one.

    Of a last line that a process that was killed has left unfinished nobody has seen the decision:
    it is left out.
    """
    listed = lines.split("\n") if isinstance(lines, str) else lines
    texts = [line.rstrip("\r\n") for line in listed]
    while texts and not texts[-1]:
        del texts[-1]
    rows: list[dict[str, Any]] = []
    digest = ""
    for number, text in enumerate(texts, 1):
        found = _DIGEST.search(text)
        if found is None and number == len(texts) and not _complete(text):
            break
        body = text[: found.start()] if found else text
        expected = hashlib.sha256((digest + body).encode()).hexdigest()[:16]
        if found is None or found[1] != expected:
            raise OptionError(f"log, line {number}: it, or a line before it, has been changed")
        digest = expected
        rows.append(json.loads(body + "}"))
    if not rows:
        raise OptionError("log: it has no whole line; begin a new session")
    return rows, digest


def _complete(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True
