"""Routing of requests and the training step, against linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt import solve
from edgeopt.models.edr.programs import step_nlp, step_program
from edgeopt.models.edr.routing import (
    Prices,
    conditions,
    dual_bound,
    routing_problem,
    solve_routing,
)
from edgeopt.models.edr.routing import network_simplex as network
from edgeopt.models.edr.routing.matrix import routing_matrix
from edgeopt.models.edr.training import take_step
from tests.edr.cases import draw_sites
from tests.edr.queries import INFINITY, Query, queries
from tests.models.edr.declared_routing import routing_lp
from tests.oracles.edr import step as oracle


def check_feasible(query: Query, plan: Any) -> None:
    """Check the flows against the data of the instance, not against the problem."""
    plain, problem = query.case.plain, plan.problem
    assert (plan.flow >= 0).all()
    assert (plan.unserved >= 0).all()
    left = np.array([plain.requests[query.frame][tau] for tau in query.slots])
    load = np.zeros((len(query.slots), plain.J))
    energy = delay = 0.0
    routes = zip(problem.slot, problem.origin, problem.site, problem.type, plan.flow, strict=True)
    for s, j, k, n, amount in routes:
        if amount > 0:
            assert (j, k, n) in plain.routes(query.frame, query.slots[s])
            left[s, j, n] -= amount
            load[s, k] += plain.request_work[n] * amount
            energy += plain.d(k, n) * amount
            delay += plain.delay(query.frame, query.slots[s], j, k, n) * amount
    assert (plan.energy, plan.delay) == pytest.approx((energy, delay), abs=1e-9)
    assert left == pytest.approx(plan.unserved, abs=1e-9)
    assert plan.load == pytest.approx(load, abs=1e-9)
    capacity = np.array(plain.capacity)
    if query.split == "even":
        assert (load <= capacity - np.array(query.training) / plain.D + 1e-9).all()
    else:
        assert (load <= capacity + 1e-9).all()
        assert (load.sum(axis=0) + query.training <= plain.D * capacity + 1e-9).all()


def tolerance(
    query: Query, *values: float, relative: float = 1e-9, open_rows: float = 1e-9
) -> float:
    """Return how near an objective must be."""
    penalties = query.problem.penalties(query.elastic)
    return relative * max(1.0, *map(abs, values)) + open_rows * max(penalties)


@given(queries())
def test_plans_are_feasible_optimal_and_proven(query):
    expected = query.penalised()
    plan = solve_routing(query.problem, elastic=query.elastic)
    check_feasible(query, plan)
    limit = tolerance(query, expected.objective)
    assert plan.objective == pytest.approx(expected.objective, rel=0, abs=limit)
    assert plan.bound <= expected.objective + limit
    assert plan.bound == pytest.approx(plan.objective, rel=0, abs=2 * limit)
    assert plan.excess == pytest.approx(max(0.0, plan.energy - query.budget), abs=1e-8)
    # what the cap charges on top is no cost of the operator
    cost = plan.cost - query.energy_price * plan.energy
    assert cost == pytest.approx(unit_costs(query, plan), abs=1e-8)


def unit_costs(query: Query, plan: Any) -> float:
    problem = plan.problem
    routes = zip(problem.slot, problem.origin, problem.site, problem.type, plan.flow, strict=True)
    return sum(
        amount * query.case.plain.unit(query.frame, query.slots[s], j, k, n, query.price)
        for s, j, k, n, amount in routes
    )


# A site that is full up to rounding has a capacity of some 1e-16.
@given(queries())
def test_declared_and_compiled_programs_agree(query):
    """With the training of every slot as a variable, and without.

    HiGHS leaves rows open by 1e-7, at their prices.
    """
    expected = query.penalised().objective
    close = pytest.approx(
        expected, rel=0, abs=tolerance(query, expected, relative=1e-6, open_rows=5e-7)
    )
    assert solve(routing_matrix(query.problem, elastic=query.elastic)).objective == close
    for eliminate in (True, False):
        declared = routing_lp(query.problem, elastic=query.elastic, eliminate=eliminate)
        assert solve(declared).objective == close


@given(queries())
def test_priorities_one_after_another(query):
    """Penalties may price the rest otherwise, but never lose what the order asks for first."""
    expected = query.in_order()
    priced = solve_routing(query.problem, elastic=query.elastic)
    if query.elastic == "soft":
        assert priced.unserved.sum() <= expected.unserved + 1e-7
    else:
        assert priced.excess <= expected.excess + 1e-7


@given(queries(), st.integers(0, 2**32 - 1))
def test_any_prices_prove_a_bound(query, seed):
    rng = np.random.default_rng(seed)
    plan = solve_routing(query.problem, elastic=query.elastic)
    scale = rng.choice([0.0, 0.1, 1.0, 10.0], 3)
    prices = Prices(
        float(plan.prices.energy * scale[0] + rng.uniform(0, 1)),
        plan.prices.site * scale[1] + rng.uniform(0, 1, plan.prices.site.shape),
        plan.prices.room * scale[2] + rng.uniform(0, 1, plan.prices.room.shape),
    )
    bound = dual_bound(query.problem, prices, query.elastic)
    assert bound <= query.penalised().objective + 1e-7 * max(1.0, abs(plan.objective))


@given(queries(), st.integers(0, 2**32 - 1))
def test_prices_tell_what_more_energy_or_less_training_is_worth(query, seed):
    """The value is convex: its tangent, which the prices give, lies below it everywhere."""
    rng = np.random.default_rng(seed)
    plain = query.case.plain
    budget = query.budget
    if budget != INFINITY:
        budget = float(budget + rng.uniform(-1, 1) * max(1.0, abs(budget)))
    training = rng.uniform(0, 1, plain.J) * plain.D * np.array(plain.capacity)
    other = query.penalised(budget=budget, training=training.tolist()).objective
    plan = solve_routing(query.problem, elastic=query.elastic)
    assert plan.energy_price >= 0
    share = 1.0 / plain.D if query.split == "even" else 0.0
    compute_price = share * plan.prices.site.sum(axis=0) + plan.prices.room
    assert (compute_price >= 0).all()
    gained = 0.0 if budget == INFINITY else plan.energy_price * (budget - query.budget)
    lost = float(compute_price @ (training - np.array(query.training)))
    limit = tolerance(query, other, plan.objective)
    assert other >= plan.objective - gained + lost - 2 * limit


@given(queries(), st.integers(0, 2**32 - 1))
def test_a_start_changes_nothing(query, seed):
    """Start from another slot, or from the same one with another price and budget."""
    rng = np.random.default_rng(seed)
    instance, plain = query.case.instance, query.case.plain
    price, budget = float(rng.uniform(0, 3)), float(rng.choice([INFINITY, 0.0, 1.0]))
    before = query.changed(price=price, budget=budget)
    if len(query.slots) == 1 and rng.random() < 0.7:
        other = conditions(instance, int(rng.integers(plain.T)), int(rng.integers(plain.D)))
        before = routing_problem(instance, other, price=price, budget=budget)
    cold = solve_routing(query.problem, elastic=query.elastic)
    start = solve_routing(before, elastic=query.elastic)
    plan = solve_routing(query.problem, elastic=query.elastic, start=start)
    check_feasible(query, plan)
    limit = tolerance(query, cold.objective)
    assert plan.objective == pytest.approx(cold.objective, rel=0, abs=limit)
    assert plan.bound == pytest.approx(plan.objective, rel=0, abs=2 * limit)


def crowded(seed: int, elastic: str) -> Any:
    """Draw a larger network with ties."""
    rng = np.random.default_rng(seed)
    instance = draw_sites(seed, frames=1, slots=2, sites=12, tasks=0, types=3)
    shown = [conditions(instance, 0, slot) for slot in range(instance.slots)]
    load = rng.choice([0.0, 0.3, 1.0], instance.sites) * instance.slots * instance.capacity
    used = solve_routing(routing_problem(instance, shown, price=1.0), elastic=elastic).energy
    return routing_problem(
        instance,
        shown,
        price=float(rng.choice([-1.0, 0.0, 1.0])),
        training=load,
        budget=float(rng.choice([INFINITY, used, 0.7 * used, 0.0])),
        split=str(rng.choice(["even", "free"])),  # type: ignore[arg-type]
    )


SEEDS, ORDERS = st.integers(0, 2**32 - 1), st.sampled_from(["soft", "shed"])


@given(SEEDS, ORDERS)
def test_some_routes_prove_what_all_of_them_prove(seed, elastic):
    """At any prices, after others: no route is left out that is cheaper than those of the list."""
    problem, rng = crowded(seed, elastic), np.random.default_rng(seed)
    assert problem.dearest == np.abs(problem.cost).max(initial=0.0)
    penalties, dearest = problem.penalties(elastic), problem.dearest or 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "SMALL", 0)
        patch.setattr(network, "FEW", 1 + seed % 3)
        known = network._Shortlist(problem, penalties, random_prices(problem, rng, dearest))
        for _ in range(4):
            prices = random_prices(problem, rng, dearest)
            bound, _ = known.price(prices)
            proof = problem.proving(prices, penalties)
            limit = 1e-12 * (abs(problem.rent(proof)) + dearest)
            close = pytest.approx(dual_bound(problem, prices, penalties), rel=1e-12, abs=limit)
            assert bound == close
            surcharge = problem.surcharge(proof.energy, proof.site + proof.room)
            value = problem.cost + surcharge[problem.slot, problem.type, problem.site]
            least = np.full(problem.demand.size, penalties.unserved)
            np.minimum.at(least, problem.row[known.routes], value[known.routes])
            assert (value >= least[problem.row] - 1e-9 * dearest).all()


def random_prices(problem: Any, rng: np.random.Generator, dearest: float) -> Prices:
    """Draw prices of which many are 0, of the size of the costs."""
    scale = dearest * rng.choice([0.0, 0.01, 1.0])
    some = rng.random(problem.capacity.shape) * rng.integers(0, 2, problem.capacity.shape)
    room = rng.random(problem.sites) * rng.integers(0, 2, problem.sites)
    return Prices(
        float(scale * rng.random() / max(problem.energy.max(), 1e-9)),
        scale * some / problem.work.max(),
        scale * room / problem.work.max(),
    )


@given(SEEDS, ORDERS)
def test_few_routes_at_a_time_lead_to_the_same_end(seed, elastic):
    """The bound of the prices proves what the flows cost."""
    problem = crowded(seed, elastic)
    whole = solve_routing(problem, elastic=elastic)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "SMALL", 0)
        patch.setattr(network, "FEW", 1)
        few = solve_routing(problem, elastic=elastic)
    for plan in (whole, few):
        limit = 1e-6 * max(1e-3, abs(plan.objective))
        assert plan.bound == pytest.approx(plan.objective, rel=0, abs=limit)
        assert plan.objective == pytest.approx(whole.objective, rel=0, abs=limit)
        assert (plan.flow >= 0).all()
        served = problem.demand - plan.unserved
        flown = np.bincount(problem.row, plan.flow, problem.demand.size)
        assert flown == pytest.approx(served.ravel(), abs=1e-9)
        assert (plan.load <= problem.capacity + 1e-9).all()
        assert (plan.load.sum(axis=0) <= problem.room + 1e-9).all()


@dataclass(frozen=True)
class Given:
    """The data of a step as floats, in the order in which all of its methods take them."""

    point: list[float]
    gradient: list[float]
    energy: list[float]
    cap: float
    upper: list[float]
    step: float

    @property
    def data(self) -> tuple[Any, ...]:
        return self.point, self.gradient, self.energy, self.cap, self.upper, self.step

    @property
    def scale(self) -> float:
        """Return the largest number that a sum over the rounds meets."""
        moved = [
            abs(x) + self.step * abs(c) for x, c in zip(self.point, self.gradient, strict=True)
        ]
        return max(1.0, *moved) if moved else 1.0


def steps(*, wild: bool = True, most: int = 8) -> st.SearchStrategy[Given]:
    return st.integers(0, 2**32 - 1).map(lambda seed: draw(seed, wild=wild, most=most))


def draw(seed: int, *, wild: bool, most: int) -> Given:
    """Draw data with ties, with any numbers, or over several orders of magnitude.

    Caps are absent, zero, exactly met, or anything; energies, limits and rounds may be zero.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    kind = rng.choice(["tied", "any", "wide"] if wild else ["tied", "any"])
    if kind == "tied":
        point, upper = rng.integers(0, 9, n) / 2, rng.integers(0, 9, n) / 2
        gradient, energy = rng.integers(-6, 4, n) / 2, rng.integers(0, 4, n) / 2
    else:
        point, upper = rng.uniform(0, 4, n), rng.uniform(0, 4, n)
        gradient, energy = rng.uniform(-4, 2, n), rng.uniform(0, 2, n)
        energy[rng.random(n) < 0.15] = 0.0
        if kind == "wide":
            energy *= 10.0 ** rng.uniform(-4, 4, n)
            upper *= 10.0 ** rng.uniform(-2, 4, n)
    alpha = float(rng.choice([0.25, 1.0, 2.0]))
    free = np.clip(point - alpha * gradient, 0, upper)
    used = float(energy @ free)
    cap = float(
        rng.choice([INFINITY, 0.0, used, used / 2, used / 8, rng.uniform(0, 1) * used, 1.0])
    )
    if wild and rng.random() < 0.1:
        upper[rng.integers(0, n)] = INFINITY
    return Given(*(v.tolist() for v in (point, gradient, energy)), cap, upper.tolist(), alpha)


