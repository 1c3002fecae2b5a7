"""Best known values of named instances: by solvers, and by enumeration where they are small."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from edgeopt.models.oinc.retraining import RetrainingProblem
    from edgeopt.models.oinc.slot import SlotProblem


ASSIGNMENTS: Final = 20_000
"""Most assignments of the requests of a slot."""

MOST: Final = 12
"""Most jobs: the time grows as three to their number."""


def least_latency(problem: SlotProblem) -> float | None:
    """Return the least weighted sum of latencies, s, without objectives; None if they are too many.

    What an assignment costs is a closed form: Zeng et al., problem (3) without (1a).
    """
    requests, sites = problem.requests, problem.sites
    if sites**requests > ASSIGNMENTS:
        return None
    chosen = np.indices((sites,) * requests).reshape(requests, sites**requests)  # a column each
    sending = np.sqrt(problem.weight[:, None] * problem.transmission)
    computing = np.sqrt(problem.weight[:, None] * problem.computation)
    total = np.zeros(chosen.shape[1])
    for site, room in enumerate(problem.room.tolist()):
        here = chosen == site
        total += (sending[:, site] @ here) ** 2 + (computing[:, site] @ here) ** 2 / room
    return float(total.min())


def least_completion(problem: RetrainingProblem) -> float | None:
    """Return the least sum of completion times, s; None if jobs are too many or weigh differently.

    Weights are left out of the sum.
    """
    jobs, weight = problem.jobs, problem.weight
    if jobs > MOST or (jobs and not (weight == weight[0]).all()):
        return None
    sets = 1 << jobs
    best = np.full(sets, np.inf)
    best[0] = 0.0
    for site in range(problem.sites):
        duration = problem.duration[:, site].tolist()
        arrival = problem.arrival.tolist()
        here = [_alone(arrival, duration, chosen) for chosen in range(sets)]
        before, best = best, best.copy()
        for chosen in range(sets):
            part = chosen
            while part:
                cost = here[part] + before[chosen ^ part]
                if cost < best[chosen]:
                    best[chosen] = cost
                part = (part - 1) & chosen
    return float(best[-1])


def _alone(arrival: list[int], duration: list[float], chosen: int) -> float:
    """Sum the completion times of a set of jobs at one site, least remaining time first."""
    left = {k: duration[k] for k in range(len(arrival)) if chosen >> k & 1}
    total, now = 0.0, 0.0
    coming = sorted(left, key=lambda k: arrival[k])
    while left:
        here = [k for k in left if arrival[k] <= now]
        if not here:
            now = float(min(arrival[k] for k in left))
            continue
        first = min(here, key=lambda k: left[k])
        later = next((arrival[k] for k in coming if arrival[k] > now), np.inf)
        end = now + left[first]
        if end <= later:
            total, now = total + end, end
            del left[first]
        else:
            left[first] -= later - now
            now = float(later)
    return total


ENUMERATED: Final = "assignments and jobs enumerated"
"""Says that the optimum does not rest on a solver alone."""

AUTO: Final = "auto"
"""The project's own way to solve the offline problem of a system."""


@dataclass(frozen=True)
class Problem:
    """The offline problem of a system.

    Parameters
    ----------
    label
        What it is called.
    solve
        ``solve(instance, gap, time_limit)`` is the project's own way.
    by
        ``by(instance, solver, gap, time_limit)`` hands it to a solver; None where none can take it.
    confirm
        ``confirm(instance, found, gap, time_limit)`` solves again by what the first solution did
        not use.
    kind
        What solvers have to take.
    """

    label: str
    solve: Callable[[Any, float, float], Benchmark]
    by: Callable[[Any, str, float, float], Benchmark] | None = None
    confirm: Callable[[Any, Benchmark, float, float], Benchmark] | None = None
    kind: str = "linear program"

    def taken_by(self, competitor: str) -> bool:
        """Tell whether a solver, or the project's own way, takes the problem."""
        from edgeopt.solvers.registry import backends

        takes = [one.name for one in backends() if self.kind in map(str, one.problems)]
        return competitor == AUTO or (self.by is not None and competitor in takes)


