"""Hold solvers against a folder of programs whose optima are known.

``python -m edgeopt.testing.programs DIR --solver highs scip --set netlib --json FILE`` prints a
table, and every program that is not proven. Its exit code is 1 if anything false was claimed as
proven or a foreign exception was raised, 2 if it could not begin.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from edgeopt.errors import EdgeOptError
from edgeopt.testing.verdicts import check_programs
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m edgeopt.testing.programs", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", help="folder with optima.csv and a folder for each set")
    parser.add_argument("--solver", nargs="+", help="backends; edgeopt's choice by default")
    parser.add_argument("--set", nargs="+", dest="sets", help="sets; all by default")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each program")
    parser.add_argument("--json", help="file for the whole report")
    given = parser.parse_args(arguments)
    try:
        report = check_programs(
            given.folder, given.solver, sets=given.sets, time_limit=given.time_limit
        )
        print(report)
        if given.json:
            write_file(given.json, text_of(report.to_dict()))
    except EdgeOptError as error:
        parser.error(str(error))
    return int(bool(report.failed))


def text_of(document: Mapping[str, Any]) -> str:
    """Return the JSON of a report, with one line for each row and program."""
    parts = []
    for name, value in document.items():
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if isinstance(value, list):
            rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in value)
            text = "[\n  " + ",\n  ".join(rows) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main())
