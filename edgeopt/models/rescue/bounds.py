"""Bounds on what every policy earns that never lets a reserved task fail."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.rescue.server_states import Chain, ServerStates, acceptances, state_values
from edgeopt.models.rescue.solution import P1Solution
from edgeopt.options import check_kind, check_whole
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.arrays import Floats
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.solvers import Certificate


STEPS: Final = 400
"""Steps of the descent by default."""

_LENGTH: Final = 0.03  # first step length, in terms of the bound over the squared subgradient
_SHORTER: Final = 0.6  # by which steps shrink without progress
_PATIENCE: Final = 6  # steps without progress
_PROGRESS: Final = 1e-5  # least relative progress


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
        What every server earns at most after prices, shape [K].
    states
        States of idle servers.
    steps
        Prices tried.
    seconds
        Time it took.
    instance
        The instance.

    Notes
    -----
    Ours, see `safe_bound`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import SafeBound, safe_bound
    >>> bound = safe_bound(small(1))
    >>> bound.value >= 0, bound.servers.shape
    (True, (1,))
    """

    value: float
    price: Floats = field(repr=False)
    servers: Floats = field(repr=False)
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
        """
        from edgeopt.models.rescue.certificates import certificate_of_safe_bound

        return certificate_of_safe_bound(self, name)


class Point(NamedTuple):
    """The bound at some prices, and what a step of the descent from them needs."""

    value: float
    price: Floats
    parts: Floats
    use: Floats


@checked()
def safe_bound(
    instance: RescueInstance,
    *,
    plan: P1Solution | None = None,
    steps: int = STEPS,
    grid: float | None = None,
    time_limit: float | None = None,
) -> SafeBound:
    """Bound what every policy earns that never lets a reserved task fail, whatever it observes.

    Parameters
    ----------
    instance
        What is given.
    plan
        Solution of P1-LP with ``forbid_unsafe=True``, whose multipliers of arrivals are the first
        prices; solved if None.
    steps
        Prices to try at most.
    grid
        To which blocked capacity is rounded, TMAC; by default exact up to 5,000 states of a server.
    time_limit
        Seconds after which no further prices are tried, beside those to solve for a plan; the first
        ones always are.

    Returns
    -------
    SafeBound
        The least bound found, with the prices that prove it.

    Raises
    ------
    OptionError
        If a number is out of range, or the plan is one of another instance.

    Notes
    -----
    Ours: the rows (3a), by which a task runs once, are priced. At prices every server is a decision
    process of its own, whose states are what reserved work leaves, as in relaxations of weakly
    coupled dynamic programs (Adelman and Mersereau 2008).

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.models.rescue import solve_p1_lp
    >>> instance = generate(servers=2, devices=3, horizon=20, reserved=4)
    >>> safe_bound(instance).value <= solve_p1_lp(instance, forbid_unsafe=True).bound
    True
    """
    check_whole("steps", steps, 1)
    check_kind("plan", plan, P1Solution, none=True)
    began = time.perf_counter()
    states = ServerStates.of(instance, grid=grid)
    chain = Chain.of(instance, states)
    priced = 0

    def single(price: Floats) -> Point:
        nonlocal priced
        priced += 1
        values = state_values(chain, states.first, price[np.newaxis, :, np.newaxis])
        parts = values.value[states.first[:-1]]
        value = float(parts.sum() + (chain.arrival * price).sum())
        return Point(value, price, parts, acceptances(chain, states.first, price, values))

    if instance.servers == 1:
        best = single(np.zeros(chain.arrival.shape))
    else:
        prices = _first_prices(instance, plan, chain)
        end = None if time_limit is None else began + time_limit
        best = descend(single, prices, chain, steps, end=end)
    seconds = time.perf_counter() - began
    return SafeBound(best.value, best.price, best.parts, states, priced, seconds, instance)


def _first_prices(instance: RescueInstance, plan: P1Solution | None, chain: Chain) -> Floats:
    from edgeopt.models.rescue.solve import solve_p1_lp

    if plan is None:
        plan = solve_p1_lp(instance, forbid_unsafe=True)
    if plan.duals.arrival.shape != chain.arrival.shape:
        raise OptionError("plan is one of another instance: its multipliers have another shape")
    return np.maximum(plan.duals.arrival, 0.0)


def descend(
    evaluate: Callable[[Floats], Point],
    price: Floats,
    chain: Chain,
    steps: int,
    theta: float = 1.0,
    end: float | None = None,
) -> Point:
    """Go down the subgradient from some prices, and return the best point seen until `end`.

    Steps are Polyak's with a share of the bound for the gap, shortened where they do not pay (Held,
    Wolfe, Crowder 1974).

    The first step is `theta` times that of a start from multipliers of the linear program.
    """
    best = point = evaluate(price)
    waiting = 0
    for _ in range(steps - 1):
        slope = chain.arrival - point.use
        slope[(point.price <= 0.0) & (slope > 0.0)] = 0.0
        size = float((slope * slope).sum())
        if size == 0.0 or best.value <= 0.0 or (end is not None and time.perf_counter() >= end):
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
