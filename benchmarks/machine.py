"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("edgeopt", "numpy", "scipy", "numba", "highspy", "pyomo", "cvxpy", "linopy", "casadi")


def describe() -> dict[str, str]:
    """Return processor, memory, load, system, versions and the commit, as printable text."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "load at start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "absent"
    facts["commit"] = _commit()
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return f"{pages * page / 2**30:.1f} GiB"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
