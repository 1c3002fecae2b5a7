"""What separating training and serving may cost: the constant of Lemma 5, printed and corrected.

All take the instance as given: costs are weighted, and the paper's letters stand for
:math:`r^t` the cost of a Wh, :math:`E_{ij}` the energy of a round on a client and
:math:`d_{kn}` that of a request, :math:`C_k` a capacity, :math:`S_n` the work of a request.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.models.edr.routing import conditions, routing_problem
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.edr.claims import counterexamples
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import AFFORDABLE, CAPPED, PRICED, Evaluation, claim
from edgeopt_papers.edr.claims.instances import DRAWN, STEADY
from edgeopt_papers.edr.claims.serving import require_whole

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance


class Parts(NamedTuple):
    """Maxima and minima that the constants are made of."""

    energy_cost: float  # largest cost of all energy under a cap, max over t of r R
    delay_per_energy: float  # largest delay cost of a client's round per cost of its energy
    round_energy: float  # least over tasks, clients and frames of r E Q
    task_energy: float  # sum over the tasks of their least r e Q
    # Largest d C / min S over sites and types, without the price and with it
    serving_energy: float
    serving_energy_priced: float
    serving_delay: float  # largest delay cost times C / min S over routes
    # Least d w, without the price and with it
    asked_energy: float
    asked_energy_priced: float
    asked_delay: float  # least delay cost times w over routes


def parts(instance: EdrInstance) -> Parts:
    """Read maxima and minima off an instance."""
    price = instance.energy_weight * instance.price
    energy, seconds = _clients(instance)
    rounds = instance.rounds[None, :, None]
    member = instance.client[None]
    priced = price[:, None, None] * energy
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(seconds > 0, instance.delay_weight * seconds / priced, 0.0)
    work = float(instance.request_work.min())
    served = float((instance.request_energy * instance.capacity[:, None]).max()) / work
    asked = instance.request_energy.min(axis=0)
    least_asked = (asked * instance.requests.min(axis=2)).min(axis=(1, 2))
    slow, soon = 0.0, np.inf
    for frame, slot in np.ndindex(instance.frames, instance.slots):
        delay = instance.delay_weight * instance.request_seconds(frame, slot)
        slow = max(slow, float((delay * instance.capacity[:, None]).max()))
        need = instance.requests[frame, slot][:, None, :]
        soon = min(soon, float((delay * need).min()))
    task_energy = price[:, None] * instance.round_energy * instance.rounds
    return Parts(
        energy_cost=float((price * instance.cap).max()),
        delay_per_energy=float(np.where(member, ratio, 0.0).max(initial=0.0)),
        round_energy=float(np.where(member, priced * rounds, np.inf).min(initial=np.inf)),
        task_energy=float(task_energy.min(axis=0).sum()),
        serving_energy=served,
        serving_energy_priced=served * float(price.max()),
        serving_delay=slow / work,
        asked_energy=float(least_asked.min()),
        asked_energy_priced=float((price * least_asked).min()),
        asked_delay=soon,
    )


def _clients(instance: EdrInstance) -> tuple[Floats, Floats]:
    """Return energy and delay of a round of each task on each client, shapes [T, I, J]."""
    shape = (instance.frames, instance.tasks, instance.sites)
    energy, seconds = np.zeros(shape), np.zeros(shape)
    travel = instance.propagation.mean(axis=1)
    for i, server in enumerate(instance.server.tolist()):
        there = instance.model_size[i] / instance.rate[:, :, server]
        back = instance.model_size[i] / instance.rate[:, server, :]
        joules = instance.power * there + instance.power[:, [server]] * back
        energy[:, i] = joules / 3600 + instance.round_work[i] * instance.energy_per_work
        seconds[:, i] = there + back + travel[:, :, server] + travel[:, server, :]
        seconds[:, i, server] = 0.0
    return energy, np.where(instance.client, seconds, 0.0)


def published_constant(instance: EdrInstance) -> float:
    """Return the constant of Lemma 5 as printed, equation (48).

    Its fifth term is 0: over all sites k, some is not the server of a task, or is its own client.
    """
    one = parts(instance)
    T, D, J, N = instance.requests.shape
    plus = one.delay_per_energy * J**2 * one.energy_cost * T + one.energy_cost * T
    plus += (one.serving_energy + one.serving_delay) * T * D * J
    minus = instance.tasks * J * T * one.round_energy if instance.tasks else 0.0
    minus += (one.asked_delay + one.asked_energy) * T * D * N * J
    return _finite(plus - minus)


def _finite(constant: float) -> float:
    if not np.isfinite(constant):
        raise NotApplicableError("the constant is infinite: some delay comes with no energy cost")
    return float(constant)


def corrected_constant(instance: EdrInstance) -> float:
    """Return the constant with the rounds of a task counted once, and energy at its price."""
    one = parts(instance)
    T, D, J, N = instance.requests.shape
    plus = (one.delay_per_energy + 1) * one.energy_cost * T
    plus += (one.serving_energy_priced + one.serving_delay) * T * D * J
    minus = one.task_energy + (one.asked_delay + one.asked_energy_priced) * T * D * N * J
    return _finite(plus - minus)


def route_spread(instance: EdrInstance) -> float:
    r"""Return what all requests cost on their dearest routes less that on their cheapest ones.

    .. math:: \sum_{t \tau j n} w \Bigl( \max_k - \min_k \Bigr) (r d_{kn} + \delta_{jkn})

    over the routes that a request may take.
    """
    total = 0.0
    for frame in range(instance.frames):
        shown = [conditions(instance, frame, slot) for slot in range(instance.slots)]
        routes = routing_problem(instance, shown, price=0.0)
        count = np.diff(routes.first)
        types = np.tile(np.arange(instance.types), instance.slots * instance.sites)
        price = instance.energy_weight * float(instance.price[frame])
        cost = price * instance.request_energy[routes.site, np.repeat(types, count)]
        cost = cost + instance.delay_weight * routes.seconds
        some = count > 0
        if some.any():
            begin = routes.first[:-1][some]
            spread = np.maximum.reduceat(cost, begin) - np.minimum.reduceat(cost, begin)
            total += float(instance.requests[frame].ravel()[some] @ spread)
    return total


BOUNDED = (PRICED, AFFORDABLE, CAPPED)
"""What the constants of Lemma 5 assume."""

CAPPED_INSTANCES = {
    **named_instance(counterexamples.lemma5),
    **named_instance(counterexamples.theorem3),
    **named_instance(named.dear_requests),
    **named_instance(named.cheap_requests),
    **STEADY,
    **DRAWN,
}
"""Instances with caps in all or some frames."""

SEPARATE_INSTANCES = {**CAPPED_INSTANCES, **named_instance(named.alternating_price, 16)}
"""Instances on which training and serving apart is compared with both together."""


def _served_energy(view: Evaluation, priced: bool) -> float:
    """Energy of the requests, served together with the even rates trained; or what it costs."""
    total = 0.0
    for t in range(view.problem.frames):
        found = require_whole(view.serving.together(t, view.problem.rate[t]), t)
        total += (found.price if priced else 1.0) * found.energy
    return total


def _all_slots(instance: EdrInstance) -> int:
    return instance.frames * instance.slots * instance.sites


def _equation49(view: Evaluation) -> Measurement:
    return Measurement(_served_energy(view, priced=True), _served_energy(view, priced=False))


def _equation55(view: Evaluation, priced: bool) -> Measurement:
    most = parts(view.instance)
    each = most.serving_energy_priced if priced else most.serving_energy
    return Measurement(_served_energy(view, priced), each * _all_slots(view.instance))


def _equation57(view: Evaluation, priced: bool) -> Measurement:
    least = parts(view.instance)
    each = least.asked_energy_priced if priced else least.asked_energy
    promise = each * _all_slots(view.instance) * view.instance.types
    return Measurement(_served_energy(view, priced), promise)


_dear = named_instance(named.dear_requests)

CLAIMS = (
    claim(
        "equation49.published",
        _equation49,
        (_dear, named.cheap_requests),
        assumptions=BOUNDED,
        tolerance=SOLVED,
        counterexample=next(iter(_dear)),
    ),
    *(
        claim(
            f"equation{number}{'.priced' * priced}",
            partial(measure, priced=priced),
            CAPPED_INSTANCES,
            assumptions=BOUNDED,
            tolerance=SOLVED,
        )
        for number, measure in ((55, _equation55), (57, _equation57))
        for priced in (False, True)
    ),
)
