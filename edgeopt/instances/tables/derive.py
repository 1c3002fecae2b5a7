"""Derive the tables of this folder from the raw files.

Usage: ``python -m edgeopt.instances.tables.derive DATA [OUT]``, where DATA is the folder with the
raw files and OUT the folder that gets the tables (default: this one).
"""

from __future__ import annotations

import sys
from pathlib import Path

from edgeopt.instances.edr import data as edr
from edgeopt.instances.idn import data as idn
from edgeopt.instances.oinc import data as oinc
from edgeopt.instances.rescue import data as rescue
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import data as tapfinger


def derive(data: Path, out: Path = FOLDER) -> None:
    """Read the raw files and write every table."""
    for system in (rescue, idn, edr, oinc, tapfinger):
        system.write_tables(system.measure(data), out)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(f"usage: python -m {__spec__.name} DATA [OUT]")
    derive(*map(Path, sys.argv[1:]))
