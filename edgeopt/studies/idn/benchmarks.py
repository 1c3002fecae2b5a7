"""The offline benchmark of IDN: what no placement that stays the same can exceed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.studies.entries import Benchmark, BenchmarkEntry
from edgeopt.studies.plans import write_plan

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.instances.idn import IdnInstance

__all__ = ["BENCHMARKS", "METHODS", "STATIC", "export", "solve"]

STATIC = "static"
"""Name of the benchmark."""

METHODS = ("auto", "direct", "structured")
"""Ways to solve the linear programme."""


def solve(instance: IdnInstance, **options: Any) -> Benchmark:
    """Bound the gain per request of every static placement, ms."""
    from edgeopt.models.idn import Demand
    from edgeopt.models.idn.cooperative import solve_cooperative

    demand = Demand.of(instance, normalised=True)
    return Benchmark.certified(solve_cooperative(instance, demand, **options))


def export(benchmark: Benchmark, path: Path) -> None:
    """Write the allocation of a solved benchmark to a file."""
    import numpy as np

    share = np.asarray(benchmark.plan.allocation, dtype=float)

    def rows() -> dict[str, Any]:
        node, model = np.nonzero(share)
        return {"node": node, "model": model, "share": share[node, model]}

    def arrays() -> dict[str, Any]:
        long_name = {"long_name": "share of the model that is hosted"}
        return {"share": (("node", "model"), share, long_name)}

    write_plan(benchmark, path, rows=rows, arrays=arrays)


BENCHMARKS = {
    STATIC: BenchmarkEntry(
        "OPT(static)",
        "every placement that stays the same in all slots and keeps every budget; a policy that "
        "moves models, or one whose rounding may exceed a budget, can get past it",
        solve,
    )
}
