"""Demands, potentials and allocations for tiny instances."""

from __future__ import annotations

import numpy as np
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import strategies as st

from edgeopt.models.idn import Demand, marginal_gains
from edgeopt.models.idn.greedy import NOTHING, ROUNDING, TIE


def potentials(instance, rng):
    """Whole potential capacities in [0, min(L, r)] for every slot; repositories serve all."""
    ranking = instance.ranking
    wanted = instance.requests[:, ranking.type]
    most = np.minimum(ranking.capacity, wanted)
    drawn = rng.integers(0, most.astype(int) + 1)
    return np.where(ranking.permanent, wanted, np.where(rng.random() < 0.5, drawn, most))


@st.composite
def demands(draw, instance):
    """A demand of the instance: own credit, shared credit, or any potential of an adversary."""
    kind = draw(st.sampled_from(["own", "shared", "any"]))
    normalised = draw(st.booleans())
    if kind != "any":
        given = shared_potential(instance.ranking, instance.requests) if kind == "shared" else None
        return Demand.of(instance, potential=given, normalised=normalised)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return Demand.of(instance, potential=potentials(instance, rng), normalised=normalised)


def shares(instance, rng):
    """A fractional allocation, zeros and ones being frequent; pinned nodes as they must be."""
    y = rng.choice([0.0, 0.25, 0.5, 1.0], size=instance.size.shape)
    return np.where(instance.pinned[:, None], instance.repository, y)


def within_budgets(instance, allocation, slack=1e-9):
    """Whether every node that decides keeps its budget."""
    used = np.where(instance.pinned, 0.0, (instance.size * allocation).sum(axis=1))
    return bool((used <= instance.budget * (1.0 + slack)).all())


def plain_picks(instance, demand):
    """Return the pairs that greed adds, in order, from the marginal gains of all at every step."""
    chosen, left, order = instance.empty.copy(), instance.budget.copy(), []
    whole = demand.weight @ (demand.requests @ instance.ranking.repository_cost)
    while True:
        gains = marginal_gains(instance, demand, chosen)
        gains[(gains <= NOTHING * whole) | (instance.size > left[:, None] * (1 + ROUNDING))] = 0.0
        worth = gains / instance.size
        if worth.max() <= 0.0:
            return order
        at = int(np.argmax(worth >= worth.max() * (1 - TIE)))
        order.append(at)
        chosen.flat[at] = True
        left[at // instance.models] -= instance.size.flat[at]
