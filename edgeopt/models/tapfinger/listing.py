"""Plans made one task after the other: quick, and upper bounds for what is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from edgeopt.errors import InputError, OptionError
from edgeopt.models.tapfinger.bundles import efficient
from edgeopt.models.tapfinger.schedule import Schedule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["PRESSURES", "best_list", "list_schedule"]

PRESSURES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pressures that `best_list` tries: the queue that a task holds up, in tasks."""


def list_schedule(
    problem: SchedulingProblem, order: ArrayLike | None = None, *, pressure: float = 0.0
) -> Schedule:
    r"""Place tasks one after the other, each where it is complete first, beside those before it.

    A task takes the cluster, bundle and start of least :math:`s + d + \kappa\, d \max_r x_r/C_{nr}`
    with what is left free, whatever the order; ties go to the least :math:`d \max_r x_r / C_{nr}`,
    then to the lower cluster and the shorter duration.

    Parameters
    ----------
    problem
        The tasks.
    order
        Which task is placed first, second, and so on, shape [J]; as they arrive by default.
    pressure
        How much a slot of a whole cluster counts, :math:`\kappa \ge 0`, in slots of flow time.

    Returns
    -------
    A feasible plan.

    Raises
    ------
    InputError
        If the order is no permutation of the tasks.
    OptionError
        If the pressure is negative or no number.
    """
    if not 0.0 <= pressure < np.inf:
        raise OptionError(f"pressure = {pressure}: must be a number >= 0")
    tasks = np.arange(problem.tasks)
    order = tasks if order is None else np.asarray(order)
    if order.shape != tasks.shape or (np.sort(order) != tasks).any():
        raise InputError("order", f"must name each of the {tasks.size} tasks once")
    bundles = efficient(problem.duration)
    assert problem.occupied is not None
    assert problem.started is not None
    cluster, option, start = _place(
        order.astype(np.int64), problem.arrival, problem.kind, problem.eligible, problem.capacity,
        problem.occupied, problem.started, problem.single_start, bundles.first, bundles.bundle,
        bundles.duration, float(pressure),
    )  # fmt: skip
    return Schedule(cluster, bundles.bundle[option], start)


def best_list(problem: SchedulingProblem) -> Schedule:
    """Return the best of the plans by `list_schedule` under several pressures and orders.

    Orders are by arrival, in a tie the shortest task per weight first, and by arrival plus the
    shortest duration.

    Parameters
    ----------
    problem
        The tasks.
    """
    from edgeopt.models.tapfinger.horizon import shortest

    assert problem.weight is not None
    least = shortest(problem)
    with np.errstate(divide="ignore"):
        urgency = np.where(problem.weight > 0, least / problem.weight, np.inf)
    tasks = np.arange(problem.tasks)
    orders = {
        tuple(np.lexsort(keys).tolist())
        for keys in (
            (tasks, urgency, problem.arrival),
            (tasks, problem.arrival, problem.arrival + least),
        )
    }
    plans = [
        list_schedule(problem, np.array(order, dtype=np.int64), pressure=pressure)
        for order in sorted(orders)
        for pressure in PRESSURES
    ]
    return min(plans, key=lambda plan: plan.flow_time(problem))


@njit(cache=True)
def _place(
    order: Ints,
    arrival: Ints,
    kind: Ints,
    eligible: Flags,
    capacity: Ints,
    occupied: Ints,
    started: Flags,
    single: bool,
    first: Ints,
    bundle: Ints,
    duration: Ints,
    pressure: float,
) -> tuple[Ints, Ints, Ints]:
    tasks, clusters = eligible.shape
    kinds = (first.size - 1) // clusters
    # Slots of the profile that have been written; all is free behind them.
    known = occupied.shape[0]
    free = np.empty((clusters, max(64, 2 * known), 2), dtype=np.int64)
    begun = np.zeros((clusters, free.shape[1]), dtype=np.bool_)
    for n in range(clusters):
        free[n] = capacity[n]
        begun[n, 0] = started[n]
        for t in range(known):
            free[n, t] -= occupied[t, n]
    to_cluster = np.zeros(tasks, dtype=np.int64)
    to_option = np.zeros(tasks, dtype=np.int64)
    to_start = np.zeros(tasks, dtype=np.int64)
    for j in order:
        score, work = np.inf, np.inf
        for n in range(clusters):
            if not eligible[j, n]:
                continue
            place = n * kinds + kind[j]
            for b in range(first[place], first[place + 1]):
                x, y, d = bundle[b, 0], bundle[b, 1], duration[b]
                share = 0.0
                if x > 0:
                    share = x / capacity[n, 0]
                if y > 0:
                    share = max(share, y / capacity[n, 1])
                own = d * share
                s = arrival[j]
                t = s
                while t < s + d and s + d + pressure * own <= score:
                    if t >= free.shape[1]:
                        break  # nothing has been written there
                    blocked = free[n, t, 0] < x or free[n, t, 1] < y
                    if blocked or (single and t == s and begun[n, s]):
                        s = t + 1
                    t += 1
                total = s + d + pressure * own
                if total < score or (total == score and own < work):
                    score, work = total, own
                    to_cluster[j], to_option[j], to_start[j] = n, b, s
        n, b, s = to_cluster[j], to_option[j], to_start[j]
        end = s + duration[b]
        if end > free.shape[1]:
            old = free.shape[1]
            more = np.empty((clusters, 2 * end, 2), dtype=np.int64)
            longer = np.zeros((clusters, 2 * end), dtype=np.bool_)
            for m in range(clusters):
                more[m] = capacity[m]
                more[m, :old] = free[m]
                longer[m, :old] = begun[m]
            free, begun = more, longer
        for t in range(s, end):
            free[n, t] -= bundle[b]
        begun[n, s] = True
    return to_cluster, to_option, to_start
