"""The offline benchmark of IDN: what no placement that stays the same can exceed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.studies.entries import Benchmark, BenchmarkEntry

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.instances.idn import IdnInstance

__all__ = ["BENCHMARKS", "METHODS", "STATIC", "SUFFIXES", "export", "solve"]

STATIC = "static"
"""Name of the benchmark."""

METHODS = ("auto", "direct", "structured")
"""Ways to solve the linear programme."""

SUFFIXES = (".csv", ".nc")
"""Kinds of file that an allocation is written to."""


def solve(instance: IdnInstance, **options: Any) -> Benchmark:
    """Bound the gain per request of every static placement, ms.

    Parameters
    ----------
    instance
        The instance.
    **options
        Passed to :func:`edgeopt.models.idn.cooperative.solve_cooperative`.
    """
    from edgeopt.models.idn import Demand
    from edgeopt.models.idn.cooperative import solve_cooperative

    demand = Demand.of(instance, normalised=True)
    plan = solve_cooperative(instance, demand, **options)
    return Benchmark(
        value=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        seconds=sum(plan.seconds),
        solver=f"{plan.solver} {plan.solution.version}".strip(),
        status=f"{_word(plan.status)}, {_word(plan.quality)}",
        plan=plan,
    )


def _word(kind: Any) -> str:
    return str(kind.name).lower().replace("_", " ")


def export(benchmark: Benchmark, path: Path) -> None:
    """Write the allocation of a solved benchmark to a file.

    Parameters
    ----------
    benchmark
        A solved benchmark.
    path
        ``.csv`` lists what is hosted: node, model and the share of the model. ``.nc`` holds the
        whole allocation as a labelled array.

    Raises
    ------
    OptionError
        If the suffix is another one.
    """
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path}: write a plan to a file that ends in {' or '.join(SUFFIXES)}")
    import numpy as np
    import pandas as pd

    share = np.asarray(benchmark.plan.allocation, dtype=float)
    if path.suffix == ".csv":
        node, model = np.nonzero(share)
        used = {"node": node, "model": model, "share": share[node, model]}
        pd.DataFrame(used).to_csv(path, index=False)
        return
    import xarray as xr

    xr.Dataset(
        {"share": (("node", "model"), share, {"long_name": "share of the model that is hosted"})},
        attrs=benchmark.record(),
    ).to_netcdf(path, engine="h5netcdf")


BENCHMARKS = {
    STATIC: BenchmarkEntry(
        "OPT(static)",
        "every placement that stays the same in all slots and keeps every budget; a policy that "
        "moves models, or one whose rounding may exceed a budget, can get past it",
        solve,
    )
}
