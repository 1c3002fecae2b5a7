"""A round of decisions: checked, conflicts resolved, carried out."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.kernels import (
    meets_outage,
    pass_slots,
    place,
    refill,
    show,
    widened,
)
from edgeopt.options import plain_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.online.tapfinger.kernels import State


def written(state: State, rows: int | slice, decision: Decision) -> State:
    """Write what one scenario, or all of them, do in a round; return the state with room for it."""
    if not isinstance(decision, Decision):
        raise OptionError("the decision of a round must be a Decision")
    task, bundle, score, placed, changed, other = decision
    if changed is None and other is not None:
        raise OptionError("other: says bundles, but changed does not say of which tasks")
    order = state.order[rows]
    shape = order.shape
    order["task"] = _own("task", task, shape, np.int64)
    order["bundle"] = _own("bundle", bundle, (*shape, 2), np.int64)
    order["score"] = 1.0 if score is None else _own("score", score, shape, np.float64)
    order["place"] = False if placed is None else _own("place", placed, shape, np.bool_)
    if changed is None:
        state.scenario["changes"][rows] = 0
        return state
    if isinstance(rows, slice):
        raise OptionError("changed: bundles change in one scenario at a time")
    moved = plain_array("changed", changed).size
    if moved > state.change.shape[1]:
        state = widened(state, moved, "change")
    change = state.change[rows, :moved]
    change["task"] = _own("changed", changed, (moved,), np.int64)
    change["bundle"] = _own("other", other, (moved, 2), np.int64)
    state.scenario["changes"][rows] = moved
    return state


def _own(name: str, value: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    array = value if type(value) is np.ndarray else plain_array(name, value)
    if array.shape != shape:
        raise OptionError(f"{name}: must have shape {list(shape)}, has {list(array.shape)}")
    if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "safe"):
        raise OptionError(f"{name}: must be an array of {np.dtype(dtype).name}")
    return array


REFUSALS: Final = {
    1: "changes the bundle of task {task}, which bundles here may not",
    2: "changes the bundle of task {task}, which does not run",
    3: "changes the bundle of task {task} twice",
    4: "gives task {task} on cluster {cluster} a bundle that is none",
    5: "holds more on cluster {cluster} than it has",
    6: "names task {task} on cluster {cluster}, where it is not pending",
    7: "gives task {task} on cluster {cluster} less than its smallest bundle",
    8: "gives task {task} on cluster {cluster} more than is free",
    9: "starts task {task} on cluster {cluster}, which has started one in this slot",
    10: "scores cluster {cluster} by something that is not in [0, 1]",
}
"""Why a decision cannot be carried out."""


@compiled(writes="free")
def _free_after(state: State, e: int, free: Ints) -> tuple[int, int, int]:
    """Check the changes of bundles and write what would be free."""
    scenario = state.scenario[e]
    for n in range(free.shape[0]):
        for r in range(2):
            free[n, r] = state.cluster[e, n].free[r]
    for i in range(scenario.changes):
        j, other = state.change[e, i].task, state.change[e, i].bundle
        if not scenario.preemption:
            return 1, j, -1
        if j < 0 or j >= scenario.arrived:
            return 2, j, -1
        task = state.task[e, j]
        n = task.cluster
        if n < 0 or task.completion >= 0:
            return 2, j, -1
        for before in range(i):
            if state.change[e, before].task == j:
                return 3, j, n
        for r in range(2):
            if other[r] < 0 or other[r] >= state.speed.shape[3 + r]:
                return 4, j, n
            if state.cluster[e, n].down:
                continue
            free[n, r] += task.bundle[r] - other[r]
    for n in range(free.shape[0]):
        if free[n, 0] < 0 or free[n, 1] < 0:
            return 5, -1, n
    return 0, -1, -1


@compiled
def _named(state: State, e: int, free: Ints) -> tuple[int, int, int]:
    """Check what every cluster names."""
    scenario = state.scenario[e]
    for n in range(free.shape[0]):
        order = state.order[e, n]
        j = order.task
        if not 0.0 <= order.score <= 1.0:
            return 10, j, n
        if j == -1:
            continue
        pending = False
        for i in range(state.cluster[e, n].size):
            pending |= state.pending[e, n, i] == j
        if not pending:
            return 6, j, n
        minimum = state.kind[e, state.task[e, j].kind].minimum
        nothing = order.bundle[0] == 0 and order.bundle[1] == 0
        waits = meets_outage(state, e, n, j, order.bundle[0], order.bundle[1])
        for r in range(2):
            if order.bundle[r] < 0 or order.bundle[r] >= state.speed.shape[3 + r]:
                return 4, j, n
            if order.bundle[r] < minimum[r] and not nothing and not order.place:
                return 7, j, n
            if order.bundle[r] > free[n, r] and not waits:
                return 8, j, n
        if waits:
            continue
        if scenario.single_start and state.cluster[e, n].started and not _void(order):
            return 9, j, n
    return 0, -1, -1


@compiled
def _void(order: Any) -> bool:
    """Return whether a cluster would start nothing even if it won the task."""
    return bool(order.bundle[0] == 0 and order.bundle[1] == 0 and not order.place)


@compiled
def _room(free: Ints, minimum: Ints, whole: bool) -> float:
    """Return how often a smallest bundle would fit."""
    room = np.inf
    for r in range(2):
        if minimum[r] > 0:
            fits = free[r] / minimum[r]
            room = min(room, float(int(fits)) if whole else fits)
    return room


@compiled
def _checked(state: State, e: int) -> tuple[int, int, int]:
    """Return why a round cannot be carried out, 0 if it can, and which task and cluster do it."""
    free = np.empty((state.cluster.shape[1], 2), dtype=np.int64)
    code, j, n = _free_after(state, e, free)
    if code == 0:
        code, j, n = _named(state, e, free)
    return code, j, n


@compiled
def _resolve(state: State, e: int) -> None:
    """Say whose naming stands.

    Of several clusters that name one task, the one of the largest product of its score and its
    room wins, the first of equals (Li et al., equation (11)).
    """
    scenario, orders = state.scenario[e], state.order[e]
    clusters = orders.shape[0]
    for n in range(clusters):
        orders[n].stood = orders[n].task >= 0 and not (scenario.pass_on and _void(orders[n]))
    for first in range(clusters):
        if not orders[first].stood:
            continue
        j = orders[first].task
        minimum = state.kind[e, state.task[e, j].kind].minimum
        rivals = 0
        most = -np.inf
        for n in range(first, clusters):
            if orders[n].stood and orders[n].task == j:
                rivals += 1
                most = max(most, _room(state.cluster[e, n].free, minimum, False))
        if rivals == 1:
            continue
        best, worth = first, -1.0
        for n in range(first, clusters):
            if not orders[n].stood or orders[n].task != j:
                continue
            if scenario.by_ratio:
                # Softmax shifted by its largest exponent, against overflow.
                # The common denominator of the softmax decides nothing.
                room = exp(_room(state.cluster[e, n].free, minimum, False) - most)
            else:
                room = _room(state.cluster[e, n].free, minimum, True)
            if orders[n].score * room > worth:
                best, worth = n, orders[n].score * room
        for n in range(first, clusters):
            if orders[n].task == j:
                orders[n].stood = n == best


@compiled
def carry_out(state: State, e: int) -> None:
    """Carry out a round that has been checked; its slot may have ended then."""
    scenario = state.scenario[e]
    for n in range(state.order.shape[1]):
        order = state.order[e, n]
        if order.task >= 0 and meets_outage(
            state, e, n, order.task, order.bundle[0], order.bundle[1]
        ):
            order.task = -1
    for i in range(scenario.changes):
        change = state.change[e, i]
        task = state.task[e, change.task]
        for r in range(0 if state.cluster[e, task.cluster].down else 2):
            state.cluster[e, task.cluster].free[r] += task.bundle[r] - change.bundle[r]
            task.bundle[r] = change.bundle[r]
    _resolve(state, e)
    count = 0
    for n in range(state.order.shape[1]):
        order = state.order[e, n]
        order.placed = -1
        if order.task < 0 or _void(order):
            continue
        if order.stood:
            place(state, e, order.task, n, order.bundle[0], order.bundle[1])
            order.placed = order.task
            count += 1
        else:
            scenario.lost += 1
    scenario.number += 1
    scenario.passed = 0
    scenario.ended = count == 0 or scenario.single_start
    if not scenario.ended and scenario.each_round:
        refill(state, e)


@compiled(writes="out")
def act(state: State, first: int, last: int, out: Ints) -> tuple[int, int, int, int]:
    """Carry out a round of scenarios, or nothing if one is refused; let slots pass that ended.

    What the next round of the first scenario shows is written to `out`, if that has room. Returned
    are why it is refused, and the task and cluster that it is about; and the scenario, which
    without a refusal is the first that lacks something for its slot to pass, or -1.
    """
    for e in range(first, last):
        if not state.scenario[e].over:
            code, j, n = _checked(state, e)
            if code != 0:
                return code, j, n, e
    for e in range(first, last):
        if not state.scenario[e].over:
            carry_out(state, e)
    lacking = pass_slots(state, first, last)
    if lacking < 0 and out.size > 0:
        show(state, first, out)
    return 0, -1, -1, lacking
