"""The parameter spaces in which a search tries to find tight and false claims of TapFinger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.space import Parameter, of_seeds, row, values
from edgeopt.instances.tapfinger import TapFingerInstance, small
from edgeopt.models.tapfinger import SchedulingProblem
from edgeopt_papers.claims.paper import space
from edgeopt_papers.tapfinger.claims.instances import (
    Changes,
    Rivals,
    drawn_tasks,
    mixed_bundles,
    of_gpus,
)
from edgeopt_papers.tapfinger.claims.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping


@space(
    "rivals",
    Rivals,
    *row("score", 2, 0.0, 1.0),
    *row("room", 2, 1, 8, whole=True),
    *row("gives", 2, 0, 1, whole=True, simple=1),
)
def _rivals(point: Mapping[str, Any]) -> Rivals:
    """Return two clusters that may pick the same task."""
    gives = tuple(gives == 1 for gives in values(point, "gives"))
    return Rivals(tuple(values(point, "score")), tuple(values(point, "room")), gives)


_GPUS = 3

_MOST = 3
"""GPUs of a cluster, and tasks, at most."""

_GIVEN = (
    Parameter("gpus", 1, _GPUS, whole=True, count=True),
    Parameter("tasks", 1, _MOST, whole=True, count=True),
    Parameter("clusters", 1, 2, whole=True, count=True),
    *row("slots", _GPUS, 1, 6, whole=True),
    *row("arrival", _MOST, 0, 3, whole=True),
)


@space("tasks", SchedulingProblem, *_GIVEN, Parameter("single_start", 0, 1, whole=True))
def _tasks(point: Mapping[str, Any]) -> SchedulingProblem:
    """Return at most three equal tasks on up to two equal clusters, of durations by their GPUs."""
    gpus, tasks, clusters = point["gpus"], point["tasks"], point["clusters"]
    duration = np.zeros((clusters, 1, 2, gpus + 1), dtype=np.int64)
    duration[:, 0, 1, 1:] = values(point, "slots")[:gpus]
    return SchedulingProblem(
        capacity=np.tile([tasks, gpus], (clusters, 1)),
        duration=duration,
        arrival=np.sort(values(point, "arrival")[:tasks]),
        kind=np.zeros(tasks, dtype=np.int64),
        eligible=np.ones((tasks, clusters), dtype=bool),
        single_start=point.get("single_start", 0) == 1,
    )


@space(
    "plans",
    Plan,
    *_GIVEN,
    *row("wait", _MOST, 0, 3, whole=True),
    *row("held", _MOST, 1, _GPUS, whole=True),
)
def _plan(point: Mapping[str, Any]) -> Plan:
    """Return the same tasks, with when each starts and with how many GPUs, all on cluster 0."""
    problem = _tasks.build(point)
    start = problem.arrival + np.array(values(point, "wait")[: problem.tasks])
    held = np.minimum(values(point, "held")[: problem.tasks], point["gpus"])
    return of_gpus(problem, start.tolist(), held.tolist())


@space(
    "few_tasks",
    TapFingerInstance,
    *row("speed", 2, 0.05, 1.1, simple=1.0),
    *row("arrival", 2, 0, 3, whole=True),
    *row("slowing", 2, 0, 1, whole=True),
    Parameter("switching", 0.0, 1.0, simple=1.0),
    Parameter("noise", 0.0, 0.3),
)
def _few_tasks(point: Mapping[str, Any]) -> TapFingerInstance:
    """Return two tasks, each of a speed of its own, for one GPU."""
    speed = np.array(values(point, "speed"))
    return TapFingerInstance(
        capacity=np.array([[1, 1]]),
        minimum=np.ones((2, 2), dtype=int),
        speed=np.broadcast_to(speed[:, None, None], (2, 2, 2)),
        arrival=np.sort(values(point, "arrival")),
        kind=np.arange(2),
        eligible=np.ones((2, 1), dtype=bool),
        slowing=np.array(values(point, "slowing")) == 1,
        switching=point["switching"],
        noise=point["noise"],
    )


@space(
    "lone_task",
    TapFingerInstance,
    Parameter("units", 1, 8, whole=True),
    Parameter("speed", 0.05, 1.0, simple=1.0),
    Parameter("by_cpu", 0.0, 1.0),
    Parameter("by_gpu", 0.0, 1.0),
    Parameter("slowing", 0, 1, whole=True),
    Parameter("switching", 0.0, 1.0, simple=1.0),
    Parameter("noise", 0.0, 0.3),
)
def _lone_task(point: Mapping[str, Any]) -> TapFingerInstance:
    """Return one task on a cluster of up to eight cores and GPUs; its speed is a power of them."""
    count = 1 + np.arange(point["units"] + 1)
    speed = np.zeros((1, count.size, count.size))
    speed[0] = (
        point["speed"]
        * (count[:, None] / 2.0) ** point["by_cpu"]
        * (count[None, :] / 2.0) ** point["by_gpu"]
    )
    return TapFingerInstance(
        capacity=np.full((1, 2), point["units"]),
        minimum=np.ones((1, 2), dtype=int),
        speed=speed,
        arrival=np.zeros(1, dtype=int),
        kind=np.zeros(1, dtype=int),
        eligible=np.ones((1, 1), dtype=bool),
        slowing=np.array([point["slowing"] == 1]),
        switching=point["switching"],
        noise=point["noise"],
    )


@space(
    "changes",
    Changes,
    Parameter("slots", 1, 5, whole=True, simple=3, count=True),
    *row("held", 5, 1, 7, whole=True),
    Parameter("switching", 0.0, 1.0, simple=1.0),
)
def _changes(point: Mapping[str, Any]) -> Changes:
    """Return a task of the paper's workload, and its GPUs in one slot after the other."""
    held = values(point, "held")[: point["slots"]]
    instance = mixed_bundles(gpus=7).replace(switching=point["switching"])
    return Changes(instance, tuple((2, gpus) for gpus in held))


PARAMETER_SPACES = (
    _tasks,
    _plan,
    _few_tasks,
    _lone_task,
    _changes,
    of_seeds("queues", drawn_tasks, SchedulingProblem),
    of_seeds("drawn", small, TapFingerInstance),
    _rivals,
)
"""In the order in which they are searched."""
