"""``python docs/fill [PAGE ...] [--check]``: make what pages show anew, or list what differs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from fill.markdown import DOCS, MADE  # noqa: E402 - the folder of the package comes first
from fill.regions import filled, pictures  # noqa: E402


def main() -> int:
    """Fill pages, and return how many of them differ."""
    parser = argparse.ArgumentParser(prog="docs/fill", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all, if none is named")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if any differs"
    )
    given = parser.parse_args()
    differ = 0
    for page in given.pages or sorted(DOCS.glob("*.md")):
        old = page.read_text(encoding="utf-8")
        new = filled(old, page.name, tell=True, keep=given.check)
        differ += new != old
        if new != old and not given.check:
            page.write_text(new, encoding="utf-8")
        print(f"{page.name}: {'differs' if new != old else 'as it was'}", flush=True)
    if not given.pages and not given.check:
        for left in set(MADE.iterdir()) - pictures():
            left.unlink()
    return min(differ, 1) if given.check else 0


sys.exit(main())
