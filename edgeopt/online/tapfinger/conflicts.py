"""A round of decisions: checked, conflicts resolved, carried out."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled, put
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.kernels import place, refill
from edgeopt.online.tapfinger.state import ARRIVED, LOST, NUMBER
from edgeopt.options import plain_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.tapfinger.state import Rules, State, Truth

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

_NONE: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = np.zeros((0, 2), dtype=np.int64)


class Orders(NamedTuple):
    """The fields of a `Decision`, none left out."""

    task: Ints
    bundle: Ints
    score: Floats
    place: Flags
    changed: Ints
    other: Ints


def orders_of(decision: Decision, clusters: int) -> Orders | None:
    """Return what a decision orders, None if no cluster does anything."""
    if not isinstance(decision, Decision):
        raise OptionError("the decision of a round must be a Decision")
    score, place, changed, other = decision.score, decision.place, decision.changed, decision.other
    if changed is None and other is not None:
        raise OptionError("other: says bundles, but changed does not say of which tasks")
    task = _own("task", decision.task, (clusters,), np.int64)
    bundle = _own("bundle", decision.bundle, (clusters, 2), np.int64)
    if changed is None and score is None and place is None and (task == -1).all():
        return None
    moved = 0 if changed is None else plain_array("changed", changed).size
    return Orders(
        task,
        bundle,
        np.ones(clusters) if score is None else _own("score", score, (clusters,), np.float64),
        np.zeros(clusters, dtype=np.bool_)
        if place is None
        else _own("place", place, (clusters,), np.bool_),
        _NONE if changed is None else _own("changed", changed, (moved,), np.int64),
        _NOTHING if changed is None else _own("other", other, (moved, 2), np.int64),
    )


def _own(name: str, value: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    array = np.ascontiguousarray(plain_array(name, value))
    if array.shape != shape:
        raise OptionError(f"{name}: must have shape {list(shape)}, has {list(array.shape)}")
    if array.dtype != dtype:
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise OptionError(f"{name}: must be an array of {np.dtype(dtype).name}")
        array = array.astype(dtype)
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
def _free_after(
    rules: Rules, state: State, changed: Ints, other: Ints, free: Ints
) -> tuple[int, int, int]:
    """Check the changes of bundles and write what would be free."""
    for n in range(free.shape[0]):
        put(state.free[n], free[n])
    for i in range(changed.size):
        j = changed[i]
        if not rules.preemption:
            return 1, j, -1
        if j < 0 or j >= state.clock[ARRIVED]:
            return 2, j, -1
        n = state.cluster[j]
        if n < 0 or state.completion[j] >= 0:
            return 2, j, -1
        for other_place in range(i):
            if changed[other_place] == j:
                return 3, j, n
        for r in range(2):
            if other[i, r] < 0 or other[i, r] >= rules.speed.shape[2 + r]:
                return 4, j, n
            free[n, r] += state.bundle[j, r] - other[i, r]
    for n in range(free.shape[0]):
        if free[n, 0] < 0 or free[n, 1] < 0:
            return 5, -1, n
    return 0, -1, -1


@compiled
def _named(
    rules: Rules, truth: Truth, state: State, orders: Orders, free: Ints
) -> tuple[int, int, int]:
    """Check what every cluster names."""
    task, bundle, placed = orders.task, orders.bundle, orders.place
    for n in range(task.size):
        j = task[n]
        if not 0.0 <= orders.score[n] <= 1.0:
            return 10, j, n
        if j == -1:
            continue
        pending = False
        for i in range(state.in_pending[n]):
            pending |= state.pending[n, i] == j
        if not pending:
            return 6, j, n
        nothing = bundle[n, 0] == 0 and bundle[n, 1] == 0
        for r in range(2):
            if bundle[n, r] < 0 or bundle[n, r] >= rules.speed.shape[2 + r]:
                return 4, j, n
            if bundle[n, r] < rules.minimum[truth.kind[j], r] and not nothing and not placed[n]:
                return 7, j, n
            if bundle[n, r] > free[n, r]:
                return 8, j, n
        if rules.single_start and state.started[n] and (not nothing or placed[n]):
            return 9, j, n
    return 0, -1, -1


@compiled
def _room(free: Ints, minimum: Ints, whole: bool) -> float:
    """Return how often a smallest bundle would fit."""
    room = np.inf
    for r in range(2):
        if minimum[r] > 0:
            fits = free[r] / minimum[r]
            room = min(room, float(int(fits)) if whole else fits)
    return room


@compiled(writes="wins")
def winners(
    rules: Rules, kind: Ints, task: Ints, void: Flags, score: Floats, free: Ints, wins: Flags
) -> None:
    """Say which clusters win the tasks that they name.

    Of several clusters that name one task, the one of the largest product of its score and its
    room wins, the first of equals (Li et al., equation (11)).
    """
    clusters = task.size
    for n in range(clusters):
        wins[n] = task[n] >= 0 and not (rules.pass_on and void[n])
    for first in range(clusters):
        if not wins[first]:
            continue
        j = task[first]
        rivals = 0
        most = -np.inf
        for n in range(first, clusters):
            if wins[n] and task[n] == j:
                rivals += 1
                most = max(most, _room(free[n], rules.minimum[kind[j]], False))
        if rivals == 1:
            continue
        best, worth = first, -1.0
        for n in range(first, clusters):
            if not wins[n] or task[n] != j:
                continue
            if rules.by_ratio:
                # The common denominator of the softmax decides nothing.
                room = exp(_room(free[n], rules.minimum[kind[j]], False) - most)
            else:
                room = _room(free[n], rules.minimum[kind[j]], True)
            if score[n] * room > worth:
                best, worth = n, score[n] * room
        for n in range(first, clusters):
            if task[n] == j:
                wins[n] = n == best


@compiled(writes="started")
def carry_out(
    rules: Rules, truth: Truth, state: State, orders: Orders, started: Ints
) -> tuple[int, int, int, bool]:
    """Carry a round out, or nothing of it."""
    task, bundle, placed = orders.task, orders.bundle, orders.place
    changed, other = orders.changed, orders.other
    free = np.empty(state.free.shape, dtype=np.int64)
    code, j, n = _free_after(rules, state, changed, other, free)
    if code == 0:
        code, j, n = _named(rules, truth, state, orders, free)
    if code != 0:
        return code, j, n, False
    void = np.empty(task.size, dtype=np.bool_)
    for n in range(task.size):
        void[n] = bundle[n, 0] == 0 and bundle[n, 1] == 0 and not placed[n]
    wins = np.empty(task.size, dtype=np.bool_)
    winners(rules, truth.kind, task, void, orders.score, free, wins)
    for i in range(changed.size):
        for r in range(2):
            state.free[state.cluster[changed[i]], r] += state.bundle[changed[i], r] - other[i, r]
            state.bundle[changed[i], r] = other[i, r]
    count = 0
    for n in range(task.size):
        started[n] = -1
        if wins[n] and not void[n]:
            place(truth, state, task[n], n, bundle[n, 0], bundle[n, 1])
            started[n] = task[n]
            count += 1
        state.clock[LOST] += task[n] >= 0 and not wins[n] and not void[n]
    state.clock[NUMBER] += 1
    goes_on = count > 0 and not rules.single_start
    if goes_on and rules.each_round:
        refill(truth, state)
    return 0, -1, -1, goes_on
