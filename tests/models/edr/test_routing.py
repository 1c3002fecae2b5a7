"""Routing of requests: optimal plans, their prices, and what does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances.edr import generate
from edgeopt.models.edr.routing import (
    Conditions,
    Penalties,
    RoutingProblem,
    conditions,
    routing_problem,
    solve_routing,
)
from edgeopt.models.edr.routing.network_simplex import solve_by_network


def alike_in_energy(budget):
    """Two sites: the second saves a thousandth of the energy, and is a hundred times slower."""
    return RoutingProblem(
        demand=np.array([[[1.0], [0.0]]]),
        capacity=np.full((1, 2), 5.0),
        room=np.full(2, np.inf),
        budget=budget,
        work=np.ones(1),
        energy=np.array([[1.0], [0.999]]),
        first=np.array([0, 2, 2]),
        site=np.array([0, 1], dtype=np.int32),
        seconds=np.array([0.01, 1.0]),
        cost=np.array([0.01, 1.0]),
    )


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e7])
@pytest.mark.parametrize("what", ["energy", "work", "cost", "demand"])
def test_units_do_not_matter(what, scale):
    """Energies of requests are tiny numbers of Wh: a tolerance must not swallow them."""
    problem = _large()
    other = {
        "energy": {"energy": problem.energy * scale, "budget": problem.budget * scale},
        "work": {"work": problem.work * scale, "capacity": problem.capacity * scale},
        "cost": {"cost": problem.cost * scale},
        "demand": {
            "demand": problem.demand * scale,
            "capacity": problem.capacity * scale,
            "budget": problem.budget * scale,
        },
    }[what]
    factor = {"energy": 1.0, "work": 1.0, "cost": scale, "demand": scale}[what]
    plain = solve_routing(problem)
    scaled = solve_routing(problem.replace(**other))
    assert plain.energy_price > 0
    assert scaled.objective == pytest.approx(plain.objective * factor, rel=1e-8, abs=0)
    assert scaled.gap <= 1e-6


def _large(*, sites=12, seed=3, slot=0):
    """A slot in continuous numbers, the budget 5 % short of what would be used."""
    rng = np.random.default_rng(seed)
    types = 3
    fields = {
        "sites": sites,
        "types": types,
        "slots": 1,
        "capable": rng.random((sites, types)) < 0.6,
        "speed": rng.uniform(5, 20, sites),
        "request_work": np.array([0.5, 1.0, 2.0]),
        "request_size": np.array([1.0, 2.0, 1.0]),
        "request_energy": np.outer(rng.uniform(0.5, 1, sites), [0.5, 1.0, 2.0]),
        "capacity": rng.uniform(20, 60, sites),
        "energy_weight": 1.0,
        "delay_weight": 1.0,
    }
    at = np.random.default_rng((seed, slot))
    away = rng.uniform(0, 1, (sites, 2))
    travel = np.hypot(*(away[:, None] - away[None]).transpose(2, 0, 1)) * at.uniform(0.7, 1.3)
    shown = Conditions(
        at.uniform(0, 10, (sites, types)), travel, np.full(types, 1.5), np.full((sites,) * 2, 50.0)
    )
    problem = routing_problem(type("Static", (), fields), shown, price=0.1)
    return problem.replace(budget=0.95 * solve_routing(problem).energy)


def test_prices_are_derivatives_of_the_optimum():
    problem = _large()
    plan = solve_routing(problem)
    step = 1e-5
    value = solve_routing(problem).objective
    more = problem.replace(budget=problem.budget + step)
    saved = (value - solve_routing(more).objective) / step
    assert plan.energy_price == pytest.approx(saved, rel=1e-5)
    assert plan.energy_price > 0
    tight = int(plan.prices.site[0].argmax())
    capacity = problem.capacity.copy()
    capacity[0, tight] += step
    more = problem.replace(capacity=capacity)
    saved = (value - solve_routing(more).objective) / step
    assert plan.prices.site[0, tight] == pytest.approx(saved, rel=1e-5)
    assert saved > 0


def test_own_prices_of_what_must_not_happen_are_taken():
    problem = alike_in_energy(0.0)
    lost = solve_by_network(problem, Penalties(unserved=0.5, excess=2.0))
    assert (lost.unserved.sum(), lost.excess) == (1.0, 0.0)
    kept = solve_by_network(problem, Penalties(unserved=2.5, excess=2.0))
    assert (kept.unserved.sum(), kept.excess) == (0.0, 1.0)


def uneven_frame(seed):
    """A frame that only minimises delay, the demand of its slots differing up to five times."""
    drawn = generate(
        rng=seed, sites=6, slots=6, types=2, tasks=0, frames=1, capped=None, capable_share=0.5,
        headroom=10.0,
    )  # fmt: skip
    scale = np.random.default_rng(1000 + seed).uniform(0.3, 1.7, drawn.slots)
    instance = drawn.replace(requests=drawn.requests * scale[:, None, None])
    slots = [conditions(instance, 0, slot) for slot in range(instance.slots)]
    return routing_problem(instance, slots, price=0.0)


def test_an_earlier_price_leads_to_the_same_plan():
    problem = uneven_frame(4)
    capped = problem.replace(budget=0.93 * solve_routing(problem).energy)
    cold = solve_routing(capped)
    warm = solve_routing(capped.replace(budget=capped.budget * 1.001), start=cold)
    assert warm.cost == pytest.approx(
        solve_routing(capped.replace(budget=capped.budget * 1.001)).cost, rel=1e-6
    )
    assert warm.gap <= 1e-6


@pytest.mark.filterwarnings("error")
def test_a_frame_that_uses_no_energy_is_routed():
    problem = uneven_frame(2)
    free = problem.replace(energy=np.zeros_like(problem.energy), budget=0.0)
    plan = solve_routing(free)
    assert plan.cost == pytest.approx(solve_routing(problem).cost)
    assert (plan.energy, plan.excess) == (0.0, 0.0)
