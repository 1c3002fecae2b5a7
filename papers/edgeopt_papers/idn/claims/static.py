"""Static placements at run time, fractional allocations, and credit for shared models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import Assumption, Measured, Measurement, NotApplicableError
from edgeopt.bounds.regret import PSI
from edgeopt.models.idn import Demand
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.idn.claims import instances as named
from edgeopt_papers.idn.claims.evaluation import (
    CHOICE,
    COVERED,
    ONE_CHOICE,
    Evaluation,
    claim,
    free,
    network,
)
from edgeopt_papers.idn.claims.instances import (
    DRAWN,
    ONE_NODE,
    adversarial,
    crowded_out,
    shared_model,
)
from edgeopt_papers.idn.claims.rounding_distribution import rounded
from edgeopt_papers.idn.claims.theorem import all_allocations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance, Ranking

ORDERS = ("sequential", "fluid")


def _few_slots(view: Evaluation) -> IdnInstance:
    """Return the network with as many slots as are served and bounded here."""
    kept = view.instance.requests[: 6 if view.small else 1]
    return view.instance.replace(requests=kept)


def _cooperative_bound(instance: IdnInstance) -> float:
    """Proven bound on the gain per slot when types share capacities as suits the whole best, ms."""
    from edgeopt.models.idn.bounds import solve_cooperative

    return float(solve_cooperative(instance).bound)


def _served(instance: IdnInstance, slot: int, allocation: NDArray[np.float64], order: str) -> float:
    """Gain of one slot, served in an order, ms."""
    from edgeopt.online.idn import serve

    requests: Any = instance.requests[slot]
    kind: Any = order
    alone = serve(instance, requests, np.asarray(instance.empty), order=kind).cost
    return float(alone - serve(instance, requests, allocation > 0, order=kind).cost)


def _static(view: Evaluation) -> Measurement:
    """Serve static allocations in several orders; the best one against the bound."""
    instance = _few_slots(view)
    try:
        tried = all_allocations(instance)[:64]
    except NotApplicableError:
        tried = view.integral
    gains = [
        np.mean([_served(instance, t, x, order) for t in range(instance.horizon)])
        for x in tried
        for order in ORDERS
    ]
    return Measurement(float(max(gains)), _cooperative_bound(instance))


def _dynamic(view: Evaluation) -> Measurement:
    """Take the best allocation in every slot."""
    instance = _few_slots(view)
    every = all_allocations(instance)
    best = [
        max(_served(instance, t, x, "sequential") for x in every) for t in range(instance.horizon)
    ]
    return Measurement(float(np.mean(best)), _cooperative_bound(instance))


def _moving(view: Evaluation) -> Measurement:
    """Take the best allocation in every slot, and the bound of every slot by itself."""
    instance = _few_slots(view)
    tried = all_allocations(instance) if view.small else view.integral
    gains, bounds = [], []
    for t in range(instance.horizon):
        gains.append(max(_served(instance, t, x, order) for x in tried for order in ORDERS))
        bounds.append(_cooperative_bound(instance.replace(requests=instance.requests[t : t + 1])))
    return Measurement(float(np.mean(gains)), float(np.mean(bounds)))


def _drawn(view: Evaluation) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield gains at run time of what fractional allocations are rounded to, and chances."""
    instance = _few_slots(view)
    for found in rounded(view):
        gains = [
            np.mean(
                [
                    _served(instance, t, row.reshape(instance.size.shape), "sequential")
                    for t in range(instance.horizon)
                ]
            )
            for row in found.outcomes[:MOST_OUTCOMES]
        ]
        if len(found.outcomes) <= MOST_OUTCOMES:
            yield np.array(gains), found.chance


def _expected(view: Evaluation) -> Iterator[Measurement]:
    """Serve what static fractional allocations are rounded to; the largest expected gain."""
    bound = _cooperative_bound(_few_slots(view))
    for gains, chance in _drawn(view):
        yield Measurement(float(chance @ gains), bound)


def _overshooting(view: Evaluation) -> Iterator[Measurement]:
    """Serve what static fractional allocations are rounded to; the largest gain."""
    bound = _cooperative_bound(_few_slots(view))
    for gains, _ in _drawn(view):
        yield Measurement(float(gains.max()), bound)


MOST_OUTCOMES = 64
"""Largest number of outcomes of a rounding that are served."""


def _greedy_and_best(view: Evaluation) -> tuple[float, float, float]:
    """Gain of the greedy placement, of the best single model, and of the best allocation."""
    from edgeopt.models.idn import Demand, average_gain, greedy

    instance = view.instance
    if not view.small:
        raise NotApplicableError("too large to find the best static allocation")
    demand = Demand.of(instance)
    every = all_allocations(instance)
    best = max(average_gain(instance, demand, x) for x in every)
    placed = average_gain(instance, demand, greedy(instance, demand))
    single = 0.0
    for v in np.flatnonzero(free(instance)):
        for m in np.flatnonzero(instance.size[v] <= instance.budget[v]):
            alone = np.asarray(instance.empty, dtype=float).copy()
            alone[v, m] = 1
            single = max(single, average_gain(instance, demand, alone))
    return placed, single, best


