"""`python -m benchmarks`: measure, print each figure beside its peer, keep the figures as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.machine import describe
from benchmarks.measure import ONE_THREAD
from benchmarks.registry import BENCHMARKS, find
from benchmarks.report import Report, summary
from benchmarks.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks; return 1 when candidates disagree on an objective."""
    options = _parser().parse_args(arguments)
    try:
        chosen = [find(name) for name in options.only] if options.only else list(BENCHMARKS)
    except KeyError as unknown:
        print(unknown.args[0], file=sys.stderr)
        return 2
    if not options.only and not options.smoke:
        chosen = [benchmark for benchmark in chosen if benchmark.large == options.large]

    machine = describe()
    for name, value in machine.items():
        print(f"{name:<14} {value}")
    print(f"{'settings':<14} {_settings(options.smoke)}\n")

    reports: list[Report] = []
    for benchmark in chosen:
        report = run(benchmark, smoke=options.smoke)
        print("\n".join(report.lines()), end="\n\n", flush=True)
        reports.append(report)
    if not options.smoke:
        print("\n".join(summary(reports)))
    if options.json or not options.smoke:
        path = options.json or RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": machine, "benchmarks": [report.record() for report in reports]}
        path.write_text(json.dumps(document, indent=2) + "\n")
        print(f"figures kept in {path}")
    return 0 if all(report.agrees for report in reports) else 1


def _settings(smoke: bool) -> str:
    if smoke:
        return "smoke run: smallest sizes, one call each; the figures mean nothing"
    return "a process per candidate, " + ", ".join(f"{k}={v}" for k, v in ONE_THREAD.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--large", action="store_true", help="the large sizes instead of the usual ones"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="just this one; may be repeated"
    )
    parser.add_argument("--smoke", action="store_true", help="every benchmark at its smallest size")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
