"""Work for jobs, in a module of its own so that other processes can import it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from edgeopt.studies.sweeps import Job, run_jobs


def squared(number: int, log: str, seconds: float = 0.0) -> dict[str, float]:
    """Note that the work was done, take a while, and return the square."""
    time.sleep(seconds)
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
        file.flush()
        os.fsync(file.fileno())
    return {"square": float(number * number)}


def jobs(count: int, log: str, seconds: float = 0.0) -> list[Job]:
    """Return jobs that square the first numbers."""
    return [
        Job({"name": "square", "number": number}, squared, (number, log, seconds))
        for number in range(count)
    ]


if __name__ == "__main__":
    run_jobs(jobs(12, sys.argv[2], 0.1), store=sys.argv[1], workers=int(sys.argv[3]))
