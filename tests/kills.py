"""Kill runs at random moments and hold what the next run makes of them to an unkilled run.

``python -m tests.kills --moments 100`` kills `reproduce`, `check`, `study --draws` and `bench` in
turn, with one worker or two; four moments are a test of the suite. Runs are forked from a process
that has imported everything, so that the moments fall on the work and not on the imports.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import random
import signal
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from edgeopt.cli.main import run
from edgeopt.studies import Source
from tests.studies.stopping import SYSTEM, Offers

DRAWN = dataclasses.replace(
    SYSTEM,
    instances=dataclasses.replace(
        SYSTEM.instances,
        sources={"drawn": Source(lambda rng: Offers(5 + rng), "by the seed", seeded=True)},
    ),
    reporting=dataclasses.replace(SYSTEM.reporting, pictures=SYSTEM.reporting.pictures[:1]),
)
COMMANDS = {
    "reproduce": ["reproduce", "idn", "--table", "II", "--quick"],
    "check": ["check", "tapfinger.equation5*"],
    "study": ["study", "stopping", "--draws", "2", "--runs", "20"],
    "bench": [
        "bench",
        "--online",
        "min,tiresias*,random,srs",
        "--runs",
        "20",
        "--set",
        "tapfinger-odd-c1-n7,tapfinger-tight-c2-n8,rescue-odd-k1-t50",
    ],
}
COMPARED = {
    "reproduce": ["table-ii.csv", "published.csv", "reproduction.json"],
    "check": ["claims.json"],
    "study": ["table.csv", "slots.csv", "over_all.csv", "study.json"],
    "bench": ["results.csv"],
}
TIMES = ("seconds", "decision_us", "workers")
"""Parts of the names of figures that measure time, or say how it was spent."""


def offered(folder: Path) -> None:
    """Install a package that offers the system of `study`, for this process and its children."""
    metadata = folder / "sixth-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sixth\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[edgeopt.systems]\nstopping = tests.kills:DRAWN\n")
    sys.path.insert(0, str(folder))


def begin(name: str, out: Path, workers: int) -> int:
    """Fork a run of a command, the leader of its own group, and return its number."""
    process = os.fork()
    if process == 0:
        _carry_out([*COMMANDS[name], "--workers", str(workers), "--out", str(out)])
    with contextlib.suppress(OSError):  # whichever of both comes first
        os.setpgid(process, process)
    return process


def _carry_out(command: list[str]) -> NoReturn:
    os.setpgid(0, 0)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    code = 70
    try:
        code = run(command)
    finally:
        os._exit(code)


def ended(process: int) -> int:
    """Wait for a run, and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed(name: str, out: Path, workers: int, after: float) -> bool:
    """Begin a run, kill it with its workers after so many seconds; return whether it still ran."""
    process = begin(name, out, workers)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    return ended(process) == -signal.SIGKILL


def outcome(name: str, out: Path) -> dict[str, Any]:
    """Return what the files of a finished run say, without what measures time."""
    found: dict[str, Any] = {}
    for file in COMPARED[name]:
        if file.endswith(".csv"):
            table = pd.read_csv(out / file)
            kept = [column for column in table if not any(one in column for one in TIMES)]
            found[file] = table[kept].to_csv(index=False)
        else:
            found[file] = _timeless(json.loads((out / file).read_text(encoding="utf-8")))
    return found


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        return {
            name: _timeless(value)
            for name, value in content.items()
            if not any(one in name for one in TIMES)
        }
    return [_timeless(one) for one in content] if isinstance(content, list) else content


def faults(name: str, out: Path, workers: int, expected: dict[str, Any]) -> list[str]:
    """Run a killed command again, and return what is wrong then."""
    kept = {path: path.stat().st_mtime_ns for path in (out / "jobs").glob("*.json")}
    code = ended(begin(name, out, workers))
    if code != 0:
        return [f"the next run ended with {code}"]
    wrong = [
        f"{file} differs" for file, said in outcome(name, out).items() if said != expected[file]
    ]
    wrong += [
        f"finished job {path.name} was lost or computed again"
        for path, moment in kept.items()
        if not path.exists() or path.stat().st_mtime_ns != moment
    ]
    return wrong + [f"draft {path.name} is left" for path in out.rglob(".edgeopt-draft-*")]


def kill_at_random(moments: int, seed: int) -> tuple[int, int, list[str]]:
    """Kill runs; return how many still ran then, how many had left jobs, and what was wrong."""
    drawn = random.Random(seed)
    alive, begun, wrong = 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        offered(folder)

        @cache
        def unkilled(name: str, workers: int) -> tuple[dict[str, Any], float]:
            out = folder / f"{name}-{workers}"
            began = time.perf_counter()
            assert ended(begin(name, out, workers)) == 0, name
            return outcome(name, out), time.perf_counter() - began

        for moment in range(moments):
            name = list(COMMANDS)[moment % len(COMMANDS)]
            # Two workers take longer to start than the work takes: one moment in ten is theirs.
            workers = 2 if moment % 10 == 9 else 1
            out = folder / str(moment)
            expected, length = unkilled(name, workers)
            after = length * drawn.random()
            alive += killed(name, out, workers, after)
            begun += out.exists()
            found = faults(name, out, workers, expected)
            where = f"{name}, {workers} workers, after {after:.2f} s"
            wrong += [f"{where}: {one}" for one in found]
            print(f"{moment + 1}. {where}: {'; '.join(found) or 'made good'}", flush=True)
    return alive, begun, wrong


def main() -> int:
    """Run as a program; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Kill runs of edgeopt at random moments.")
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Imported here, children find it there.
    import edgeopt_papers.figures.report  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import scipy.optimize  # noqa: F401
    import xarray  # noqa: F401

    alive, begun, wrong = kill_at_random(options.moments, options.seed)
    print(
        f"{options.moments} moments: {alive} runs were killed, {begun} of all had begun to write; "
        f"{len(wrong)} faults"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