def solved(system: str, instance: Any, competitor: str, gap: float, time_limit: float) -> Benchmark:
    """Solve the offline problem of an instance by a solver, or in the project's own way."""
    problem = PROBLEMS[system]
    if competitor == AUTO:
        return problem.solve(instance, gap, time_limit)
    if problem.by is None:
        raise OptionError(f"{competitor}: {problem.label} of {system} is no program for solvers")
    return problem.by(instance, competitor, gap, time_limit)


def _own(system: str, instance: Any, gap: float, limit: float, **options: Any) -> Benchmark:
    """Solve as the record of a system does."""
    solve = import_module(f"edgeopt.studies.{system}.policies").solve
    found: Benchmark = solve(instance, gap=gap, time_limit=limit, **options)
    return found


def _other(found: Benchmark) -> str:
    """Name the method that did not find this: vertices of HiGHS, or an own interior point."""
    return "structured" if found.solver.startswith("highs") else "direct"


def _oinc(instance: Any, gap: float, _limit: float) -> Benchmark:
    """Solve for requests and jobs apart; few of both by enumeration."""
    from edgeopt.models.oinc.retraining import retraining_problem
    from edgeopt.models.oinc.slot import slot_problem
    from edgeopt.studies.oinc.policies import solve

    began = time.perf_counter()
    found = solve(instance, gap=gap)
    least = least_completion(retraining_problem(instance))
    if least is None or not instance.jobs:
        return found
    exact = least * float(instance.weight[0]) / instance.scaled_units[1]
    latency = [least_latency(slot_problem(instance, slot)) for slot in range(instance.slots)]
    every = None not in latency
    inference = found.plan.value.inference
    if every:
        inference = instance.request_weight @ np.array(latency) / instance.scaled_units[0]
    value = float(inference) + exact
    bound = float(found.plan.bound.inference) + exact
    return replace(
        found,
        value=value,
        bound=min(bound, value),
        gap=relative_gap(value, min(bound, value)),
        seconds=time.perf_counter() - began,
        solver=f"{found.solver}, {ENUMERATED if every else 'jobs enumerated'}",
    )


def _tapfinger(instance: Any, gap: float, limit: float, backend: str = "highs") -> Benchmark:
    from edgeopt.models.tapfinger import flow_bound, optimal_schedule, scheduling_problem

    if instance.noise:
        raise OptionError("plans are made for tasks without noise")
    began = time.perf_counter()
    problem = scheduling_problem(instance)
    found = optimal_schedule(problem, gap=gap, time_limit=limit, backend=backend)
    bound = found.bound
    if relative_gap(found.objective, bound) > gap:  # prices may prove more than the search
        least = flow_bound(instance, time_limit=limit / 4.0)
        bound = min(max(bound, least.value), found.objective)
    return Benchmark(
        value=found.objective,
        bound=bound,
        gap=relative_gap(found.objective, bound),
        seconds=time.perf_counter() - began,
        solver=f"branch and bound with {backend}",
        status=found.status.name.lower().replace("_", " "),
        plan=found.schedule,
    )


def _structured(label: str, system: str, **options: Any) -> Problem:
    """Return a linear program that is solved by its structure, or directly by any solver."""

    def own(instance: Any, gap: float, limit: float, **more: Any) -> Benchmark:
        return _own(system, instance, gap, limit, **options, **more)

    return Problem(
        label,
        own,
        lambda one, name, gap, limit: own(one, gap, limit, method="direct", solver=name),
        lambda one, found, gap, limit: own(one, gap, limit, method=_other(found)),
    )


def _edr(instance: Any, gap: float, limit: float, solver: str) -> Benchmark:
    return _own("edr", instance, gap, limit, method="highs", solver=solver)


PROBLEMS: Final[Mapping[str, Problem]] = {
    "rescue": _structured("LP optimum", "rescue", threads=1),
    "idn": _structured("static optimum", "idn"),
    "oinc": Problem("two-part bound", _oinc),
    "edr": Problem(
        "LP optimum",
        partial(_own, "edr"),
        lambda one, name, gap, limit: _edr(one, gap, limit, name),
        lambda one, _, gap, limit: replace(_edr(one, gap, limit, "clarabel"), solver="clarabel"),
    ),
    "tapfinger": Problem(
        "best plan",
        _tapfinger,
        lambda one, name, gap, limit: _tapfinger(one, gap, limit, name),
        lambda one, _, gap, limit: _tapfinger(one, gap, limit, "scip"),
        kind="mixed-integer linear program",
    ),
}
