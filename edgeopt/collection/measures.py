"""What is measured of a run, and on which machine."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import numpy as np

from edgeopt.bounds.estimate import Estimate
from edgeopt.bounds.intervals import Spread
from edgeopt.bounds.paired import FEWEST_RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeopt.arrays import Floats


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


FLOOR: Final = 0.01
"""Seconds below which times count as equal: a clock and a cache decide there."""

CONFIDENCE: Final = 0.95
"""Of intervals, and of all that is said of differences in a group together."""

TIE: Final = 1e-9
"""Relative difference up to which two figures count as equal."""


def weights(systems: Sequence[str]) -> Floats:
    """Return the weight of each instance by its system; they sum to 1."""
    count = {name: list(systems).count(name) for name in systems}
    return np.array([1.0 / (len(count) * count[name]) for name in systems])


def ratios(times: Floats) -> Floats:
    """Return each time in terms of the best one of its instance, shape [competitors, instances].

    Infinite for failures, also where all fail.
    """
    raised = np.maximum(times, FLOOR)
    best = raised.min(axis=0, initial=np.inf)
    return np.asarray(raised / np.where(np.isfinite(best), best, 1.0))


class Profile(NamedTuple):
    """The share of instances that a competitor solves within a factor of the best time.

    Attributes
    ----------
    factor
        Factors at which the share grows, ascending, the first one 1.
    share
        Share at each factor and up to the next one, the same for all competitors' factors.
    solved
        Share that is ever solved: the height at which the profile ends.
    """

    factor: Floats
    share: Floats
    solved: float


def profile(times: Floats, weight: Floats) -> list[Profile]:
    """Return the profile of Dolan and More of each competitor (Math. Programming 91, 2002)."""
    found = ratios(times)
    factor = np.unique(np.append(found[np.isfinite(found)], 1.0))
    made = []
    for row in found:
        share = np.array([weight[row <= tau].sum() for tau in factor])
        made.append(Profile(factor, share, float(weight[np.isfinite(row)].sum())))
    return made


def wins(values: Floats, weight: Floats) -> Floats:
    """Return the share of instances on which a row is smaller than a column, ties for neither."""
    one, other = values[:, None], values[None]
    size = np.maximum(np.abs(one), np.abs(other))
    with np.errstate(invalid="ignore"):
        ahead = np.where(np.isfinite(size), other - one > TIE * size, one < other)
    return np.asarray(ahead @ weight)


def shifted_mean(logs: Sequence[float], shift: float) -> list[float]:
    """Turn means of ``ln(time + shift)`` into shifted geometric means."""
    return [float(one) for one in np.exp(logs) - shift]


def log_times(times: Floats, limit: float, shift: float) -> Floats:
    """Return ``ln(time + shift)``; what fails counts with the limit."""
    return np.asarray(np.log(np.where(np.isfinite(times), np.minimum(times, limit), limit) + shift))


def over_instances(values: Floats, systems: Sequence[str]) -> list[Estimate]:
    """Return means over instances as estimates, shape [competitors, instances] given.

    Instances are independent draws within their systems, which weigh the same; differences between
    systems are no noise.
    """
    weight, names = weights(systems), np.array(systems)
    count, strata = names.size, len(set(systems))
    found = []
    for row in values:
        mean = float(row @ weight)
        apart = row.copy()
        for name in set(systems):
            apart[names == name] -= row[names == name].mean()
        runs = mean + count * weight * apart if strata > 1 else row
        degrees = count - strata
        factor = ((count - 1) / degrees) ** 0.5 if degrees > 0 else np.inf
        error = factor * float(runs.std(ddof=1)) / count**0.5 if degrees > 0 else np.nan
        found.append(
            Estimate(mean, error, runs, strata - 1, factor, f"{count} instances", known=False)
        )
    return found


def ends(values: Floats, found: Estimate) -> Spread:
    """Return the interval of a mean over instances; with few of them their range."""
    few = values.size - found.lost < FEWEST_RUNS
    shown = found.spread(CONFIDENCE)
    if few and shown.kind in ("interval", "range"):
        return Spread(found.mean, float(values.min()), float(values.max()), "range", values.size)
    return shown


def gap_row(gaps: Floats, weight: Floats) -> dict[str, float]:
    """Return quartiles, the worst, and shares within 1 % and 5 %; failures have infinite gaps."""
    order = np.argsort(gaps, kind="stable")
    passed = np.cumsum(weight[order])

    def quantile(share: float) -> float:
        place = int(np.searchsorted(passed, share * passed[-1] * (1 - 1e-12)))
        return float(gaps[order[min(place, gaps.size - 1)]])

    return {
        "first quartile": quantile(0.25), "median": quantile(0.5),
        "third quartile": quantile(0.75), "worst": float(gaps.max()),
        "within 1 %": float(weight[gaps <= 0.01].sum()),
        "within 5 %": float(weight[gaps <= 0.05].sum()),
    }  # fmt: skip
