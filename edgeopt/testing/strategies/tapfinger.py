"""Small instances of TapFinger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger.problem import SchedulingProblem, scheduling_problem
from edgeopt.models.tapfinger.programs import efficient
from edgeopt.testing.strategies.basic import array_of, composite, nearly, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def tapfinger_instances(
    draw: DrawFn,
    *,
    clusters: int = 3,
    tasks: int = 4,
    kinds: int = 2,
    capacity: int = 4,
    single_start: bool | None = None,
    slowing: bool | None = None,
    noise: bool | None = False,
    weighted: bool | None = None,
    empty: bool = False,
    combinations: int | None = None,
) -> TapFingerInstance:
    """Draw a tiny instance of TapFinger.

    No bundle takes longer than 6 slots without noise. Equal durations of different bundles are
    frequent, and so are bundles that are larger and slower; so are smallest bundles without CPU
    cores or without GPUs, clusters without one of them or too small for a kind of task, clusters of
    other speeds, tables that end below or above the capacities, tasks that arrive together or after
    a pause, tasks for one cluster only, and pending sets of one place.

    Parameters
    ----------
    clusters, tasks, kinds, capacity
        Largest sizes.
    single_start, slowing, noise, weighted
        Whether it has them; None leaves it to the draw, that of `slowing` per kind.
    empty
        Whether there may be no task.
    combinations
        Most plans, if given: tasks are left out from the end until there are no more, see `plans`.

    Returns
    -------
    A strategy of hypothesis for instances.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem, verify
    >>> from edgeopt.testing.strategies import tapfinger_instances
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(tapfinger_instances(tasks=3))
    ... def look(drawn):
    ...     problem = scheduling_problem(drawn)
    ...     schedule = list_schedule(problem)
    ...     verify(problem, schedule)
    ...     found.append(schedule.start.size == drawn.tasks)
    ...
    >>> look()
    >>> all(found)
    True
    """
    N, K = draw(up_to(clusters)), draw(up_to(kinds))
    J = draw(st.integers(0, tasks)) if empty else draw(nearly(tasks))
    units = np.minimum(array_of(draw, (N, 2), (2, 1, 3, 4, 0)), capacity)
    units[0] = np.maximum(units[0], 1)
    minimum = smallest(draw, units, K)
    ends = [draw(st.integers(max(1, low), capacity)) for low in minimum.max(axis=0).tolist()]
    holds = (minimum[:, None] <= units).all(axis=2)
    kind = array_of(draw, (J,), (0, 1)).astype(int) % K
    slow = array_of(draw, (K,), (0, 1)).astype(bool) if slowing is None else np.full(K, slowing)
    # Durations 5, 4, 3, 3, 2, 1 without and 6, 5, 4, 3, 2, 1 with slowing.
    speeds = np.array([0.22, 0.25, 0.34, 0.4, 0.6, 1.0])
    grade = array_of(draw, (K, ends[0] + 1, ends[1] + 1), (5, 2, 1, 4, 0, 3))
    ahead = array_of(draw, (N,), (0, 0, 1, -2))[:, None, None, None]
    loud = draw(st.booleans()) if noise is None else noise
    instance = TapFingerInstance(
        capacity=units,
        minimum=minimum,
        speed=speeds[np.clip(grade + ahead, 0, 5)],
        arrival=np.sort(array_of(draw, (J,), (0, 0, 1, 2, 4)).astype(int)),
        kind=kind,
        eligible=some_cluster(draw, holds[kind]),
        slowing=slow,
        weight=weights(draw, J, weighted),
        noise=draw(st.sampled_from([0.1, 0.3, 1.0])) if loud else 0.0,
        switching=draw(st.sampled_from([0.5, 1.0, 0.0, 0.25])),
        pending=draw(st.sampled_from([10, 1, 2])),
        single_start=draw(st.booleans()) if single_start is None else single_start,
    )
    while combinations is not None and plans(scheduling_problem(instance)) > combinations:
        fewer = {name: getattr(instance, name)[:-1] for name in PER_TASK}
        instance = instance.replace(**fewer)
    return instance


PER_TASK = ("arrival", "kind", "eligible", "weight")


def plans(problem: SchedulingProblem) -> float:
    """Count the ways to give every task a cluster, an allowed bundle and a start, capacities aside.

    Starts are those after which the task ends within the time that all tasks take one after the
    other, each with the slowest bundle that no other beats, after the last arrival and release.
    """
    released = max(int(problem.arrival.max(initial=0)), problem.occupied.shape[0])
    if problem.started.any():
        released = max(released, 1)
    bundles = efficient(problem.duration)
    longest = [
        max(int(bundles.of(n, k)[1].max(initial=0)) for n in np.flatnonzero(may))
        for k, may in zip(problem.kind.tolist(), problem.eligible, strict=True)
    ]
    end = released + sum(longest)
    count = 1.0
    for k, may, first in zip(problem.kind, problem.eligible, problem.arrival, strict=True):
        slots = problem.duration[may, k]
        count *= np.maximum(0, end - first - slots + 1)[slots > 0].sum()
    return float(count)


def smallest(draw: DrawFn, units: np.ndarray, kinds: int) -> np.ndarray:
    """Draw smallest bundles, each of which some cluster can hold."""
    host = units[array_of(draw, (kinds,), (0, 1, 2)) % units.shape[0]]
    host = np.where(host.any(axis=1)[:, None], host, units[0])
    minimum = np.minimum(array_of(draw, (kinds, 2), (1, 0, 2)), host)
    return np.where(minimum.any(axis=1)[:, None], minimum, np.minimum(host, 1))


def some_cluster(draw: DrawFn, able: np.ndarray) -> np.ndarray:
    """Draw where tasks may run, one of the clusters that are able to at least, shape [J, N]."""
    tasks, clusters = able.shape
    eligible = array_of(draw, (tasks, clusters), (1, 0)).astype(bool)
    choice = array_of(draw, (tasks,), (0, 1, 2)).astype(int)
    for j in range(tasks):
        hosts = np.flatnonzero(able[j])
        eligible[j, hosts[choice[j] % hosts.size]] = True
    return eligible


def weights(draw: DrawFn, tasks: int, weighted: bool | None) -> np.ndarray | None:
    """Draw weights with ties, or None for equal ones."""
    heavier = draw(st.booleans()) if weighted is None else weighted
    return array_of(draw, (tasks,), (1.0, 2.0, 0.5, 0.0, 4.0)) if heavier else None
