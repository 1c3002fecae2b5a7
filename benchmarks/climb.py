"""One candidate up the ladder of sizes, in a process of its own.

The process tells of every call as soon as it is over, so that what it measured stays when a later
call takes too long and the process is ended from outside.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

from benchmarks.measure import GRACE, ROOT, Measurement, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.record import Benchmark

__all__ = ["climb", "steps"]

CALLS = 7
"""Timed calls at one size, where they are short."""

BUDGET = 0.5
"""Seconds after which no further call is timed at a size."""


def steps(benchmark: Benchmark, candidate: str) -> Iterator[dict[str, Any]]:
    """Time `candidate` size by size in this process; yield each call as it ends.

    An entry without seconds tells that a size is built and its first call begins.
    """
    ladder = benchmark.ladder
    assert ladder is not None
    for rung, (_, size) in enumerate(ladder.rungs):
        call = benchmark.build(size, candidate)
        yield {"rung": rung}
        if rung == 0:
            # Compilation and imports are over after the smallest size.
            call(ladder.limit)
        spent = 0.0
        for _ in range(CALLS):
            start = time.perf_counter()
            reading = call(ladder.limit)
            seconds = time.perf_counter() - start
            yield {
                "rung": rung,
                "seconds": seconds,
                "objective": reading.objective,
                "finished": reading.finished and seconds <= ladder.limit,
                "phases": dict(reading.phases),
            }
            spent += seconds
            if spent + seconds > BUDGET or not reading.finished:
                break
        if spent > ladder.limit or not reading.finished:
            return


def climb(
    benchmark: Benchmark, candidate: str, *, command: Sequence[str] | None = None
) -> tuple[Measurement, ...]:
    """Time `candidate` at one size after the other, as far as it gets within the limit of a call.

    Parameters
    ----------
    benchmark, candidate
        What to time.
    command
        What to run instead of this module; it prints the same lines.

    Returns
    -------
    One measurement per size that was tried; the last one may be unfinished.
    """
    ladder = benchmark.ladder
    assert ladder is not None
    if command is None:
        command = [sys.executable, "-m", "benchmarks.climb", benchmark.name, candidate]
    calls: dict[int, list[dict[str, Any]]] = {}
    process = subprocess.Popen(
        command, env=environment(benchmark), cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
    late = False
    try:
        patience = GRACE
        while (line := lines.get(timeout=patience)) is not None:
            # Other lines may come from libraries that greet.
            if not line.startswith('{"rung"'):
                continue
            entry = json.loads(line)
            taken = calls.setdefault(entry["rung"], [])
            if "seconds" in entry:
                taken.append(entry)
            # The first size is called once more, untimed, and may compile; building takes time too.
            patience = GRACE if taken or entry["rung"] == 0 else ladder.limit
    except queue.Empty:
        late = True
    finally:
        process.kill()
        status = process.wait()
    if not late and status != 0:
        raise RuntimeError(f"{benchmark.name}: {candidate} failed on its ladder")
    return tuple(_measurement(candidate, taken, ladder.limit) for taken in calls.values())


def _pass_on(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _measurement(candidate: str, calls: list[dict[str, Any]], limit: float) -> Measurement:
    """Put the calls at one size together; a size without any was ended at the limit."""
    if not calls:
        return Measurement(candidate, (limit,), finished=False)
    names = calls[0]["phases"]
    return Measurement(
        candidate,
        seconds=tuple(one["seconds"] for one in calls),
        objective=calls[-1]["objective"],
        finished=all(one["finished"] for one in calls),
        phases={name: tuple(one["phases"][name] for one in calls) for name in names},
    )


def main(arguments: Sequence[str]) -> None:
    """Time the candidate that the arguments name; print every call as a line of JSON."""
    from benchmarks.registry import find

    name, candidate = arguments
    for entry in steps(find(name), candidate):
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
