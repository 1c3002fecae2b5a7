"""Does the compiled program of TapFinger spare its users the time of the modelling layer?

Every candidate ends with the matrix that a solver reads, all starts of tasks among its columns. The
model in linopy is written as its users write networks: one variable per start in a table, and terms
gathered by what they have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.models.tapfinger.problem import SchedulingProblem


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.tapfinger import generate
    from edgeopt.models.tapfinger import list_schedule, scheduling_problem

    problem = scheduling_problem(generate(**size))
    slots = int(list_schedule(problem).completion(problem).max())

    def call(_: float | None) -> Reading:
        watch = Stopwatch()
        WAYS[candidate](problem, slots, watch)
        return Reading(phases=watch.phases)

    return call


def compiled(problem: SchedulingProblem, slots: int, watch: Stopwatch) -> None:
    from edgeopt.models.tapfinger import start_matrix

    with watch("matrix"):
        start_matrix(problem, horizon=slots)


def pyomo(problem: SchedulingProblem, slots: int, watch: Stopwatch) -> None:
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    from edgeopt.models.tapfinger import start_program

    with watch("model"):
        model = start_program(problem, horizon=slots)
    with watch("matrix"):
        LinearStandardFormCompiler().write(model, mixed_form=True)


def linopy(problem: SchedulingProblem, slots: int, watch: Stopwatch) -> None:
    with watch("model"):
        model = in_linopy(problem, slots)
    with watch("matrix"):
        matrices = model.matrices
        _ = matrices.A, matrices.b, matrices.c, matrices.lb, matrices.ub


def in_linopy(problem: SchedulingProblem, slots: int, *, relax: bool = False) -> Any:
    """Build the program as a linopy model; the table of starts is that of the compiled form."""
    import linopy as lp
    import xarray as xr

    from edgeopt.models.tapfinger.programs import starts

    lp.options["semantics"] = "v1"
    table = starts(problem, latest=slots)
    model = lp.Model()
    at = [range(table.task.size)]
    kind = {"binary": True} if not relax else {"lower": 0.0, "upper": 1.0}
    y = model.add_variables(coords=at, dims=["start"], name="y", **kind)
    task = xr.DataArray(table.task, dims="start", name="task")
    model.add_constraints((1.0 * y).groupby(task).sum() == 1.0, name="eq_3")
    # One entry per start and slot in which it runs.
    entry = np.repeat(np.arange(table.task.size), table.duration)
    first = np.repeat(np.cumsum(table.duration) - table.duration, table.duration)
    slot = table.start[entry] + np.arange(entry.size) - first
    place = xr.DataArray(table.cluster[entry] * slots + slot, dims="entry", name="place")
    taken = y.isel(start=xr.DataArray(entry, dims="entry"))
    occupied = np.zeros((slots, problem.clusters))
    for r, amount in enumerate((table.cpu, table.gpu)):
        held = occupied.copy()
        before = problem.occupied[:slots, :, r]
        held[: before.shape[0]] = before
        used = (xr.DataArray(amount[entry].astype(float), dims="entry") * taken).groupby(place)
        load = used.sum()
        room = (problem.capacity[:, r][:, None] - held.T).ravel()
        right = xr.DataArray(
            room[load.coords["place"].values], coords={"place": load.coords["place"]}
        )
        model.add_constraints(load <= right, name=f"eq_5[{r}]")
    if problem.single_start:
        begin = xr.DataArray(table.cluster * slots + table.start, dims="start", name="place")
        begun = (1.0 * y).groupby(begin).sum()
        may = np.ones((problem.clusters, slots))
        may[:, 0] -= problem.started
        at_once = xr.DataArray(
            may.ravel()[begun.coords["place"].values], coords={"place": begun.coords["place"]}
        )
        model.add_constraints(begun <= at_once, name="eq_2")
    flow = table.start + table.duration - problem.arrival[table.task]
    cost = xr.DataArray(problem.weight[table.task] * flow, dims="start")
    model.add_objective((cost * y).sum())
    return model


WAYS = {"compiled": compiled, "linopy": linopy, "Pyomo": pyomo}

BENCHMARK = Benchmark(
    name="tapfinger-build",
    question="Building TapFinger's time-indexed program of 192 tasks: compiled, linopy, Pyomo",
    build=build,
    sizes={
        "full": {"clusters": 3, "tasks": 192},
        "smoke": {"clusters": 2, "tasks": 4},
    },
    subject="compiled",
    peers=("linopy", "Pyomo"),
    goals=(Goal("ratio", at_least=20.0, peer="Pyomo"),),
    phases=("model", "matrix"),
    ladder=Ladder.over("tasks", (24, 48, 96, 192), clusters=3),
)
