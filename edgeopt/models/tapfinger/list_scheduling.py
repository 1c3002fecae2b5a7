"""Plans made one task after the other: quick, and upper bounds for what is exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.problem import Schedule
from edgeopt.models.tapfinger.programs import efficient

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.programs import Bundles

    Rng = int | np.random.Generator

PRESSURES: Final = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Pressures that `best_list` tries: the queue that a task holds up, in tasks."""

MOVES: Final = 10_000
"""Moves of `best_list` for up to `FEW` tasks; the number falls with their square above."""

FEW: Final = 200
QUICK: Final = 1000  # the same where a plan only serves as a start of a search

REACH: Final = 16  # places by which `best_list` moves a task, less one, at most


@checked(pressure="[0, inf)")
def list_schedule(
    problem: SchedulingProblem, order: ArrayLike | None = None, *, pressure: float = 0.0
) -> Schedule:
    r"""Place tasks one after the other, each where it is complete first, next to those before it.

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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem
    >>> plan = list_schedule(scheduling_problem(small(1)))
    >>> plan.cluster, plan.start
    (array([1, 1, 1, 1]), array([0, 3, 5, 7]))
    """
    tasks = np.arange(problem.tasks)
    order = tasks if order is None else np.asarray(order)
    if order.shape != tasks.shape or (np.sort(order) != tasks).any():
        raise InputError("order", f"must name each of the {tasks.size} tasks once")
    bundles = efficient(problem.duration)
    cluster, option, start = _place(
        order.astype(np.int64), float(pressure), *_arrays(problem, bundles)
    )
    return Schedule(cluster, bundles.bundle[option], start)


@checked()
def best_list(problem: SchedulingProblem, *, tries: int | None = None, rng: Rng = 0) -> Schedule:
    """Search for a good order of the tasks, and return the plan by `list_schedule`.

    The search begins with the best of several pressures and orders: as tasks arrive, in a tie by
    the least time or the least part of a cluster, times slots, that they take per weight. Then a
    task that is drawn moves to a place nearby, which is kept unless the plan becomes worse.

    Parameters
    ----------
    problem
        The tasks.
    tries
        Number of moves; by default ten thousand, fewer where there are over 200 tasks.
    rng
        Where the moves come from.

    Returns
    -------
    A plan that `verify` accepts.

    Raises
    ------
    OptionError
        If the number of moves is negative.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import best_list, scheduling_problem
    >>> plan = best_list(scheduling_problem(small(1)), tries=20)
    >>> plan.cluster, plan.start
    (array([1, 1, 1, 1]), array([0, 3, 7, 5]))
    """
    if tries is None:
        tries = MOVES * FEW**2 // max(FEW, problem.tasks) ** 2
    if tries < 0:
        raise OptionError(f"tries = {tries}: must not be negative")
    bundles = efficient(problem.duration)
    orders = _orders(problem, bundles)
    draw = np.random.default_rng(rng)
    moves = drawn_moves(draw, problem.tasks, tries, len(PRESSURES))
    cluster, option, start = searched(
        orders, np.array(PRESSURES), *moves, *_arrays(problem, bundles)
    )
    return Schedule(cluster, bundles.bundle[option], start)


def drawn_moves(
    draw: np.random.Generator, tasks: int, tries: int, pressures: int
) -> tuple[Ints, Ints]:
    """Draw moves for `searched`: which place goes how far, and the pressure to try it with."""
    step = draw.integers(1, max(2, min(REACH, tasks)), tries)
    moves = np.stack([draw.integers(0, max(1, tasks), tries), step], axis=1)
    moves[:, 1] *= draw.choice([-1, 1], tries)
    return moves, draw.integers(0, pressures, tries)


