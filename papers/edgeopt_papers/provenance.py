"""By which code a stored file was made, and whether the present code makes the same."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import edgeopt
from edgeopt.collection import measures
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAMPS: Final = frozenset({"version", "commit", "seconds"})
"""Entries that say when something was made, not what it is."""

CLOSE: Final = 1e-9
"""Relative difference of two numbers that counts as none; absolute for residuals near 0."""


class Stamp(NamedTuple):
    """The version of edgeopt that made something, and its commit; "" outside a checkout."""

    version: str
    commit: str

    def __str__(self) -> str:
        return f"edgeopt {self.version}" + (f", commit {self.commit}" if self.commit else "")


@cache
def stamp() -> Stamp:
    """Return the stamp of this code, as it was before this process wrote anything."""
    commit = measures.commit()
    return Stamp(edgeopt.__version__, "" if commit == "unknown" else commit)


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield where two JSON documents differ, but for stamps and rounding."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            if name in STAMPS:
                continue
            at = f"{where}.{name}".removeprefix(".")
            if name in old and name in new:
                yield from differences(old[name], new[name], at)
            else:
                yield f"{at} is {'new' if name in new else 'gone'}"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{where}[{place}]")
    elif not _is_same(old, new):
        one, other = (f"{len(x)} entries" if isinstance(x, dict | list) else x for x in (old, new))
        yield f"{where}: {one!r} is now {other!r}"


def _is_same(old: Any, new: Any) -> bool:
    if all(type(one) in (int, float) for one in (old, new)):
        missing = math.isnan(old) and math.isnan(new)
        return missing or math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE)
    return type(old) is type(new) and bool(old == new)


def renew(path: Path, text: str, *, check: bool = False) -> list[str]:
    """Write a JSON document where it differs from the present one, unless to check; return how."""
    present = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = list(differences(present, json.loads(text)))
    if found and not check:
        write_file(path, text)
    return found
