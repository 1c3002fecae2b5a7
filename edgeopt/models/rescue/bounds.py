"""Bounds on what every policy earns that never lets a reserved task fail."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.rescue.budgets import ServerStates
from edgeopt.models.rescue.solution import P1Solution
from edgeopt.models.rescue.value_functions import Chain, acceptances, offered
from edgeopt.options import check_kind, check_whole
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.solvers import Certificate

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


STEPS: Final = 400
"""Steps of the descent by default."""

PAIR_STEPS: Final = 40
"""Steps of the descent for pairs of servers, which begins where that for single ones ended."""

_LENGTH: Final = 0.03  # first step length, in terms of the bound over the squared subgradient
_SHORTER: Final = 0.6  # by which steps shrink without progress
_PATIENCE: Final = 6  # steps without progress
_PROGRESS: Final = 1e-5  # least relative progress

Groups = tuple[tuple[int, ...], ...]


@in_html
@dataclass(frozen=True, eq=False)
class SafeBound:
    """A bound on the expected profit of every policy that never lets a reserved task fail.

    Parameters
    ----------
    value
        The bound.
    price
        Prices of tasks that prove it, shape [T, J].
    servers
        What every group of servers earns at most after prices, shape [groups].
    groups
        The groups, single servers or pairs.
    states
        States of idle servers.
    steps
        Prices tried.
    seconds
        Time it took.
    instance
        The instance.
    """

    value: float
    price: Floats = field(repr=False)
    servers: Floats = field(repr=False)
    groups: Groups = field(repr=False)
    states: ServerStates = field(repr=False)
    steps: int
    seconds: float
    instance: RescueInstance = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether no blocked capacity was rounded."""
        return not self.states.grid.any()

    def certificate(self, *, name: str = "") -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.

        Raises
        ------
        CertificateError
            If there is none, as for pairs of servers; the text says why.
        """
        from edgeopt.models.rescue.certificates import certificate_of_safe_bound

        return certificate_of_safe_bound(self, name)


class _Point(NamedTuple):
    """The bound at some prices."""

    value: float
    price: Floats
    parts: Floats
    use: Floats


@checked()
def safe_bound(
    instance: RescueInstance,
    *,
    plan: P1Solution | None = None,
    pairs: bool = False,
    steps: int = STEPS,
    grid: float | None = None,
) -> SafeBound:
    """Bound what every policy earns that never lets a reserved task fail, whatever it observes.

    Parameters
    ----------
    instance
        What is given.
    plan
        Solution of P1-LP with ``forbid_unsafe=True``, whose multipliers of arrivals are the first
        prices; solved if None.
    pairs
        Whether pairs of servers share tasks exactly: tighter by a few per cent, and slower by the
        number of states of a server. Up to four servers are paired in the way that gives the least
        bound at the prices found for single ones, more of them by neighbours. States are rounded
        where a table over two servers would have more than 160,000 entries.
    steps
        Prices to try at most.
    grid
        To which blocked capacity is rounded, TMAC; by default exact up to 5,000 states of a server.

    Returns
    -------
    SafeBound
        The least bound found, with the prices that prove it.

    Raises
    ------
    OptionError
        If a number is out of range, or pairs are asked for and arrivals are independent.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> instance = generate(servers=2, devices=3, horizon=20, reserved=4)
    >>> bound = safe_bound(instance)
    >>> safe_bound(instance, pairs=True).value <= bound.value
    True
    """
    check_whole("steps", steps, 1)
    check_kind("plan", plan, P1Solution, none=True)
    began = time.perf_counter()
    if grid is not None and not (np.isfinite(grid) and grid >= 0.0):
        raise OptionError(f"grid is {grid}; it must be finite and not negative")
    if pairs and instance.arrivals == "independent":
        raise OptionError(
            "pairs=True shares one arrival per slot, and this instance has independent arrivals; "
            "leave pairs out"
        )
    states = ServerStates.of(instance, grid=grid)
    chain = Chain.of(instance, states)
    priced = 0

    def single(price: Floats) -> _Point:
        nonlocal priced
        priced += 1
        values = offered(chain, states.first, price[np.newaxis, :, :, np.newaxis])
        parts = values.value[states.first[:-1]]
        value = float(parts.sum() + (chain.arrival * price).sum())
        return _Point(value, price, parts, acceptances(chain, states.first, price, values))

    if instance.servers == 1:
        best = single(np.zeros(chain.arrival.shape))
    else:
        best = _least(single, _first_prices(instance, plan, chain), chain, steps)
    groups: Groups = tuple((server,) for server in range(instance.servers))
    if pairs and instance.servers > 1:
        tables = PairTables.of(instance, states)

        def paired(price: Floats, pairing: Groups) -> _Point:
            nonlocal priced
            priced += 1
            parts, use = pair_values(tables, pairing, price)
            value = float(parts.sum() + (chain.arrival * price).sum())
            return _Point(value, price, parts, use)

        ways = list(_pairings(instance.servers))
        if instance.servers == 2:  # all share tasks exactly, nothing is to be priced
            pairing, lowest = ways[0], paired(np.zeros_like(best.price), ways[0])
        else:
            first = [paired(best.price, one).value for one in ways] if len(ways) > 1 else [0.0]
            pairing = ways[int(np.argmin(first))]
            evaluate = partial(paired, pairing=pairing)
            lowest = _least(evaluate, best.price, chain, min(steps, PAIR_STEPS), 0.3)
        if lowest.value < best.value:
            best, groups = lowest, pairing
    seconds = time.perf_counter() - began
    return SafeBound(best.value, best.price, best.parts, groups, states, priced, seconds, instance)


def _first_prices(instance: RescueInstance, plan: P1Solution | None, chain: Chain) -> Floats:
    from edgeopt.models.rescue.solve import solve_p1_lp

    if plan is None:
        plan = solve_p1_lp(instance, forbid_unsafe=True)
    if plan.duals.arrival.shape != chain.arrival.shape:
        raise OptionError("plan is one of another instance: its multipliers have another shape")
    return np.maximum(plan.duals.arrival, 0.0)


def _least(
    evaluate: Callable[[Floats], _Point],
    price: Floats,
    chain: Chain,
    steps: int,
    theta: float = 1.0,
) -> _Point:
    """Go down the subgradient from some prices, and return the best point seen.

    The first step is `theta` times that of a start from multipliers of the linear program.
    """
    best = point = evaluate(price)
    waiting = 0
    for _ in range(steps - 1):
        slope = chain.arrival - point.use
        slope[(point.price <= 0.0) & (slope > 0.0)] = 0.0
        size = float((slope * slope).sum())
        if size == 0.0 or best.value <= 0.0:
            break
        length = theta * _LENGTH * best.value / size
        point = evaluate(np.maximum(point.price - length * slope, 0.0))
        enough = point.value < best.value * (1.0 - _PROGRESS)
        if point.value < best.value:
            best = point
        waiting = 0 if enough else waiting + 1
        if waiting == _PATIENCE:
            theta, waiting, point = _SHORTER * theta, 0, best
            if theta < _PROGRESS:
                break
    return best


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
            against = price[np.newaxis, :, :, np.newaxis]
            values = offered(chain, states.first, against, group)
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
            worth = chain.profit[t, j, server, one] + future[side, one]
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
