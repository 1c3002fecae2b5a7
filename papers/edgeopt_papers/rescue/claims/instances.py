"""The instances of RESCUE's claims: counterexamples and drawn ones.

Numbers in the docstrings are exact. Slots and all indices count from 0. Unless said otherwise
there is one server of capacity 1 TMAC per slot, one service profile and no reserved task, and
profits do not depend on the duration of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate, small, tight
from edgeopt_papers.claims.paper import named_instance, named_instances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def planned_reservation() -> RescueInstance:
    """One slot that a reserved task needs whole, and a certain task of profit 1.

    The LP knows the reserved task and is worth 0. An offline optimum that ignores it earns 1, so
    OPT(LP) bounds only optima that meet the reserved tasks too.
    """
    return one_server(arrival=[[1]], profit=[[1]], duration=[1], reserved=(0, 0, 1.0))


def independent_arrivals(epsilon: float = 0.01, delta: float = 0.01) -> RescueInstance:
    """One slot, a certain task of profit `delta` and an independent one of profit 1/epsilon.

    The second arrives with probability `epsilon`. The plan is unique, (1 - epsilon, epsilon), and
    worth (1 - epsilon) delta + 1. Algorithm 1 takes the first task whenever it is routed, is then
    busy for the second, and earns (1 - epsilon) delta + epsilon: 0.0199 against 1.0099 at the
    defaults, and no constant share as both parameters vanish.
    """
    return one_server(
        arrival=[[1, epsilon]],
        profit=[[delta, 1 / epsilon]],
        duration=[1],
        arrivals="independent",
    )


def contested_slot() -> RescueInstance:
    """One slot, two independent tasks of probability 1/2 and profit 1.

    The plan is unique, (1/2, 1/2), and worth 1. No run lasts from an earlier slot, so the
    slot-level occupancy is 0 and would promise 1; but both tasks arrive with probability 1/4 and
    only one finds the server idle: every policy earns at most 3/4.
    """
    return one_server(arrival=[[0.5, 0.5]], profit=[[1, 1]], duration=[1], arrivals="independent")


def half_routed() -> RescueInstance:
    """Two slots, runs of two slots: a certain task of profit 0.9, then one of 1 half of the time.

    The plan is unique: the first task is routed with probability 1/2 only, the second always;
    worth 0.95. Algorithm 1 earns B(0) = 0.7; taking the first task always earns 0.9 on the same
    server. The routing probabilities of the first task sum to 1/2, the rest rejects.
    """
    return one_server(arrival=[[1, 0], [0, 0.5]], profit=[[0.9, 0.9], [1, 1]], duration=[0, 1])


def two_plans() -> RescueInstance:
    """Two slots, runs of two slots: a certain task of profit 1, then one of 1 half of the time.

    Every plan that routes 1 in total is optimal. Under (1, 0) Algorithm 1 earns 1, under
    (1/2, 1/2) it earns 3/4: its value is a property of the plan, not of the instance.
    """
    return one_server(arrival=[[1, 0], [0, 0.5]], profit=[[1, 1], [1, 1]], duration=[0, 1])


def clairvoyant_gap() -> RescueInstance:
    """Two certain tasks of profits 1 and 2; the first runs one or two slots, equally likely.

    OPT(LP) = 2. A scheduler that knows the duration of the first run takes both tasks when it is
    short and earns 2.5.
    """
    return one_server(arrival=[[1], [1]], profit=[[1], [2]], duration=[0.5, 0.5])


def rare_long_runs(slots: int = 8) -> RescueInstance:
    """Offer a certain task of profit 1 in every slot; runs last one slot or all, equally likely.

    OPT(LP) < 2 however many slots there are, since every run may block all that follow. A
    scheduler that knows the durations takes the short runs and earns at least slots / 2.
    """
    distribution = np.zeros(slots)
    distribution[[0, -1]] = 0.5
    return one_server(
        arrival=np.ones((slots, 1)), profit=np.ones((slots, 1)), duration=distribution
    )


def risky_run(delta: float = 0.1) -> RescueInstance:
    """Let a reserved task need one of two slots and a run of profit 1 last both at times.

    The task is certain in the first slot, its run lasts two slots with probability `delta`. OPT(LP)
    is 1 / (1 + delta), because row (2b) counts the run with its expected occupation. Algorithm 1
    earns 1 / (1 + delta) and fails the reserved task with probability delta / (1 + delta). A
    policy that keeps it on every path can never start the run and earns 0: no safe policy has a
    constant ratio to OPT(LP).
    """
    return one_server(
        arrival=[[1], [0]],
        profit=[[1], [0]],
        duration=[1 - delta, delta],
        reserved=(0, 1, 1.0),
    )


def reserved_budget(epsilon: float = 0.01, delta: float = 0.01) -> RescueInstance:
    """Two slots of which a reserved task needs one; a poor certain task, then a rich rare one.

    Profits are `delta` and 1/epsilon, the second task arrives with probability `epsilon`, runs
    last one slot. OPT(LP), and hindsight that keeps the reserved task on every path, are
    1 + (1 - epsilon) delta. Guarded Algorithm 1 spends the one spare slot on the poor task and
    earns (1 - epsilon) delta + epsilon: the value functions put no price on reserved capacity.
    Charging the dual of row (2d) for it earns 1.
    """
    return one_server(
        arrival=[[1, 0], [0, epsilon]],
        profit=[[delta, delta], [1 / epsilon, 1 / epsilon]],
        duration=[1],
        reserved=(0, 1, 1.0),
    )


def split_tolerance() -> RescueInstance:
    """Let a reserved task need 5e-8 TMAC more than one of its two slots, and a certain task arrive.

    With the guard's tolerance 1e-9 the run of profit 1 is unsafe and the LP that forbids unsafe
    runs is worth 0. A policy that starts it leaves 5e-8 TMAC unserved, less than the 1e-7 at
    which a reserved task counts as failed, and earns 1: the forbidding LP bounds only policies
    judged with its own tolerance.
    """
    return one_server(
        arrival=[[1], [0]], profit=[[1], [0]], duration=[1], reserved=(0, 1, 1 + 5e-8)
    )


def late_run() -> RescueInstance:
    """Offer a certain task in each of two slots; runs last one or two slots, equally likely.

    The first task earns 1.5 if its run lasts one slot and nothing if it misses its budget of one
    slot; the second earns 1 whatever it lasts. The plan is unique, (1, 1/2), and worth 1.25;
    Algorithm 1 earns 1. Value functions that take a late run off its server at the end of its
    budget would promise 1.25 for Algorithm 1.
    """
    profit = np.array([[1.5, 0.0], [1.0, 1.0]]).reshape(2, 1, 1, 1, 2)
    return one_server(arrival=[[1], [1]], profit=profit, duration=[0.5, 0.5])


def outlasting_run(beyond: Literal["hold", "drop"] = "hold") -> RescueInstance:
    """One slot, one certain task of profit 1 whose run lasts two slots.

    Equation (4) has no value after the last slot, equation (1) counts the whole run.
    OPT(LP) is 1 when the run may end after the horizon and 0 when its profit is dropped.
    """
    return one_server(arrival=[[1]], profit=[[1]], duration=[0, 1], beyond=beyond)


def risky_runs(slots: int = 8, delta: float = 0.01) -> RescueInstance:
    """Let a reserved task need half of all slots, and a certain task arrive in each of the others.

    The window of the reserved task are all 2m slots, m of which it needs; tasks arrive in the first
    m = `slots` and earn 1. Their runs last one slot, or m with probability `delta`. OPT(LP) without
    unsafe pairs is m / (1 + (m - 1) delta), because row (2b) counts runs with their expected
    occupation. After any run the next one could block one slot too many: every safe policy, and
    safe hindsight, earns 1.
    """
    distribution = np.zeros(slots)
    distribution[[0, -1]] += 1.0 - delta, delta
    certain = np.repeat([[1.0], [0.0]], slots, axis=0)
    return one_server(
        arrival=certain, profit=certain, duration=distribution, reserved=(0, 2 * slots - 1, slots)
    )


def tempting_runs(slots: int = 8, delta: float = 0.001, epsilon: float = 0.05) -> RescueInstance:
    """Offer m safe runs, then m risky ones that are worth a little more, in one window of 3m slots.

    The reserved task leaves m = `slots` slots. A run of the first m tasks lasts one slot and earns
    1 - `epsilon`; one of the second m lasts one slot, or m with probability `delta`, and earns 1.
    Per expected slot the risky runs earn more, so the plan that forbids unsafe pairs holds nothing
    else and is worth m / (1 + (m - 1) delta). But after any run none of them is safe. Policies by
    state, which know no better use of the slots, wait for one and earn at most 1; hindsight, and
    the best safe policy, earn (1 - epsilon) m.
    """
    distribution = np.zeros((2, slots))
    distribution[0, 0] = 1.0
    distribution[1, [0, -1]] = 1.0 - delta, delta
    profit = np.zeros((3 * slots, 1, 1, 2, 1))
    profit[:slots, ..., 0, :], profit[slots : 2 * slots, ..., 1, :] = 1.0 - epsilon, 1.0
    return one_server(
        arrival=np.repeat([[1.0], [1.0], [0.0]], slots, axis=0),
        profit=profit,
        duration=distribution,
        reserved=(0, 3 * slots - 1, 2 * slots),
    )


def early_commitment(epsilon: float = 0.001) -> RescueInstance:
    """Offer two safe runs, perhaps a better third, and then a rare one that needs all of the slack.

    The reserved task leaves two of five slots. Two certain tasks earn 1 each; a third arrives with
    probability 1/2 and earns 2; all run one slot. The last runs two slots, arrives with probability
    `epsilon` and earns 2 / epsilon, but is safe only after no other run. Whoever starts one of the
    others forgoes 2 of expected profit; then one of the certain tasks is as good as the chance of
    the third. So every safe policy earns at most 2. Hindsight knows whether the last will come and
    else takes the best two of the others: 9/2 - 5/2 epsilon.
    """
    profit = np.zeros((5, 1, 1, 2, 1))
    profit[:3, 0, 0, 0, 0], profit[3, 0, 0, 1, 0] = (1.0, 1.0, 2.0), 2.0 / epsilon
    return one_server(
        arrival=[[1], [1], [0.5], [epsilon], [0]],
        profit=profit,
        duration=np.eye(2),
        reserved=(0, 4, 3.0),
    )


def commitments(epsilon: float = 0.001) -> RescueInstance:
    """Leave three of eight slots to runs of one slot, a run of two that is rich, and a rare one.

    As `early_commitment`, with one more step: the run of two slots is safe after at most one other,
    the rare one of three after none. Every safe policy earns at most 2, hindsight
    37/8 - 21/8 epsilon.
    """
    profit = np.zeros((8, 1, 1, 3, 1))
    profit[:4, 0, 0, 0, 0] = 0.5, 1.0, 0.5, 1.0
    profit[4, 0, 0, 1, 0], profit[5, 0, 0, 2, 0] = 2.0, 2.0 / epsilon
    return one_server(
        arrival=[[1], [1], [1], [0.5], [0.5], [epsilon], [0], [0]],
        profit=profit,
        duration=np.eye(3),
        reserved=(0, 7, 5.0),
    )


def one_server(
    *,
    arrival: Sequence[Sequence[float]] | NDArray[np.float64],
    profit: Sequence[Sequence[float]] | NDArray[np.float64],
    duration: Sequence[float] | NDArray[np.float64],
    reserved: tuple[int, int, float] | None = None,
    arrivals: Literal["exclusive", "independent"] = "exclusive",
    beyond: Literal["hold", "drop"] = "hold",
    capacity: Sequence[float] | NDArray[np.float64] | None = None,
) -> RescueInstance:
    """Build an instance of one server; profit [T, J] or [T, J, 1, L, D], duration [D] or [L, D]."""
    chances, gains = np.asarray(arrival, dtype=float), np.asarray(profit, dtype=float)
    if gains.ndim == 2:
        gains = gains[:, :, None, None, None]
    tasks = ReservedTasks.none()
    if reserved is not None:
        start, end, demand = (np.array([value]) for value in reserved)
        tasks = ReservedTasks(server=np.array([0]), start=start, end=end, demand=demand)
    return RescueInstance(
        arrival=chances,
        duration=np.atleast_2d(np.asarray(duration, dtype=float)),
        capacity=np.ones((1, len(chances))) if capacity is None else np.atleast_2d(capacity),
        reserved=tasks,
        profit=gains,
        arrivals=arrivals,
        beyond=beyond,
    )


TIGHT = named_instances(tight, (0.5, 0.1, 0.01))
"""The instances of Theorem 2."""

DRAWN = named_instances(small, range(10))
"""Random instances that can be enumerated."""

TINY = {**named_instance(tight, 0.1), **named_instance(half_routed), **DRAWN}
"""Enumerable instances with exclusive arrivals."""

INDEPENDENT = {
    **named_instance(independent_arrivals, 0.01, 0.01),
    **named_instance(contested_slot),
    **named_instances(small, range(10), arrivals="independent"),
}
"""Enumerable instances with independent arrivals."""

RESERVED = {
    **named_instance(risky_run, 0.1),
    **named_instance(reserved_budget, 0.01, 0.01),
    **DRAWN,
}
"""Enumerable instances, most of them with reserved tasks."""

PAPER_SETTING = named_instance(generate, servers=2, devices=4, profiles=3, horizon=24, reserved=4)
"""One instance in the setting of the paper's evaluation, small enough to solve at once."""


@dataclass(frozen=True)
class ReservedLoad:
    """Reserved tasks and servers alone, which need not fit together.

    A `RescueInstance` refuses tasks that cannot all be met; this holds what remains of one
    without that rule.
    """

    capacity: NDArray[np.float64]  # work that each server does per slot, TMAC, shape [K, T]
    reserved: ReservedTasks


def crowded_window() -> ReservedLoad:
    """One slot of capacity 1 TMAC and two reserved tasks of 0.6 TMAC in it.

    Each demand fits into its own window, both together do not: a sixth of it has no place in P1.
    """
    here = np.array([0, 0])
    tasks = ReservedTasks(server=here, start=here, end=here, demand=np.array([0.6, 0.6]))
    return ReservedLoad(np.ones((1, 1)), tasks)