def quick_list(problem: SchedulingProblem) -> Schedule:
    """Return a plan with which to begin a search: `best_list` with few moves."""
    return best_list(problem, tries=min(QUICK, QUICK * FEW // max(1, problem.tasks)))


def _orders(problem: SchedulingProblem, bundles: Bundles) -> Ints:
    """Return orders to begin with, shape [o, J]."""
    kinds = problem.duration.shape[1]
    place = np.repeat(np.arange(bundles.first.size - 1), np.diff(bundles.first))
    capacity = np.maximum(problem.capacity[place // kinds], 1)
    work = bundles.duration * (bundles.bundle / capacity).max(axis=1)
    tasks, keys = np.arange(problem.tasks), []
    with np.errstate(divide="ignore", invalid="ignore"):
        for cost in (bundles.duration, work):
            of_task = bundles.least(cost).T[problem.kind]
            least = np.where(problem.eligible, of_task, np.inf).min(axis=1)
            keys.append(np.where(problem.weight > 0, least / problem.weight, np.inf))
    return np.array([np.lexsort((tasks, key, problem.arrival)) for key in keys], dtype=np.int64)


def _arrays(problem: SchedulingProblem, bundles: Bundles) -> tuple[Any, ...]:
    """Return what the compiled functions take of a problem."""
    return (
        problem.arrival, problem.kind, problem.weight, problem.eligible, problem.capacity,
        problem.occupied, problem.started, problem.single_start, bundles.first, bundles.bundle,
        bundles.duration,
    )  # fmt: skip


@compiled
def least_flow(
    pressures: Floats, arrival: Ints, kind: Ints, weight: Floats, eligible: Flags, capacity: Ints,
    occupied: Ints, started: Flags, single: bool, first: Ints, bundle: Ints, duration: Ints,
) -> float:  # fmt: skip
    """Return the least weighted flow time of plans of tasks as they arrive, one per pressure."""
    tasks, best = np.arange(arrival.size), np.inf
    for pressure in pressures:
        plan = _place(
            tasks, pressure, arrival, kind, weight, eligible, capacity, occupied, started, single,
            first, bundle, duration,
        )  # fmt: skip
        value = 0.0
        for j in tasks:
            value += weight[j] * (plan[2][j] + duration[plan[1][j]] - arrival[j])
        best = min(best, value)
    return best


@compiled(writes="arrival")
def searched(
    orders: Ints, pressures: Floats, moves: Ints, changes: Ints, arrival: Ints, kind: Ints,
    weight: Floats, eligible: Flags, capacity: Ints, occupied: Ints, started: Flags, single: bool,
    first: Ints, bundle: Ints, duration: Ints,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return cluster, entry of the bundles and start of each task in the best plan found."""
    tasks = arrival.size
    best = np.inf
    order, trial = np.zeros(tasks, dtype=np.int64), np.zeros(tasks, dtype=np.int64)
    found = np.zeros((3, tasks), dtype=np.int64)
    begun = orders.shape[0] * pressures.size
    for turn in range(begun + moves.shape[0]):
        if turn < begun:
            for at in range(tasks):
                trial[at] = orders[turn // pressures.size, at]
            pressure = pressures[turn % pressures.size]
        else:
            place = moves[turn - begun, 0]
            to = min(max(place + moves[turn - begun, 1], 0), tasks - 1)
            # Insertion move: one task is taken out and put in at another place.
            for at in range(tasks):
                # Those between the two places move up or down by one.
                passed = int(place <= at < to) - int(to < at <= place)
                trial[at] = order[place if at == to else at + passed]
            pressure = pressures[changes[turn - begun]]
        plan = _place(
            trial, pressure, arrival, kind, weight, eligible, capacity, occupied, started, single,
            first, bundle, duration,
        )  # fmt: skip
        value = 0.0
        for j in range(tasks):
            value += weight[j] * (plan[2][j] + duration[plan[1][j]] - arrival[j])
        # Plateau moves: equals are accepted, too.
        if value <= best:
            best = value
            for at in range(tasks):
                order[at] = trial[at]
                for part in range(3):
                    found[part, at] = plan[part][at]
    return found[0], found[1], found[2]


@compiled(writes="arrival", both=True)
def _place(
    order: Ints, pressure: float, arrival: Ints, kind: Ints, weight: Floats, eligible: Flags,
    capacity: Ints, occupied: Ints, started: Flags, single: bool, first: Ints, bundle: Ints,
    duration: Ints,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    tasks, clusters = eligible.shape
    kinds = (first.size - 1) // clusters
    # Slots of the profile that have been written; all is free behind them.
    known = occupied.shape[0]
    free = np.empty((clusters, max(64, 2 * known), 2), dtype=np.int64)
    begun = np.zeros((clusters, free.shape[1]), dtype=np.bool_)
    for n in range(clusters):
        begun[n, 0] = started[n]
        for t in range(free.shape[1]):
            for r in range(2):
                free[n, t, r] = capacity[n, r] - (occupied[t, n, r] if t < known else 0)
    to_cluster = np.zeros(tasks, dtype=np.int64)
    to_option = np.zeros(tasks, dtype=np.int64)
    to_start = np.zeros(tasks, dtype=np.int64)
    # Serial schedule generation from a list (Kelley, 1963; Kolisch, 1996).
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
        # Doubling of the profile, at constant cost per slot.
        if end > free.shape[1]:
            old = free.shape[1]
            more = np.empty((clusters, 2 * end, 2), dtype=np.int64)
            longer = np.zeros((clusters, 2 * end), dtype=np.bool_)
            for m in range(clusters):
                for t in range(2 * end):
                    for r in range(2):
                        more[m, t, r] = free[m, t, r] if t < old else capacity[m, r]
                    longer[m, t] = t < old and begun[m, t]
            free, begun = more, longer
        for t in range(s, end):
            for r in range(2):
                free[n, t, r] -= bundle[b, r]
        begun[n, s] = True
    return to_cluster, to_option, to_start