def exact(given: Given) -> oracle.Step:
    """Take the step in rationals; no limit is as good as one that the point never reaches."""
    far = 1000 * given.scale
    data = list(given.data)
    data[4] = [min(u, far) for u in given.upper]
    return oracle.exact(*data)


@given(steps())
def test_the_oracle_is_optimal(given_step):
    far = 1000 * given_step.scale
    data = [
        [Fraction(v) for v in row]
        for row in (given_step.point, given_step.gradient, given_step.energy)
    ]
    cap = given_step.cap if given_step.cap == INFINITY else Fraction(given_step.cap)
    upper = [Fraction(min(u, far)) for u in given_step.upper]
    found = exact(given_step)
    alpha = Fraction(given_step.step)
    assert oracle.residual(found.rounds, found.price, *data, cap, upper, alpha) == 0


@given(steps())
def test_closed_form_is_exact(given_step):
    expected = exact(given_step)
    limit = 1e-12 * given_step.scale
    found = take_step(*given_step.data)
    assert found.rounds == pytest.approx([float(v) for v in expected.rounds], rel=0, abs=limit)
    assert (found.rounds >= 0).all()
    assert (found.rounds <= given_step.upper).all()
    # the sum itself is rounded, in whatever order it is taken
    slack = 1e-15 * len(given_step.point) * max(1.0, given_step.cap)
    assert np.array(given_step.energy) @ found.rounds <= given_step.cap + slack
    assert oracle.bisect(*given_step.data).rounds == pytest.approx(
        [float(v) for v in expected.rounds], rel=0, abs=limit
    )


