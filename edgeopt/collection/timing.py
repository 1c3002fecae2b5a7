"""What a comparison of speed needs: calls that are timed alike, and the machine they ran on."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")

PACKAGES: Final = (
    "edgeopt", "numpy", "scipy", "numba", "highspy", "pyomo", "cvxpy", "linopy", "casadi",
)  # fmt: skip


class Timed(NamedTuple, Generic[_Result]):
    """Seconds of each timed call, and what each returned."""

    seconds: tuple[float, ...]
    results: tuple[_Result, ...]

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return statistics.median(self.seconds)

    @property
    def last(self) -> _Result:
        """What the last call returned."""
        return self.results[-1]


def timed(
    call: Callable[[], _Result],
    *,
    repeats: int = 1,
    warm: bool = False,
    processor: bool = True,
    proceed: Callable[[_Result], bool] = lambda _: True,
) -> Timed[_Result]:
    """Time calls, by the processor or by the clock, after one that warms up if wanted.

    They end early after a result with which not to proceed.
    """
    clock = time.process_time if processor else time.perf_counter
    if warm:
        call()
    seconds, results = [], []
    for _ in range(repeats):
        began = clock()
        results.append(call())
        seconds.append(clock() - began)
        if not proceed(results[-1]):
            break
    return Timed(tuple(seconds), tuple(results))


def machine() -> dict[str, str]:
    """Return processor, memory, load, system, versions and the commit, as printable text."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "load at start": " ".join(f"{load:.2f}" for load in _loads()),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "absent"
    facts["commit"] = commit()
    return facts


def _loads() -> tuple[float, ...]:
    return os.getloadavg() if hasattr(os, "getloadavg") else ()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def commit(folder: Path = Path(__file__).parents[2]) -> str:
    """Return the commit of a checkout; "unknown" where its sources are not in one of its own."""
    command = ["git", "describe", "--always", "--dirty"]
    if not (folder / ".git").exists():
        return "unknown"
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
