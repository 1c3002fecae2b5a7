"""Time and memory of one candidate, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from edgeopt.collection.measures import timed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.record import Benchmark

ONE_THREAD = {
    name: "1"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
}
ROOT = Path(__file__).parents[1]
KIB_PER_GIB = 2**20
GRACE = 120.0
"""Seconds past its time limit, set-up included, after which a peer is ended from outside."""


@dataclass(frozen=True)
class Measurement:
    """What a candidate needed and reached.

    Parameters
    ----------
    candidate
        Its name.
    seconds
        One entry per timed call.
    memory
        Peak of the whole process in GiB; 0 where it shared the process with others.
    objective, gap, work
        Of the last call.
    finished
        False when a time limit ended any call; its seconds are then a lower bound.
    phases
        Seconds of the parts of each call that are told apart, by name.
    """

    candidate: str
    seconds: tuple[float, ...]
    memory: float = 0.0
    objective: float | None = None
    gap: float | None = None
    work: float | None = None
    finished: bool = True
    phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def rate(self) -> float | None:
        return None if self.work is None else self.work / self.median


def measure(
    benchmark: Benchmark, size: str, candidate: str, *, repeats: int, time_limit: float | None
) -> Measurement:
    """Time `candidate` in this process."""
    call = benchmark.build(benchmark.sizes[size], candidate)
    found = timed(
        lambda: call(time_limit),
        repeats=repeats,
        warm=benchmark.warms(candidate),
        processor=benchmark.processor,
        proceed=lambda reading: reading.finished,
    )
    phases: dict[str, list[float]] = {}
    for one in found.results:
        for name, part in one.phases.items():
            phases.setdefault(name, []).append(part)
    reading = found.last
    return Measurement(
        candidate=candidate,
        seconds=found.seconds,
        objective=reading.objective,
        gap=reading.gap,
        work=reading.work,
        finished=reading.finished,
        phases={name: tuple(parts) for name, parts in phases.items()},
    )


def measure_apart(
    benchmark: Benchmark, size: str, candidate: str, *, repeats: int, time_limit: float | None
) -> Measurement:
    """Time `candidate` in a fresh process on one thread, so that its peak memory is its own."""
    limit = "none" if time_limit is None else str(time_limit)
    command = [sys.executable, "-m", "benchmarks.measure"]
    command += [benchmark.name, size, candidate, str(repeats), limit]
    patience = None
    if time_limit is not None and candidate != benchmark.subject:
        patience = time_limit * (repeats + benchmark.warms(candidate)) + GRACE
    try:
        done = subprocess.run(
            command,
            env=environment(benchmark),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            timeout=patience,
            check=True,
        )
    except subprocess.TimeoutExpired as late:
        return Measurement(candidate, (float(late.timeout),), finished=False)
    fields = json.loads(done.stdout.splitlines()[-1])
    fields["phases"] = {name: tuple(parts) for name, parts in fields["phases"].items()}
    return Measurement(**(fields | {"seconds": tuple(fields["seconds"])}))


def environment(benchmark: Benchmark) -> dict[str, str]:
    """Return the environment of a process that measures."""
    return os.environ | ONE_THREAD | dict(benchmark.settings)


def main(arguments: Sequence[str]) -> None:
    """Measure what the arguments name and print the measurement as JSON on the last line."""
    from benchmarks.registry import find

    name, size, candidate, repeats, limit = arguments
    result = measure(
        find(name),
        size,
        candidate,
        repeats=int(repeats),
        time_limit=None if limit == "none" else float(limit),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_GIB
    print(json.dumps(asdict(result) | {"memory": peak}))


if __name__ == "__main__":
    main(sys.argv[1:])