def _greedy(view: Evaluation) -> Measurement:
    placed, _, best = _greedy_and_best(view)
    return Measurement(placed, PSI / 2 * best, {"optimum": best})


def _greedy_or_single(view: Evaluation) -> Measurement:
    placed, single, best = _greedy_and_best(view)
    proof = {"greedy": placed, "single": single, "optimum": best}
    return Measurement(max(placed, single), PSI / 2 * best, proof)


SHARED = Assumption(
    "a model that several types can use",
    "a node that is not pinned lies on the paths of two types of one task",
    lambda given: bool(_sharing(network(given)).any()),
)


def _sharing(instance: IdnInstance) -> NDArray[np.bool_]:
    """Tell which pairs are an option of several types, shape [V M]."""
    counts = np.bincount(instance.ranking.pair, minlength=instance.size.size)
    return np.asarray((counts > 1) & np.repeat(~instance.pinned, instance.models))


def filled(instance: IdnInstance, allocation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill the budgets left by an allocation with fractions of further models."""
    point = allocation.copy()
    for v in np.flatnonzero(free(instance)):
        rest = instance.size[v] * (1 - point[v])
        left = instance.budget[v] - float(instance.size[v] @ point[v])
        point[v] += (1 - point[v]) * min(1.0, left / rest.sum()) if rest.sum() > 0 else 0.0
    return point


def _gain_when_filled(view: Evaluation) -> Iterator[Measurement]:
    whole = view.integral
    wider = np.array([filled(view.instance, x) for x in whole])
    for slot in view.slots:
        more = slot.ranked(wider.reshape(len(whole), -1))
        less = slot.ranked(whole.reshape(len(whole), -1))
        n = int(np.argmin(more - less))
        yield Measurement(more[n], less[n])


def shared_potential(ranking: Ranking, requests: NDArray[np.int64]) -> NDArray[np.float64]:
    """Divide the capacity of models among the types that can use them by requests, [S, P]."""
    wanted = requests[:, ranking.type].astype(np.float64)
    served = wanted.copy()
    for row, out in zip(wanted, served, strict=True):
        total = np.bincount(ranking.pair, row)[ranking.pair]
        full = (total > ranking.capacity) & ~ranking.permanent
        # The order of the product and the quotient keeps whole shares whole.
        out[full] = ranking.capacity[full] * row[full] / total[full]
    return served


def _credit(view: Evaluation, kind: Literal["own", "shared"]) -> Measured:
    """Find the shared model whose types are credited with most beyond its capacity."""
    instance, ranking, found = view.instance, view.instance.ranking, []
    sharing = np.flatnonzero(_sharing(instance))
    few = instance.replace(requests=instance.requests[: len(view.slots)])
    given = shared_potential(ranking, few.requests) if kind == "shared" else None
    for potential in Demand.of(few, potential=given).potential:
        total = np.bincount(ranking.pair, potential, instance.size.size)[sharing]
        limit = instance.capacity.ravel()[sharing]
        finite = np.isfinite(limit)
        if finite.any():
            n = int(np.argmax((total - limit)[finite]))
            found.append(Measurement(total[finite][n], limit[finite][n]))
    if not found:
        raise NotApplicableError("shared models have no limits")
    return found


CLAIMS = (
    claim("cooperative", _static, DRAWN, tolerance=1e-6),
    claim("cooperative.dynamic", _dynamic, named_instance(adversarial, horizon=2), tolerance=1e-6),
    claim(
        "cooperative.moving",
        _moving,
        (DRAWN, named_instance(adversarial, horizon=2)),
        tolerance=1e-6,
    ),
    claim("cooperative.expected", _expected, DRAWN, tolerance=1e-6),
    claim("cooperative.overshoot", _overshooting, named.one_model, tolerance=1e-6),
    claim(
        "greedy",
        _greedy_or_single,
        (named_instance(crowded_out, 0.01), ONE_NODE),
        assumptions=(ONE_CHOICE,),
    ),
    claim("greedy.constant", _greedy, named_instance(crowded_out, 0.01), assumptions=(ONE_CHOICE,)),
    claim("equation163", _gain_when_filled, DRAWN, assumptions=(CHOICE, COVERED)),
    claim(
        "credit.shared",
        lambda view: _credit(view, "shared"),
        (shared_model, DRAWN),
        assumptions=(SHARED,),
    ),
    claim(
        "credit.published", lambda view: _credit(view, "own"), shared_model, assumptions=(SHARED,)
    ),
)
