"""The offline benchmarks of RESCUE: one linear programme, and two whose bound reaches others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.studies.entries import Benchmark, BenchmarkEntry
from edgeopt.studies.plans import write_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.instances.rescue import RescueInstance

__all__ = [
    "BENCHMARKS",
    "FREE",
    "METHODS",
    "PLAIN",
    "SAFE",
    "bound_of",
    "export",
    "solve",
]

PLAIN, SAFE, FREE = "lp", "lp_safe", "lp_free"
"""Names of the benchmarks."""

METHODS = ("auto", "direct", "columns", "structured")
"""Ways to solve the linear programme."""


def solve(instance: RescueInstance, **options: Any) -> Benchmark:
    """Solve P1-LP with its reserved tasks."""
    from edgeopt.models.rescue import solve_p1_lp

    return Benchmark.certified(solve_p1_lp(instance, **options))


def _safe(instance: RescueInstance) -> Benchmark:
    return solve(instance, forbid_unsafe=True)


def _free(instance: RescueInstance) -> Benchmark:
    from edgeopt.instances.rescue import ReservedTasks

    return solve(instance.replace(reserved=ReservedTasks.none()))


def bound_of(policy: Any) -> str:
    """Name the benchmark that bounds a policy: the safe one only if it says that it is guarded."""
    return SAFE if getattr(policy, "guarded", False) else FREE


def export(benchmark: Benchmark, path: Path) -> None:
    """Write a plan to a file."""
    import numpy as np
    from scipy import sparse

    plan = benchmark.plan
    T, J = plan.duals.arrival.shape
    K = plan.duals.occupancy.shape[0]

    def rows() -> dict[str, Any]:
        cells = sparse.coo_array(plan.y if sparse.issparse(plan.y) else plan.y.reshape(T * J, -1))
        L = cells.shape[1] // K
        row, column = (np.asarray(index) for index in cells.coords)
        return {
            "slot": row // J,
            "device": row % J,
            "server": column // L,
            "profile": column % L,
            "probability": cells.data,
        }

    def arrays() -> dict[str, Any]:
        return {
            **{name: ("cell", values) for name, values in rows().items()},
            "service": (("task", "slot"), plan.x, {"long_name": "share of a slot's capacity"}),
            "arrival_dual": (("slot", "device"), plan.duals.arrival),
            "occupancy_dual": (("server", "slot"), plan.duals.occupancy),
            "reserved_dual": (("task",), plan.duals.reserved),
        }

    write_plan(benchmark, path, rows=rows, arrays=arrays)


BENCHMARKS = {
    PLAIN: BenchmarkEntry(
        "OPT(LP)",
        "the expected profit of every policy that meets its reserved tasks, though not of one that "
        "lets some fail",
        solve,
    ),
    SAFE: BenchmarkEntry(
        "OPT(LP), safe cells",
        "every policy that never lets a reserved task fail",
        _safe,
    ),
    FREE: BenchmarkEntry(
        "OPT(LP), no reserved tasks",
        "every policy, whatever becomes of the reserved tasks",
        _free,
    ),
}
