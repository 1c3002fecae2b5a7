"""A bound on safe policies for which pairs of servers share tasks exactly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.rescue.bounds import Point, descend
from edgeopt.models.rescue.server_states import Chain, ServerStates, acceptances, state_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgeopt.arrays import Floats
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import SafeBound


STEPS: Final = 40
"""Steps of the descent, which begins where that for single servers ended."""

Groups = tuple[tuple[int, ...], ...]


class PairedBound(NamedTuple):
    """A bound, the prices that prove it, and what groups of servers earn at most after them."""

    value: float
    price: Floats  # [T, J]
    servers: Floats  # [groups]
    groups: Groups


def paired_bound(instance: RescueInstance, bound: SafeBound, *, steps: int = STEPS) -> PairedBound:
    """Improve a bound by pairs: tighter by a few per cent, slower by the states of a server.

    Up to four servers are paired in the way that gives the least bound at the prices of single
    ones, more of them by neighbours. States are rounded where a table over two servers would have
    more than `ENTRIES` entries.
    """
    if instance.arrivals == "independent":
        raise OptionError(
            "pairs share one arrival per slot; this instance has independent arrivals"
        )
    single = tuple((server,) for server in range(instance.servers))
    least = PairedBound(bound.value, bound.price, bound.servers, single)
    if instance.servers == 1:
        return least
    tables = PairTables.of(instance, bound.states)

    def paired(price: Floats, pairing: Groups) -> Point:
        parts, use = pair_values(tables, pairing, price)
        value = float(parts.sum() + (tables.chain.arrival * price).sum())
        return Point(value, price, parts, use)

    ways = list(_pairings(instance.servers))
    if instance.servers == 2:  # all share tasks exactly, nothing is to be priced
        pairing, lowest = ways[0], paired(np.zeros_like(bound.price), ways[0])
    else:
        first = [paired(bound.price, one).value for one in ways] if len(ways) > 1 else [0.0]
        pairing = ways[int(np.argmin(first))]
        evaluate = partial(paired, pairing=pairing)
        lowest = descend(evaluate, bound.price, tables.chain, steps, 0.3)
    if lowest.value < bound.value:
        return PairedBound(lowest.value, lowest.price, lowest.parts, pairing)
    return least


def _pairings(servers: int) -> Iterator[Groups]:
    """Yield ways to group servers in pairs: all for up to four, neighbours beyond."""
    everyone = tuple(range(servers))
    if servers <= 4:
        yield from _matchings(everyone)
    else:
        yield tuple(everyone[at : at + 2] for at in range(0, servers, 2))


def _matchings(servers: Sequence[int]) -> Iterator[Groups]:
    if len(servers) < 2:
        yield tuple((one,) for one in servers)
        return
    first, *others = servers
    for other in others:
        rest = [one for one in others if one != other]
        for more in _matchings(rest):
            yield ((first, other), *more)
    if len(servers) % 2:
        for more in _matchings(others):
            yield ((first,), *more)


ENTRIES: Final = 160_000
"""Most pairs of states of two servers: each price takes a few tenths of a second for as many."""


class PairTables(NamedTuple):
    """States of the servers, few enough for tables over pairs of them."""

    states: ServerStates
    chain: Chain

    @classmethod
    def of(cls, instance: RescueInstance, states: ServerStates) -> PairTables:
        """Round states until a table of every two servers has few enough entries."""
        most = int(np.sqrt(ENTRIES)) - 1
        if np.diff(states.first).max() > most:
            states = ServerStates.of(instance, limit=most)
        return cls(states, Chain.of(instance, states))


def pair_values(
    tables: PairTables, groups: tuple[tuple[int, ...], ...], price: Floats
) -> tuple[Floats, Floats]:
    """Return what every group earns at most after prices, and the tasks that all accept, [T, J]."""
    states, chain = tables
    parts, use = np.zeros(len(groups)), np.zeros(price.shape)
    for n, group in enumerate(groups):
        start = int(states.first[group[0]])
        if len(group) == 1:
            against = price[np.newaxis, :, np.newaxis]
            values = state_values(chain, states.first, against, servers=group)
            parts[n] = values.value[start]
            use += acceptances(chain, states.first, price, values, group)
            continue
        pair = Pair(*group, *(int(states.first[k + more]) for k in group for more in (0, 1)))
        value = np.zeros((pair.stop - pair.start + 1, pair.other_stop - pair.other_start + 1))
        _pair_values(chain, pair, price, value)
        parts[n] = value[0, 0]
        _pair_use(chain, pair, price, value, np.zeros_like(value), use)
    return parts, use


class Pair(NamedTuple):
    """Two servers and the ranges of their states."""

    server: int
    other: int
    start: int
    stop: int
    other_start: int
    other_stop: int


@compiled
def _after(chain: Chain, start: int, stop: int, n: int, slots: int) -> int:
    """Return the state after waiting or a run, counted from the first of its server."""
    return int(min(chain.following[start + n, slots], stop) - start)


@compiled
def _slot(chain: Chain, start: int, stop: int, n: int) -> int:
    """Return the slot of a state counted from the first of its server."""
    return chain.arrival.shape[0] if start + n == stop else int(chain.slot[start + n])


@compiled(writes="future ahead")
def _pair_futures(
    chain: Chain, pair: Pair, n: int, m: int, value: Floats, future: Floats, ahead: Floats
) -> tuple[int, int]:
    """Fill in what follows a run on either server; return the states after waiting.

    `future` has shape [2, L], minus infinity where no run may begin; `ahead` is memory for values
    after 1 and more slots.
    """
    t = _slot(chain, pair.start, pair.stop, n)
    u = _slot(chain, pair.other_start, pair.other_stop, m)
    waited = _after(chain, pair.start, pair.stop, n, 0) if t <= u else n
    other_waited = _after(chain, pair.other_start, pair.other_stop, m, 0) if u <= t else m
    for which in range(2):
        room = 0
        if which == 0 and t <= u:
            room = chain.room[pair.start + n]
            for d in range(1, min(room, ahead.size) + 1):
                ahead[d - 1] = value[_after(chain, pair.start, pair.stop, n, d), other_waited]
        elif which == 1 and u <= t:
            room = chain.room[pair.other_start + m]
            for d in range(1, min(room, ahead.size) + 1):
                after = _after(chain, pair.other_start, pair.other_stop, m, d)
                ahead[d - 1] = value[waited, after]
        for profile in range(chain.longest.size):
            longest = chain.longest[profile]
            if longest > room:
                future[which, profile] = -np.inf
            else:
                total = 0.0
                for d in range(longest):
                    total += chain.duration[profile, d] * ahead[d]
                future[which, profile] = total
    return waited, other_waited


@compiled
def _choice(
    chain: Chain, pair: Pair, t: int, j: int, future: Floats, threshold: float
) -> tuple[int, int, float]:
    """Return server and profile of most profit and future above a threshold, and that; or -1."""
    which, profile = -1, -1
    for side in range(2):
        server = pair.server if side == 0 else pair.other
        for one in range(future.shape[1]):
            worth = chain.profit[t, server, one, j] + future[side, one]
            if worth > threshold:
                which, profile, threshold = side, one, worth
    return which, profile, threshold


@compiled(writes="value")
def _pair_values(chain: Chain, pair: Pair, price: Floats, value: Floats) -> None:
    """Fill in the table of values from the last slot on."""
    devices, reach = chain.arrival.shape[1], chain.following.shape[1] - 1
    future, ahead = np.empty((2, chain.longest.size)), np.empty(reach)
    last, other_last = value.shape[0] - 1, value.shape[1] - 1
    for n in range(last, -1, -1):
        t = _slot(chain, pair.start, pair.stop, n)
        for m in range(other_last, -1, -1):
            u = _slot(chain, pair.other_start, pair.other_stop, m)
            first = min(t, u)
            if first == chain.arrival.shape[0] or abs(t - u) >= reach:
                continue
            waited, other_waited = _pair_futures(chain, pair, n, m, value, future, ahead)
            wait = value[waited, other_waited]
            total = wait
            for j in range(devices):
                if chain.arrival[first, j] > 0.0:
                    threshold = wait + price[first, j]
                    which, _, worth = _choice(chain, pair, first, j, future, threshold)
                    if which >= 0:
                        total += chain.arrival[first, j] * (worth - threshold)
            value[n, m] = total


@compiled(writes="chance use")
def _pair_use(
    chain: Chain, pair: Pair, price: Floats, value: Floats, chance: Floats, use: Floats
) -> None:
    """Follow the states of a pair from the start, and add up what it accepts."""
    devices, reach = chain.arrival.shape[1], chain.following.shape[1] - 1
    future, ahead = np.empty((2, chain.longest.size)), np.empty(reach)
    chance[0, 0] = 1.0
    for n in range(value.shape[0]):
        t = _slot(chain, pair.start, pair.stop, n)
        for m in range(value.shape[1]):
            u = _slot(chain, pair.other_start, pair.other_stop, m)
            here, first = chance[n, m], min(t, u)
            if here == 0.0 or first == chain.arrival.shape[0] or abs(t - u) >= reach:
                continue
            waited, other_waited = _pair_futures(chain, pair, n, m, value, future, ahead)
            wait, left = value[waited, other_waited], here
            for j in range(devices):
                begins = here * chain.arrival[first, j]
                if begins == 0.0:
                    continue
                which, profile, _ = _choice(chain, pair, first, j, future, wait + price[first, j])
                if which < 0:
                    continue
                use[first, j] += begins
                left -= begins
                for d in range(1, chain.longest[profile] + 1):
                    share = begins * chain.duration[profile, d - 1]
                    if share == 0.0:
                        continue
                    if which == 0:
                        after = _after(chain, pair.start, pair.stop, n, d)
                        chance[after, other_waited] += share
                    else:
                        after = _after(chain, pair.other_start, pair.other_stop, m, d)
                        chance[waited, after] += share
            chance[waited, other_waited] += left
