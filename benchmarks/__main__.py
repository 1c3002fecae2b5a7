"""`python -m benchmarks`: measure, compare with peers, and keep the figures as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.growth import Growth, grow
from benchmarks.listing import listing
from benchmarks.measure import ONE_THREAD
from benchmarks.picture import write_picture
from benchmarks.registry import BENCHMARKS, find
from benchmarks.report import Report, summary
from benchmarks.run import run
from edgeopt.collection.measures import machine
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.record import Benchmark

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks; return 1 when candidates disagree on an objective."""
    options = _parser().parse_args(arguments)
    try:
        chosen = _chosen(options)
        path = _file(options)
    except (KeyError, ValueError, OSError) as wrong:
        print(wrong if isinstance(wrong, OSError) else wrong.args[0], file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(listing(chosen)))
        return 0

    began = time.perf_counter()
    facts = machine()
    for name, value in facts.items():
        print(f"{name:<14} {value}")
    print(f"{'settings':<14} {_settings(options.smoke)}\n")

    reports: list[Report] = []
    growths: list[Growth] = []
    for benchmark in chosen:
        if not options.growth:
            report = run(benchmark, smoke=options.smoke)
            print("\n".join(report.lines()), end="\n\n", flush=True)
            reports.append(report)
        if benchmark.ladder is not None and not options.smoke:
            growth = grow(benchmark)
            print("\n".join(growth.lines()), end="\n\n", flush=True)
            growths.append(growth)
    if not options.smoke:
        print("\n".join(summary(reports, growths)))
        print(f"measured in {(time.perf_counter() - began) / 60:.1f} minutes")
    if path is not None:
        _keep(path, facts, reports, growths)
    return 0 if all(one.agrees for one in (*reports, *growths)) else 1


def _chosen(options: argparse.Namespace) -> list[Benchmark]:
    if options.smoke and options.growth:
        raise ValueError("--smoke runs one size and --growth several: choose one of them")
    if options.only:
        chosen = [find(name) for name in options.only]
        for benchmark in chosen:
            if options.growth and benchmark.ladder is None:
                raise ValueError(f"{benchmark.name} has no sizes for --growth")
        return chosen
    if options.smoke or options.list:
        return list(BENCHMARKS)
    chosen = [benchmark for benchmark in BENCHMARKS if benchmark.large == options.large]
    return [one for one in chosen if one.ladder is not None] if options.growth else chosen


def _file(options: argparse.Namespace) -> Path | None:
    """Return where the figures go, of which the folder exists."""
    if options.list or (options.smoke and options.json is None):
        return None
    path: Path = options.json or RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; --json needs the name of a file")
    return path


def _keep(path: Path, facts: dict[str, str], reports: list[Report], growths: list[Growth]) -> None:
    document = {
        "machine": facts,
        "benchmarks": [report.record() for report in reports],
        "growth": [growth.record() for growth in growths],
    }
    write_file(path, json.dumps(document, indent=2) + "\n")
    print(f"figures kept in {path}")
    # In a folder next to the file of figures, named like it.
    folder = path.with_suffix("") if path.suffix else path.with_name(path.name + "-pictures")
    for growth in growths:
        write_picture(growth, folder)
    if growths:
        print(f"pictures of cost against size in {folder}")


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
        "--only", action="append", metavar="NAME", help="only this benchmark; may be repeated"
    )
    parser.add_argument("--smoke", action="store_true", help="every benchmark at its smallest size")
    parser.add_argument(
        "--growth", action="store_true", help="only how cost grows with size, not the full size"
    )
    parser.add_argument("--list", action="store_true", help="list them and measure nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep the figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
