"""The offline benchmark of OINC: inference and retraining apart, each with all CPUs to itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, BenchmarkEntry
from edgeopt.studies.oinc.ledger import Parts
from edgeopt.studies.plans import write_plan
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["APART", "BENCHMARKS", "Apart", "apart", "export", "solve"]

APART = "apart"
"""Name of the benchmark."""

GAP: Final = 1e-3
"""Relative gap at which the search for the bound of a slot stops."""


class Apart(NamedTuple):
    """Inference as if there were no jobs, and retraining as if there were no requests.

    Parameters
    ----------
    value
        Weighted sum of the two plans, which cannot be carried out together.
    bound
        Lower bound on that of any two plans.
    plans
        Plan of every slot, all CPU at its disposal.
    job_site, completion
        Site of every job and when it is complete, s, shape [K].
    """

    value: Parts
    bound: Parts
    plans: tuple[SlotPlan, ...]
    job_site: NDArray[np.int64]
    completion: Floats


def apart(case: Case) -> Parts:
    """Return the bounds on the two parts of the weighted sum of a study."""
    plan: Apart = case.benchmarks[APART].plan
    return plan.bound


def solve(instance: OincInstance, *, gap: float = GAP) -> Benchmark:
    """Bound the weighted sum of every policy that completes all jobs, each at one site."""
    from edgeopt.models.oinc import weighted_sum_bound
    from edgeopt.models.oinc.retraining import retraining_problem
    from edgeopt.models.oinc.slot import slot_problem, solve_slot
    from edgeopt.online.oinc.retraining import run_density

    began = time.perf_counter()
    assert instance.request_weight is not None
    assert instance.weight is not None
    least = weighted_sum_bound(instance, gap=gap)
    plans = tuple(
        solve_slot(slot_problem(instance, slot), objectives=False) for slot in range(instance.slots)
    )
    latency = np.array([plan.objective for plan in plans])
    run = run_density(retraining_problem(instance))
    heavy = instance.weight > 0  # the others may never be complete
    value = Parts(
        np.asarray(instance.request_weight @ latency / instance.latency_scale),
        np.asarray(instance.weight[heavy] @ run.completion[heavy] / instance.completion_scale),
    )
    bound = Parts(np.asarray(least.inference), np.asarray(least.retraining))
    found, proven = float(value.total), float(bound.total)
    return Benchmark(
        value=found,
        bound=proven,
        gap=relative_gap(found, proven),
        seconds=time.perf_counter() - began,
        solver="column generation and HiGHS",
        status=f"{plural(instance.slots, 'slot')} and {plural(instance.jobs, 'job')}",
        plan=Apart(value, bound, plans, run.site, run.completion),
    )


def export(benchmark: Benchmark, path: Path) -> None:
    """Write the plans of a solved benchmark to a file."""
    plan: Apart = benchmark.plan
    sizes = [one.site.size for one in plan.plans]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([np.asarray(getattr(one, name)) for one in plan.plans])

    def rows() -> dict[str, Any]:
        device = [np.asarray(one.problem.device) for one in plan.plans]
        return {
            "slot": np.repeat(np.arange(len(sizes)), sizes),
            "device": np.concatenate(device),
            **{name: joined(name) for name in ("site", "band", "cpu", "latency")},
        }

    def arrays() -> dict[str, Any]:
        units = {"latency": "s"}
        completion = {"long_name": "completion time without requests", "units": "s"}
        return {
            **{
                name: (("request",), values, {"units": units.get(name, "1")})
                for name, values in rows().items()
            },
            "job_site": (("job",), plan.job_site, {"units": "1"}),
            "completion": (("job",), plan.completion, completion),
        }

    write_plan(benchmark, path, rows=rows, arrays=arrays)


BENCHMARKS = {
    APART: BenchmarkEntry(
        "BOUND(apart)",
        "every policy that completes all its jobs, each at one site: it gives all CPUs to the "
        "requests and all of them to the jobs as well, so that no policy reaches it",
        solve,
    ),
}
