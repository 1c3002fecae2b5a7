r"""Values of idle servers under policies that never let a reserved task fail.

On a server in state n at the start of slot t, after waiting a run with profile l is worth

.. math:: R_{jkl}(t) + F_l(n) - W_j(n), \qquad F_l(n) = \sum_d q_{ld} V(n \to d),

where :math:`W_j(n)` is the value of waiting for what comes next, in the slot or after it. The
values differ in what a task costs elsewhere: a price, or what other servers offer.

The kernels see the states of one server, ``start..stop-1``, in ascending order of slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue.budgets import ServerStates

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class Chain(NamedTuple):
    """States and laws as the kernels take them; arrays C-contiguous and read-only."""

    exclusive: bool
    slot: Integers  # [N+1]
    following: Integers  # [N, D+1]
    room: Integers  # longest run that a state permits, [N]
    profit: Floats  # expected, [T, J, K, L]
    arrival: Floats  # [T, J]
    duration: Floats  # [L, D]
    longest: Integers  # longest run of a profile, [L]

    @classmethod
    def of(cls, instance: RescueInstance, states: ServerStates) -> Chain:
        """Gather what the kernels need."""
        arrays = (
            states.slot, states.following, states.longest, instance.expected_profit,
            instance.arrival, instance.duration, instance.longest,
        )  # fmt: skip
        return cls(instance.arrivals == "exclusive", *map(fixed, arrays))


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """View an array as C-contiguous and read-only: kernels know one type of each."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


class StateValues(NamedTuple):
    """What idle servers are worth in all states."""

    value: Floats  # V(n), 0 at the end; [N+1]
    future: Floats  # F_l(n), minus infinity where a run of the profile is not safe; [N, L]
    waiting: Floats  # W_j(n), equal for all devices if arrivals are exclusive: [N, 1] or [N, J]


NO_ROUTES: Final = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def state_values(
    chain: Chain,
    first: Integers,
    elsewhere: Floats | None = None,
    routes: Sequence[NDArray[Any]] = NO_ROUTES,
    servers: Sequence[int] | None = None,
) -> StateValues:
    """Return the values of servers, by default of all, that tasks are offered or routed to.

    A task that is offered has to beat its worth `elsewhere`, [K or 1, T, J, paths]: a price, or
    what other servers offer on every one of several paths, of which the mean is taken. `routes` has
    rows, cells and masses of `Routes`: its tasks come to a server whatever the states of others.
    """
    states, steps = chain.room.size, 1 if chain.exclusive else chain.arrival.shape[1]
    future, waiting = np.empty((states, chain.longest.size)), np.empty((states, steps))
    values = StateValues(np.zeros(states + 1), future, waiting)
    if elsewhere is None:
        elsewhere = np.empty((1, *chain.arrival.shape, 0))
    for server in range(first.size - 1) if servers is None else servers:
        against = elsewhere[server if elsewhere.shape[0] > 1 else 0]
        start, stop = int(first[server]), int(first[server + 1])
        _value(chain, start, stop, server, against, *routes, *values)
    return values


def acceptances(
    chain: Chain,
    first: Integers,
    price: Floats,
    values: StateValues,
    servers: Sequence[int] | None = None,
) -> Floats:
    """Return the expected number of tasks of each device and slot that servers accept, [T, J].

    Every server accepts what beats the price by its values.
    """
    use = np.zeros(chain.arrival.shape)
    for server in range(first.size - 1) if servers is None else servers:
        chance = np.zeros(chain.room.size + 1)
        start, stop = int(first[server]), int(first[server + 1])
        _accepted(chain, start, stop, server, price, values.future, values.waiting, chance, use)
    return use


@compiled(writes="future")
def futures(chain: Chain, n: int, value: Floats, future: Floats) -> None:
    """Fill in F_l(n), minus infinity where a run of the profile is not safe."""
    horizon = chain.arrival.shape[0]
    left = horizon - chain.slot[n]
    for profile in range(chain.longest.size):
        if chain.longest[profile] > chain.room[n]:
            future[profile] = -np.inf
            continue
        total = 0.0
        for d in range(1, min(chain.longest[profile], left - 1) + 1):
            if chain.duration[profile, d - 1] > 0.0:
                total += chain.duration[profile, d - 1] * value[chain.following[n, d]]
        future[profile] = total


@compiled
def _best(chain: Chain, t: int, device: int, server: int, future: Floats) -> float:
    """Return the largest profit and value of what follows over profiles."""
    best = -np.inf
    for profile in range(future.size):
        best = max(best, chain.profit[t, device, server, profile] + future[profile])
    return best


@compiled(writes="value future waiting")
def _value(
    chain: Chain,
    start: int,
    stop: int,
    server: int,
    elsewhere: Floats,
    first: Integers,
    cell: Integers,
    mass: Floats,
    value: Floats,
    future: Floats,
    waiting: Floats,
) -> None:
    """Fill in the values of a server that is offered tasks, or that they are routed to."""
    devices, paths = elsewhere.shape[1], elsewhere.shape[2]
    profiles = chain.longest.size
    for n in range(stop - 1, start - 1, -1):
        t, after = chain.slot[n], future[n]
        futures(chain, n, value, after)
        wait = value[chain.following[n, 0]]
        waiting[n, 0] = wait
        total = wait
        for j in range(devices - 1, -1, -1):
            if not chain.exclusive:
                wait = total
                waiting[n, j] = wait
            if first.size > 0:
                row = t * devices + j
                for route in range(first[row], first[row + 1]):
                    if cell[route] // profiles == server:
                        profile = cell[route] % profiles
                        gain = chain.profit[t, j, server, profile] + after[profile] - wait
                        if gain > 0.0:
                            total += mass[route] * gain
            elif chain.arrival[t, j] > 0.0:
                best = _best(chain, t, j, server, after) - wait
                if best > 0.0:
                    ahead = 0.0
                    for path in range(paths):
                        ahead += max(0.0, best - elsewhere[t, j, path])
                    total += chain.arrival[t, j] * (ahead / paths)
        value[n] = total


@compiled(writes="chance use")
def _accepted(
    chain: Chain,
    start: int,
    stop: int,
    server: int,
    price: Floats,
    future: Floats,
    waiting: Floats,
    chance: Floats,
    use: Floats,
) -> None:
    chance[start] = 1.0
    horizon, devices = chain.arrival.shape
    for n in range(start, stop):
        here = chance[n]
        if here == 0.0:
            continue
        t = chain.slot[n]
        left = here
        for j in range(devices):
            begins = chain.arrival[t, j] * (here if chain.exclusive else left)
            if begins == 0.0:
                continue
            wait = waiting[n, 0 if chain.exclusive else j]
            best, threshold = -1, wait + price[t, j]
            for profile in range(future.shape[1]):
                worth = chain.profit[t, j, server, profile] + future[n, profile]
                if worth > threshold:
                    best, threshold = profile, worth
            if best >= 0:
                use[t, j] += begins
                left -= begins
                for d in range(1, min(chain.longest[best], horizon - 1 - t) + 1):
                    if chain.duration[best, d - 1] > 0.0:
                        chance[chain.following[n, d]] += begins * chain.duration[best, d - 1]
        chance[chain.following[n, 0]] += left
