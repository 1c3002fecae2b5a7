"""Kept jobs that are damaged in every way: computed again, with a word, or right as they are."""

from __future__ import annotations

import json
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.studies.sweeps import Job, Store, StoreWarning
from tests.fuzz import driver
from tests.fuzz.driver import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np

ROW = {"value": 1.5, "name": "a\u00e4", "count": 3, "none": None}
JOB = Job({"policy": "p", "seed": 1}, dict, (ROW,))
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, float("nan"), "", "a", [], [[]], {}, {"a": []}, "\ud800", 10**400,
)  # fmt: skip


def cut(text: bytes, draw: np.random.Generator) -> bytes:
    return text[: int(draw.integers(len(text)))]


def flipped(text: bytes, draw: np.random.Generator) -> bytes:
    place = int(draw.integers(len(text)))
    return text[:place] + bytes([text[place] ^ (1 << int(draw.integers(8)))]) + text[place + 1 :]


def inserted(text: bytes, draw: np.random.Generator) -> bytes:
    place = int(draw.integers(len(text)))
    return text[:place] + draw.bytes(int(draw.integers(1, 9))) + text[place:]


def doubled(text: bytes, draw: np.random.Generator) -> bytes:
    return text + text[int(draw.integers(len(text))) :]


def without(text: bytes, draw: np.random.Generator) -> bytes:
    kept = json.loads(text)
    del kept[list(kept)[int(draw.integers(len(kept)))]]
    return json.dumps(kept).encode()


def exchanged(text: bytes, draw: np.random.Generator) -> bytes:
    kept = json.loads(text)
    kept[list(kept)[int(draw.integers(len(kept)))]] = VALUES[int(draw.integers(len(VALUES)))]
    return written(kept)


def row_exchanged(text: bytes, draw: np.random.Generator) -> bytes:
    kept = json.loads(text)
    kept["row"] = VALUES[int(draw.integers(len(VALUES)))]
    return written(kept)


def written(kept: Any) -> bytes:
    # A number of 401 digits is fine, one of 5000 is not.
    return json.dumps(kept).replace(str(10**400), "1" * 5000).encode()


def deep(text: bytes, draw: np.random.Generator) -> bytes:
    depth = int(draw.choice([10, 500, 980, 995, 1000, 5000, 10**6]))
    inside = b"[" * depth + b"]" * depth
    return draw.choice([inside, text.replace(b"1.5", inside), b'{"row":' * depth])


def other(text: bytes, draw: np.random.Generator) -> bytes:
    texts = [
        b"", b"null", b"3", b"[]", b"{}", b'"a"', b"\xff\xfe", b"\xef\xbb\xbf" + text, b"\0" * 100,
        text.decode().encode("utf-16"), text.replace(b"\n", b"\r\n"), b"9" * 10**5, b"NaN",
        b" " * (2**26 + 1),
    ]  # fmt: skip
    return texts[int(draw.integers(len(texts)))]


WAYS: tuple[Callable[..., bytes], ...] = (
    cut, flipped, flipped, inserted, doubled, without, exchanged, row_exchanged, deep, other,
)  # fmt: skip


def read(folder: Path, damaged: bytes) -> Any:
    """Return what a damaged job is read as, and what was said of it."""
    store = Store(folder)
    store.path(JOB).write_bytes(damaged)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        row = store.get(JOB)
    return row, [(one.category, str(one.message)) for one in told]


def sound(found: Any) -> bool:
    """Tell whether a job is right, or left alone with one line that says so."""
    row, told = found
    if row is not None:
        return bool(row == ROW) and not told
    [(category, message)] = told
    return category is StoreWarning and message.endswith("computed again") and "\n" not in message


def cases(folder: Path, draw: np.random.Generator, count: int) -> Iterator[Case]:
    store = Store(folder)
    store.put(JOB, ROW)
    text = store.path(JOB).read_bytes()
    for _ in range(count):
        way = WAYS[int(draw.integers(len(WAYS)))]
        damaged = way(text, draw)
        label = f"a job {way.__name__}: {damaged[:120]!r}, {len(damaged)} bytes"
        yield Case(label, partial(read, folder, damaged), right=sound)


def test_jobs(tmp_path):
    driver.check(cases(tmp_path / "store", driver.source("jobs"), driver.count("jobs")))
