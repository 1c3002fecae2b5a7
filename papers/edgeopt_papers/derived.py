"""Files of the package that are computed: by which code they were made, and whether it still does.

``python -m edgeopt_papers.derived`` makes verdicts and tuned options anew, and writes the files
that differ; with ``--check`` it writes nothing, and a difference is an error. A file of the same
numbers keeps the version and the commit that made it. ``python -m edgeopt_papers.derived tightest``
searches for instances on which loose claims are less so; the verdicts then follow from a new run.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from edgeopt_papers.claims import stored as verdicts
from edgeopt_papers.claims import tightest
from edgeopt_papers.provenance import renew, stamp
from edgeopt_papers.tuning import stored as tuned

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN: Final = 10
"""Most differences of a file that are listed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make verdicts and tuned options anew, and list what differs; return the exit code."""
    usual = {"verdicts": verdicts.documents, "tuned": tuned.documents}
    kinds = {**usual, "tightest": tightest.documents}
    parser = argparse.ArgumentParser(
        prog="python -m edgeopt_papers.derived", description=main.__doc__
    )
    parser.add_argument(
        "kinds", nargs="*", help="verdicts, tuned or tightest; the first two by default"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds) - set(kinds):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(kinds)}")
    stamp()
    differ = False
    for kind in given.kinds or usual:
        for path, text in kinds[kind]():
            found = renew(path, text, check=given.check)
            differ = differ or bool(found)
            print(f"{kind}, {path.stem}: {f'{len(found)} differences' if found else 'the same'}")
            for one in found[:SHOWN]:
                print(f"  {one}")
    return int(differ and given.check)


if __name__ == "__main__":
    sys.exit(main())
