r"""A bound on what every policy earns that never lets a reserved task fail, known or unknown.

For prices :math:`\lambda_j(t) \ge 0` of tasks and the values :math:`V_k` of idle servers whose runs
pay them,

.. math:: U(\lambda) = \sum_k V_k(\text{start}) + \sum_{t,j} p_j(t)\, \lambda_j(t)

bounds the expected profit of every policy that is safe on all paths, adaptive and randomised ones
included: to a server, what happens on others is a coin, so it earns at most :math:`V_k` after
prices; and no task is accepted twice. U is convex, and its least value is the optimum of a linear
program over expected acceptances. It does not bound policies that know arrivals in advance.

In groups of servers, that no task is accepted twice is enforced exactly within a group, which costs
a table over pairs of states and lowers the bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.rescue.budgets import ServerStates
from edgeopt.models.rescue.results import P1Solution
from edgeopt.models.rescue.safe_pairs import PairTables, pair_values
from edgeopt.models.rescue.safe_values import Chain, acceptances, offered
from edgeopt.options import check_kind, check_whole
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.solvers import Certificate

    Floats = NDArray[np.float64]

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
