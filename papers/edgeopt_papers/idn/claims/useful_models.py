"""INFIDA on useful pairs and within budgets: nothing is lost, and what roundings keep."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.regret import PSI
from edgeopt.models.idn import useful_models
from edgeopt.online.idn import Infida, Outcome, serve
from edgeopt.online.idn import Slot as At
from edgeopt.online.idn.kernels import refill_row
from edgeopt_papers.idn.claims.evaluation import CHOICE, WHOLE, Evaluation, claim, free
from edgeopt_papers.idn.claims.instances import DRAWN, EXPERTS, LONG
from edgeopt_papers.idn.claims.residual import FITS, WITH_LEFTOVER
from edgeopt_papers.idn.claims.rounding_distribution import (
    Residual,
    Rounded,
    expectations,
    expected_gain,
)
from edgeopt_papers.idn.claims.slot import regret_constant
from edgeopt_papers.idn.claims.theorem import require_use, static_optimum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.slot import Slot


def _gain(view: Evaluation) -> Iterator[Measurement]:
    """Compare the gain of allocations with that of their useful models alone."""
    instance = view.instance
    kept = (useful_models(instance) | instance.repository).ravel()
    for slot in view.slots:
        alone, whole = slot.ranked(view.allocations * kept), slot.ranked(view.allocations)
        n = int(np.argmax(np.abs(alone - whole)))
        size = float(slot.requests @ instance.ranking.repository_cost)
        yield Measurement(alone[n], whole[n], {"allocation": n}, size=size)


def _peak(view: Evaluation) -> float:
    """Return the most requests that a type ever has, at least one."""
    return float(view.instance.requests.max(initial=1))


def _regret(view: Evaluation, policy: Infida) -> Measurement:
    """Run a policy on an oblivious adversary; expected gains are those of its distribution."""
    instance, potential = view.instance, view.adversary.potential
    state = policy.start(instance)
    constant, slots = regret_constant(state.constants), instance.horizon
    share = policy.guarantee(instance).share
    # Without what is filled up afterwards, which only adds.
    residual: Residual = "bernoulli"
    if policy.residual == "half":
        residual, constant = "half", constant / 2
    best = static_optimum(view)
    promise = require_use(constant, slots, share * best.gain * slots)
    gained = 0.0
    for t in range(slots):
        gained += expected_gain(view, view.slot(t), state.fractional, residual)
        seen = Outcome(instance.requests[t], np.zeros(0), potential[t], 0.0)
        state = policy.learn(state, At(t), state.allocation, seen)
    proof = {"allocation": best.allocation, "share": share}
    return Measurement(share * best.gain * slots - gained, promise, proof)


def _useful_regret(view: Evaluation) -> Measurement:
    return _regret(view, Infida(step="theory", pairs="useful", peak=_peak(view)))


def _reserve_regret(view: Evaluation) -> Measurement:
    policy = Infida(step="theory", pairs="useful", peak=_peak(view), residual="reserve")
    return _regret(view, policy)


def _half_regret(view: Evaluation) -> Measurement:
    policy = Infida(step="theory", pairs="useful", peak=_peak(view), residual="half")
    return _regret(view, policy)


def _filled_up(view: Evaluation) -> Iterator[tuple[Rounded, Slot, NDArray[np.bool_]]]:
    """Fill up all that the fair coin may leave as INFIDA does, on the credit of the slot."""
    if not view.small:
        raise NotApplicableError("too large to fill up every outcome")
    instance = view.instance
    before = view.integral > 0.5
    for n, (found, slot) in enumerate(expectations(view, "half")):
        credit = slot.supergradient(found.flat[0]).reshape(found.point.shape)
        filled = found.outcomes.reshape(-1, *found.point.shape) > 0.5
        for v in np.flatnonzero(free(instance)):
            kinds, kind = np.unique(filled[:, v], axis=0, return_inverse=True)
            for row in kinds:
                refill_row(
                    found.point[v], credit[v], instance.size[v], instance.budget[v],
                    before[n % len(before), v], row,
                )  # fmt: skip
            filled[:, v] = kinds[kind.ravel()]
        yield found, slot, filled


def _filled_gain(view: Evaluation) -> Iterator[Measurement]:
    for found, slot, filled in _filled_up(view):
        rows = filled.reshape(len(filled), -1).astype(float)
        measured = float(found.chance @ slot.ranked(rows))
        yield Measurement(measured, PSI / 2 * float(slot.ranked(found.flat)[0]))


def _filled_use(view: Evaluation) -> Iterator[Measurement]:
    choice, budget = free(view.instance), view.instance.budget
    for _, _, filled in _filled_up(view):
        used = (filled * view.instance.size).sum(axis=2)[:, choice]
        n, v = np.unravel_index(int(np.argmax(used / budget[choice])), used.shape)
        yield Measurement(float(used[n, v]), float(budget[choice][v]))


def _filled_cost(view: Evaluation) -> Iterator[Measurement]:
    """Serve the first slot with and without what is added, in several orders of the types."""
    instance, requests = view.instance, view.instance.requests[0]
    orders = list(itertools.islice(itertools.permutations(range(instance.types)), ORDERS))
    for found, _, filled in _filled_up(view):
        rounded = found.outcomes.reshape(filled.shape) > 0.5
        for n in np.flatnonzero((rounded != filled).any(axis=(1, 2)))[:ADDED]:
            for order in orders:
                draw = np.array(order)
                more, less = (
                    serve(instance, requests, rows[n], draw=draw).cost for rows in (filled, rounded)
                )
                yield Measurement(more, less, {"order": order, "allocation": rounded[n]})


ORDERS = 6
"""Most orders of request types that are tried."""

ADDED = 4
"""Most outcomes of a rounding that are served with and without what is added."""

CLAIMS = (
    claim("useful.gain", _gain, DRAWN, assumptions=(WHOLE,)),
    claim("useful.regret", _useful_regret, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("reserve.regret", _reserve_regret, LONG, assumptions=(CHOICE, WHOLE)),
    claim("half.regret", _half_regret, (EXPERTS, LONG), assumptions=(CHOICE, WHOLE)),
    claim("half.filled", _filled_gain, WITH_LEFTOVER, assumptions=(CHOICE, FITS, WHOLE)),
    claim("half.filled.budget", _filled_use, WITH_LEFTOVER, assumptions=(CHOICE, FITS)),
    claim("filled.run_time", _filled_cost, WITH_LEFTOVER, assumptions=(CHOICE, FITS)),
)
