"""Files of the package that are computed: by which code they were made, and whether it still does.

``python -m edgeopt_papers.derived`` makes verdicts and tuned options anew, and writes the files
that differ; with ``--check`` it writes nothing, and a difference is an error. A file of the same
numbers keeps the version and the commit that made it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import edgeopt
from edgeopt.collection import timing
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STAMPS: Final = frozenset({"version", "commit", "seconds"})
"""Entries that say when something was made, not what it is."""

CLOSE: Final = 1e-9
"""Relative difference of two numbers that counts as none; absolute for residuals near 0."""

SHOWN: Final = 10
"""Most differences of a file that are listed."""


class Stamp(NamedTuple):
    """The version of edgeopt that made something, and its commit; "" outside a checkout."""

    version: str
    commit: str

    def __str__(self) -> str:
        return f"edgeopt {self.version}" + (f", commit {self.commit}" if self.commit else "")


@cache
def stamp() -> Stamp:
    """Return the stamp of this code, as it was before this process wrote anything."""
    commit = timing.commit()
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Make verdicts and tuned options anew, and list what differs; return the exit code."""
    from edgeopt_papers.claims import stored as verdicts
    from edgeopt_papers.tuning import stored as tuned

    kinds = {"verdicts": verdicts.documents, "tuned": tuned.documents}
    parser = argparse.ArgumentParser(
        prog="python -m edgeopt_papers.derived", description=main.__doc__
    )
    parser.add_argument("kinds", nargs="*", help="verdicts, tuned; by default both")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds) - set(kinds):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(kinds)}")
    stamp()
    differ = False
    for kind in given.kinds or kinds:
        for path, text in kinds[kind]():
            found = renew(path, text, check=given.check)
            differ = differ or bool(found)
            print(f"{kind}, {path.stem}: {f'{len(found)} differences' if found else 'the same'}")
            for one in found[:SHOWN]:
                print(f"  {one}")
    return int(differ and given.check)


if __name__ == "__main__":
    sys.exit(main())
