"""Conditions under which the claims apply to an instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption
from edgeopt.models.rescue import unsafe_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


def gamble_probability(instance: RescueInstance) -> float | None:
    r"""Return :math:`\epsilon` if the instance is that of Theorem 2, else None."""
    if (instance.horizon, instance.servers, instance.profiles) != (2, 1, 1):
        return None
    if instance.arrivals != "exclusive" or instance.survival.shape[1] < 2:
        return None
    reward = instance.expected_profit[:, :, 0, 0]
    certain = float(instance.arrival[0] @ reward[0])
    rich = reward[1] > 0
    epsilon = float(instance.arrival[1] @ rich)
    is_gamble = (
        instance.survival[0, 1] == 1
        and len(instance.reserved) == 0
        and certain > 0
        and np.isclose(instance.arrival[0] @ (np.abs(reward[0] / certain - 1) <= 1e-12), 1)
        and 0 < epsilon < 1
        and np.allclose(reward[1][rich] / certain * epsilon, 1)
    )
    return epsilon if is_gamble else None


def _is_constant(profit: NDArray[np.float64]) -> bool:
    largest = float(profit.max())
    return largest > 0 and np.allclose(profit / largest, 1)


def _is_rare_long_runs(instance: RescueInstance) -> bool:
    slots = instance.horizon
    distribution = np.zeros(slots)
    distribution[[0, -1]] = 0.5
    return (
        instance.shape == (slots, 1, 1, 1, slots)
        and slots >= 2
        and np.allclose(instance.duration[0], distribution)
        and bool((instance.arrival == 1).all())
        and _is_constant(instance.profit_block(slice(0, slots)))
    )


def _has_spare_slot(instance: RescueInstance) -> bool:
    tasks = instance.reserved
    if instance.shape[0] != 2 or instance.shape[2:4] != (1, 1) or len(tasks) != 1:
        return False
    return bool(
        instance.longest[0] == 1
        and (tasks.start[0], tasks.end[0]) == (0, 1)
        and (instance.capacity == tasks.demand[0]).all()
    )


def _one_at_a_time(instance: RescueInstance) -> bool:
    tasks = instance.reserved
    open_tasks = np.zeros((instance.servers, instance.horizon + 1), dtype=int)
    np.add.at(open_tasks, (tasks.server, tasks.start), 1)
    np.add.at(open_tasks, (tasks.server, tasks.end + 1), -1)
    return bool((open_tasks.cumsum(axis=1) <= 1).all())


def _blocks_at_most_half(instance: RescueInstance) -> bool:
    risky = unsafe_pairs(instance, 0.5) & ~unsafe_pairs(instance)
    arrives = instance.arrival > 0
    return not any(
        (instance.expected_profit_block(slice(t, t + 1))[0][arrives[t]].max(axis=0) > 0)[
            risky[t]
        ].any()
        for t in np.flatnonzero(arrives.any(axis=1) & risky.any(axis=(1, 2))).tolist()
    )


EXCLUSIVE = Assumption(
    "at most one arrival per slot",
    r"arrivals of a slot exclude each other, $\sum_j p_j(t) \le 1$",
    lambda instance: instance.arrivals == "exclusive",
)

INDEPENDENT = Assumption(
    "independent arrivals",
    "devices draw their arrivals independently and take turns within a slot",
    lambda instance: instance.arrivals == "independent",
)

HAS_RESERVED = Assumption(
    "reserved tasks", "there is a reserved task", lambda instance: len(instance.reserved) > 0
)

ONE_SERVER = Assumption("one server", "there is one server", lambda instance: instance.servers == 1)

SEVERAL_SERVERS = Assumption(
    "several servers", "there are several servers", lambda instance: instance.servers > 1
)

ONE_AT_A_TIME = Assumption(
    "one reserved task at a time",
    "windows of reserved tasks on a server have no slot in common",
    _one_at_a_time,
)

SMALL_RUNS = Assumption(
    "no run blocks more than half of a slack",
    r"a run that is safe and pays blocks, at its longest, at most half of the slack "
    r"$\sigma = \sum_{t=s_i}^{e_i} c_k(t) - \phi_i$ of a reserved task that has begun before it",
    _blocks_at_most_half,
)

UNIT_DURATIONS = Assumption(
    "unit durations",
    r"every run lasts one slot, $\Pr(d_l = 1) = 1$",
    lambda instance: bool((instance.longest == 1).all()),
)

TWO_SLOT_GAMBLE = Assumption(
    "the instance of Theorem 2",
    r"a certain task, then one of $1/\epsilon$ times its profit with probability $\epsilon$; "
    "every run lasts both slots",
    lambda instance: gamble_probability(instance) is not None,
)

RARE_LONG_RUNS = Assumption(
    "runs of one slot or all",
    "a certain task of the same profit in each of T slots; runs last 1 or T slots, equally likely",
    _is_rare_long_runs,
)

SPARE_SLOT = Assumption(
    "one spare slot of two",
    "one server of constant capacity, one profile of one slot, and one reserved task that needs "
    "exactly one of two slots",
    _has_spare_slot,
)
