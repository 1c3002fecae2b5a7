r"""What reserved work leaves of every server: states of idle servers, and their values.

For a release a and a deadline b of reserved tasks of a server, the *slack* of the interval
:math:`[a, b]` is what it offers less what the tasks in it need. Runs break no reserved task if and
only if in every interval the capacity that they block stays within the slack. So what matters of
the past of an idle server is the capacity blocked in the intervals that have begun and not ended.

On a server in state n at the start of slot t, after waiting a run with profile l is worth

.. math:: R_{jkl}(t) + F_l(n) - W_j(n), \qquad F_l(n) = \sum_d q_{ld} V(n \to d),

where :math:`W_j(n)` is the value of waiting for what comes next, in the slot or after it. The
values differ in what a task costs elsewhere: a price, or what other servers offer.

The kernels see the states of one server, ``start..stop-1``, in ascending order of slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import FEASIBLE, ROUNDING, interval_loads
from edgeopt.kernels import compiled
from edgeopt.models.rescue.kernels import FAST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.arrays import Ints as Integers
    from edgeopt.instances.rescue import RescueInstance


STATES: Final = 5_000
"""States of a server beyond which blocked capacity is rounded, unless a grid is given."""

_FREE: Final = -np.inf
"""Blocked capacity of an interval whose slack no further run can use up."""

_GRID: Final = 1 / 16
"""First grid of rounding, in terms of the largest capacity of a slot."""

_DIGITS: Final = 52
"""Binary digits of sums of capacity, which are so computed without rounding."""


class Interval(NamedTuple):
    """An interval of slots, both ends inclusive, and how much of it may be blocked, in units."""

    first: int
    last: int
    slack: float


@dataclass(frozen=True, eq=False)
class Budgets:
    """Intervals of a server and the capacity that may be blocked in them.

    Capacities are whole multiples of a power of two, so small that rounding to it is no more than
    that of floating-point sums: sums do not depend on their order, and equal states have equal
    bits.
    """

    intervals: tuple[Interval, ...]  # by release, then deadline
    before: Floats  # capacity of all slots before, in units; [T+1]
    unit: float  # TMAC

    @classmethod
    def of(cls, instance: RescueInstance, server: int) -> Budgets:
        """Find the intervals of a server; one that others imply is left out."""
        capacity, tasks = instance.capacity[server], instance.promised
        headroom = int(np.ceil(np.log2(capacity.size + 1)))
        unit = float(2.0 ** (np.frexp(capacity.max())[1] - _DIGITS + headroom))
        units = np.rint(capacity / unit)
        mine = tasks.server == server
        start, end, demand = tasks.start[mine], tasks.end[mine], tasks.demand[mine] / unit
        found = []
        for first, last, inside, need, offer in interval_loads(start, end, demand, units):
            of = list(inside)
            if _joined(first, last, start[of], end[of]):
                spare = max(FEASIBLE * float(demand[of].min()), ROUNDING * offer)
                found.append(Interval(first, last, offer - need + spare))
        before = np.concatenate(([0.0], np.cumsum(units)))
        return cls(tuple(found), before, unit)

    @cached_property
    def _rooms(self) -> list[dict[int, float]]:
        """Of every slot, the releases before it of intervals that end in it or later.

        With each, what may be blocked if all slots from this one on are.
        """
        rooms: list[dict[int, float]] = [{} for _ in self.before]
        for first, last, slack in self.intervals:
            for slot in range(first + 1, last + 1):
                room = slack - float(self.before[last + 1] - self.before[slot])
                rooms[slot][first] = min(room, rooms[slot].get(first, np.inf))
        return [dict(sorted(one.items())) for one in rooms]

    def active(self, slot: int) -> list[int]:
        """Return the releases before a slot of intervals that end in it or later."""
        return list(self._rooms[slot])

    def longest(self, slot: int, releases: list[int], blocked: Floats) -> Integers:
        """Return how long runs from a slot on may last, for blocked capacities [n, releases].

        The result is the number of slots to the horizon where no interval stands against more.
        """
        before, horizon = self.before, self.before.size - 1
        column = {release: n for n, release in enumerate(releases)}
        length = np.full(blocked.shape[0], horizon, dtype=np.int64)
        for first, last, slack in self.intervals:
            if last < slot:
                continue
            room = slack - (blocked[:, column[first]] if first < slot else 0.0)
            stop = np.searchsorted(before, before[max(first, slot)] + room, side="right") - 1
            length = np.minimum(length, np.where(stop > last, horizon, stop - slot))
        return np.maximum(length, 0)

    def after(
        self, slot: int, releases: list[int], blocked: Floats, stop: int, *, ran: bool = True
    ) -> Floats:
        """Return the blocked capacities at `stop` if one run takes all slots, or none does."""
        before = self.before
        column = {release: n for n, release in enumerate(releases)}
        rows = np.empty((blocked.shape[0], len(later := self.active(stop))))
        for n, release in enumerate(later):
            own = blocked[:, column[release]] if release < slot else 0.0
            rows[:, n] = own + (before[stop] - before[max(release, slot)] if ran else 0.0)
        return rows

    def settled(self, slot: int, rows: Floats, grid: float, *, up: bool) -> Floats:
        """Round blocked capacities to a grid, and mark those that nothing later can make too much.

        `grid` is in units; 0 does not round.
        """
        if grid > 0.0:
            rows = (np.ceil if up else np.floor)(rows / grid) * grid
        for n, room in enumerate(self._rooms[slot].values()):
            rows[:, n] = np.where(rows[:, n] <= room, _FREE, rows[:, n])
        return rows


def _joined(first: int, last: int, start: Integers, end: Integers) -> bool:
    """Tell whether windows begin and end with an interval, and one crosses every cut in it."""
    if not start.size or start.min() > first or end.max() < last:
        return False
    crossed = np.zeros(last - first, dtype=np.bool_)
    for low, high in zip(start.tolist(), end.tolist(), strict=True):
        crossed[low - first : high - first] = True
    return bool(crossed.all())


@dataclass(frozen=True, eq=False)
class ServerStates:
    """All states in which servers can be idle at the start of a slot, by server and slot.

    State N stands for the end: beyond the horizon all servers are there.
    """

    slot: Integers  # of every state, T for the end; [N+1]
    first: Integers  # states of server k are first[k]..first[k+1]-1; [K+1]
    following: Integers  # state after waiting (0) or a run of d slots; [N, D+1]
    longest: Integers  # how many slots a run may last at most, [N]
    grid: Floats  # to which the blocked capacity of each server is rounded, TMAC; 0: exact; [K]

    @property
    def count(self) -> int:
        """Number of states N of all servers."""
        return self.longest.size

    @classmethod
    def of(
        cls,
        instance: RescueInstance,
        *,
        up: bool = False,
        grid: float | None = None,
        limit: int = STATES,
    ) -> ServerStates:
        """List the states that safe runs can lead to.

        Blocked capacities are exact where that makes at most `limit` states of a server, and else
        rounded to a grid that is doubled until it does; `grid`, in TMAC, is where to begin.
        Rounding down permits more runs, as a bound may; rounding `up` permits fewer, as a policy
        must.
        """
        if grid is not None and not (grid >= 0.0 and np.isfinite(grid)):
            raise OptionError(f"grid is {grid}; it must be finite and not negative")
        return _listed(instance, up, None if grid is None else float(grid), limit)


@lru_cache(maxsize=4)
def _listed(instance: RescueInstance, up: bool, grid: float | None, limit: int) -> ServerStates:
    """List states once for all policies of a study, and its bounds."""
    parts, used = [], []
    for server in range(instance.servers):
        budgets = Budgets.of(instance, server)
        # A whole number of units: what is a multiple of it is found to be one, to the last bit.
        wanted = 0.0 if grid is None else grid / budgets.unit
        width = float(np.ceil(min(wanted, budgets.before[-1])))
        while (part := _states(instance, budgets, width, limit, up=up)) is None:
            coarsest = np.rint(_GRID * float(instance.capacity[server].max()) / budgets.unit)
            width = 2.0 * width if width > 0.0 else float(coarsest)
        parts.append(part)
        used.append(width * budgets.unit)
    first = np.concatenate(([0], np.cumsum([slot.size for slot, _, _ in parts])))
    end = int(first[-1])
    following = [
        np.where(table >= 0, table + base, end)
        for base, (_, table, _) in zip(first.tolist(), parts, strict=False)
    ]
    slots = [slot for slot, _, _ in parts]
    arrays = (
        np.concatenate([*slots, [instance.horizon]]).astype(np.int64),
        first.astype(np.int64),
        np.concatenate(following).astype(np.int64),
        np.concatenate([longest for _, _, longest in parts]),
        np.array(used),
    )
    return ServerStates(*map(fixed, arrays))


def _states(
    instance: RescueInstance, budgets: Budgets, grid: float, limit: int, *, up: bool
) -> tuple[Integers, Integers, Integers] | None:
    """List the states of a server: slots, following states (-1: the end), longest runs.

    None if there are more than `limit`.
    """
    horizon = instance.horizon
    # The shortest of the longest durations of profiles that may last d slots: what allows d.
    never = np.iinfo(np.int64).max
    needed = np.where(instance.duration > 0, instance.longest[:, np.newaxis], never).min(axis=0)
    reach = int(instance.longest.max())
    coming: list[list[tuple[Floats, Integers, int]]] = [[] for _ in range(horizon + 1)]
    coming[0].append((np.zeros((1, 0)), np.zeros(0, dtype=np.int64), 0))
    slots, longest = [], []
    links: list[tuple[Integers, int, Integers]] = []
    count = 0
    for slot in range(horizon):
        releases = budgets.active(slot)
        rows = np.concatenate([rows for rows, _, _ in coming[slot]])
        if releases:
            states, place = np.unique(rows, axis=0, return_inverse=True)
            place = place.reshape(-1)
        else:
            states, place = np.zeros((1, 0)), np.zeros(len(rows), dtype=np.int64)
        at = 0
        for own, sources, step in coming[slot]:
            if sources.size:
                links.append((sources, step, count + place[at : at + len(own)]))
            at += len(own)
        coming[slot] = []
        mine = count + np.arange(len(states))
        count += len(states)
        if count > limit:
            return None
        slots.append(np.full(len(states), slot))
        # What is not asked for need not be known: runs last no longer than the longest.
        room = budgets.longest(slot, releases, states)
        longest.append(np.where(room >= horizon, reach, np.minimum(room, reach)))
        if slot + 1 < horizon:
            waited = budgets.after(slot, releases, states, slot + 1, ran=False)
            waited = budgets.settled(slot + 1, waited, grid, up=up)
            coming[slot + 1].append((waited, mine, 0))
        for step in range(1, min(reach, horizon - 1 - slot) + 1):
            able = longest[-1] >= needed[step - 1]
            if able.any():
                stop = slot + step
                ahead = budgets.after(slot, releases, states[able], stop)
                coming[stop].append((budgets.settled(stop, ahead, grid, up=up), mine[able], step))
    following = np.full((count, instance.max_duration + 1), -1, dtype=np.int64)
    for sources, step, targets in links:
        following[sources, step] = targets
    return np.concatenate(slots), following, np.concatenate(longest)


class Chain(NamedTuple):
    """States and distributions as the kernels take them; arrays C-contiguous and read-only."""

    exclusive: bool
    slot: Integers  # [N+1]
    following: Integers  # [N, D+1]
    room: Integers  # longest run that a state permits, [N]
    profit: Floats  # expected, [T, K, L, J]: loops over devices run along memory
    arrival: Floats  # [T, J]
    duration: Floats  # [L, D]
    longest: Integers  # longest run of a profile, [L]

    @classmethod
    def of(cls, instance: RescueInstance, states: ServerStates) -> Chain:
        """Gather what the kernels need."""
        arrays = (
            states.slot, states.following, states.longest,
            instance.expected_profit.transpose(0, 2, 3, 1),
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

    @classmethod
    def empty(cls, chain: Chain) -> StateValues:
        """Return arrays to fill in."""
        states, steps = chain.room.size, 1 if chain.exclusive else chain.arrival.shape[1]
        future, waiting = np.empty((states, chain.longest.size)), np.empty((states, steps))
        return cls(np.zeros(states + 1), future, waiting)


def state_values(
    chain: Chain,
    first: Integers,
    elsewhere: Floats | None = None,
    routes: Sequence[NDArray[Any]] = (),
    servers: Sequence[int] | None = None,
) -> StateValues:
    """Return the values of servers, by default of all, that tasks are offered or routed to.

    A task that is offered has to beat its worth `elsewhere`, [K or 1, T, paths, J] and not
    negative: a price, or what other servers offer on every one of several paths, of which the mean
    is taken. `routes` has rows, pairs and masses of `Routes`: its tasks come to a server whatever
    the states of others.
    """
    values = StateValues.empty(chain)
    for server in range(first.size - 1) if servers is None else servers:
        start, stop = int(first[server]), int(first[server + 1])
        if elsewhere is None:
            _routed(chain, start, stop, server, *routes, *values)
            continue
        paths = elsewhere.shape[2]
        against = elsewhere[server if elsewhere.shape[0] > 1 else 0]
        _value(chain, start, stop, server, against, np.full(paths, 1.0 / paths), *values)
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


@compiled(writes="value future waiting best", fastmath=FAST, forceinline=True)
def state_value(
    chain: Chain,
    n: int,
    server: int,
    elsewhere: Floats,
    mass: Floats,
    value: Floats,
    future: Floats,
    waiting: Floats,
    best: Floats,
) -> None:
    """Fill in the values of a state in which tasks are offered that are worth so much elsewhere.

    That has the shape [paths, J], and the paths have masses.
    """
    t = chain.slot[n]
    futures(chain, n, value, future[n])
    for j in range(best.size):
        best[j] = -np.inf
    for profile in range(future.shape[1]):
        ahead = future[n, profile]
        if ahead > -np.inf:
            for j in range(best.size):
                best[j] = max(best[j], chain.profit[t, server, profile, j] + ahead)
    total = wait = value[chain.following[n, 0]]
    if chain.exclusive:
        waiting[n, 0] = wait
        for path in range(elsewhere.shape[0]):
            part = 0.0
            for j in range(best.size):
                part += chain.arrival[t, j] * max(0.0, best[j] - wait - elsewhere[path, j])
            total += mass[path] * part
        value[n] = total
        return
    for j in range(best.size - 1, -1, -1):
        wait = waiting[n, j] = total
        if best[j] > wait:
            for path in range(elsewhere.shape[0]):
                gain = max(0.0, best[j] - wait - elsewhere[path, j])
                total += chain.arrival[t, j] * mass[path] * gain
    value[n] = total


@compiled(writes="value future waiting")
def _value(
    chain: Chain,
    start: int,
    stop: int,
    server: int,
    elsewhere: Floats,
    mass: Floats,
    value: Floats,
    future: Floats,
    waiting: Floats,
) -> None:
    """Fill in the values of a server that is offered tasks."""
    best = np.empty(chain.arrival.shape[1], dtype=np.float64)
    # Backward induction over the states, as in Bellman 1957.
    for n in range(stop - 1, start - 1, -1):
        other = elsewhere[chain.slot[n]]
        state_value(chain, n, server, other, mass, value, future, waiting, best)


@compiled(writes="value future waiting")
def _routed(
    chain: Chain,
    start: int,
    stop: int,
    server: int,
    first: Integers,
    pair: Integers,
    mass: Floats,
    value: Floats,
    future: Floats,
    waiting: Floats,
) -> None:
    """Fill in the values of a server that tasks are routed to."""
    devices, profiles = chain.arrival.shape[1], chain.longest.size
    for n in range(stop - 1, start - 1, -1):
        t, after = chain.slot[n], future[n]
        futures(chain, n, value, after)
        wait = total = value[chain.following[n, 0]]
        waiting[n, 0] = wait
        for j in range(devices - 1, -1, -1):
            if not chain.exclusive:
                wait = waiting[n, j] = total
            row = t * devices + j
            for route in range(first[row], first[row + 1]):
                if pair[route] // profiles == server:
                    profile = pair[route] % profiles
                    gain = chain.profit[t, server, profile, j] + after[profile] - wait
                    if gain > 0.0:
                        total += mass[route] * gain
        value[n] = total


@compiled(writes="chance use", fastmath=FAST)
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
    # Chances of states by the forward equation of the Markov chain that the choices make.
    chance[start] = 1.0
    horizon, devices = chain.arrival.shape
    profiles = chain.longest.size
    kind, best = np.empty(devices, dtype=np.int32), np.empty(devices, dtype=np.float64)
    begun = np.empty(profiles, dtype=np.float64)
    for n in range(start, stop):
        here = chance[n]
        if here == 0.0:
            continue
        t = chain.slot[n]
        for j in range(devices):
            best[j] = waiting[n, 0 if chain.exclusive else j] + price[t, j]
            kind[j] = profiles
        for profile in range(profiles):
            ahead = future[n, profile]
            if ahead > -np.inf:
                for j in range(devices):
                    worth = chain.profit[t, server, profile, j] + ahead
                    kind[j] = profile if worth > best[j] else kind[j]
                    best[j] = max(best[j], worth)
        left = here
        begun[:] = 0.0
        for j in range(devices):
            if kind[j] < profiles:
                begins = chain.arrival[t, j] * (here if chain.exclusive else left)
                use[t, j] += begins
                left -= begins
                begun[kind[j]] += begins
        for profile in range(profiles):
            if begun[profile] > 0.0:
                for d in range(1, min(chain.longest[profile], horizon - 1 - t) + 1):
                    part = begun[profile] * chain.duration[profile, d - 1]
                    if part > 0.0:
                        chance[chain.following[n, d]] += part
        chance[chain.following[n, 0]] += left