@given(steps())
def test_the_price_of_energy_is_that_of_the_cap(given_step):
    """Optimal prices form an interval: that of the method lies in it, that of rationals too."""
    found = take_step(*given_step.data)
    assert found.energy_price >= 0
    if given_step.cap == INFINITY or exact(given_step).price == 0:
        if given_step.cap > 0 and sum(given_step.energy) > 0 and exact(given_step).price == 0:
            # not needed to meet the cap: any positive price would move a round
            assert found.energy_price <= 1e-12 * given_step.scale
        return
    far = 1000 * given_step.scale
    data = (given_step.point, given_step.gradient, given_step.energy, given_step.cap)
    residual = oracle.residual(
        [float(v) for v in exact(given_step).rounds],
        found.energy_price,
        *data,
        [min(u, far) for u in given_step.upper],
        given_step.step,
    )
    largest = max(1.0, found.energy_price * max(given_step.energy))
    assert residual <= 1e-11 * largest * given_step.scale / given_step.step


# To stay where one is costs nothing: optima of 0 are told by an absolute gap.
# Where a multiplier and its slack are both 0, which ties bring about, interior points come only as
# near as the square root of their tolerance.
@given(steps(wild=False, most=5))
def test_the_convex_program_agrees(given_step):
    found = solve(
        step_program(*given_step.data), "clarabel",
        tolerance=3e-14, absolute_gap=3e-14, raises=False,
    )  # fmt: skip
    expected = [float(v) for v in exact(given_step).rounds]
    assert found.values["rounds"] == pytest.approx(expected, rel=0, abs=1e-6)


@given(steps(wild=False, most=5))
def test_the_smooth_program_agrees(given_step):
    found = solve(
        step_nlp(*given_step.data), "ipopt", tolerance=1e-13, bound_relax_factor=0.0,
        absolute_gap=1e-9, raises=False,
    )  # fmt: skip
    expected = [float(v) for v in exact(given_step).rounds]
    rounds = [found.values[f"rounds[task={i}]"] for i in range(len(expected))]
    assert rounds == pytest.approx(expected, rel=0, abs=1e-6)
