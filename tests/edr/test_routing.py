"""Requests of one slot or of a frame: every method against one program written row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.edr.routing import (
    Prices,
    conditions,
    dual_bound,
    routing_problem,
    solve_routing,
)
from tests.edr.cases import Case, cases
from tests.oracles.edr import Plain
from tests.oracles.edr import routing as oracle

INFINITY = float("inf")
METHODS = ["network", "highs", "columns"]


@dataclass(frozen=True)
class Query:
    """Slots of one frame with training, a budget and a price."""

    case: Case
    frame: int
    slots: tuple[int, ...]
    training: tuple[float, ...]
    budget: float
    split: str
    elastic: str
    energy_price: float

    @property
    def price(self) -> float:
        return float(self.case.instance.price[self.frame])

    @cached_property
    def problem(self) -> Any:
        return self.changed()

    def changed(self, **changes: Any) -> Any:
        instance = self.case.instance
        given = {
            "price": self.price,
            "training": self.training,
            "budget": self.budget,
            "split": self.split,
            "energy_price": self.energy_price,
        }
        shown = [conditions(instance, self.frame, slot) for slot in self.slots]
        return routing_problem(instance, shown, **(given | changes))

    def given(self, **changes: Any) -> dict[str, Any]:
        own = {"training": list(self.training), "budget": self.budget, "split": self.split}
        return own | {"nu": self.energy_price} | changes

    def penalised(self, **changes: Any) -> oracle.Routed:
        penalties = self.problem.penalties(self.elastic)
        return oracle.penalised(
            self.case.plain, self.frame, self.slots, self.price,
            unserved=[penalties.unserved] * self.case.plain.N,
            excess=penalties.excess, **self.given(**changes),
        )  # fmt: skip

    def in_order(self) -> oracle.Routed:
        return oracle.lexicographic(
            self.case.plain, self.frame, self.slots, self.price,
            elastic=self.elastic, **self.given(),
        )  # fmt: skip


def without_limits(plain: Plain, frame: int, slots: tuple[int, ...]) -> tuple[float, float]:
    """Return the least energy and that of the cheapest routes if sites had room for everything."""
    least, free = 0.0, 0.0
    for tau in slots:
        options: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for j, k, n in plain.routes(frame, tau):
            unit = plain.unit(frame, tau, j, k, n, plain.price[frame])
            options.setdefault((j, n), []).append((unit, plain.d(k, n)))
        for (j, n), known in options.items():
            least += plain.requests[frame][tau][j][n] * min(d for _, d in known)
            free += plain.requests[frame][tau][j][n] * min(known)[1]
    return least, free


@st.composite
def queries(draw: Any) -> Query:
    """Draw slots; budgets are absent, zero, negative, met exactly or tight, sites may be full."""
    case = draw(cases())
    plain, rng = case.plain, case.rng
    frame = int(rng.integers(plain.T))
    split = str(rng.choice(["even", "free"]))
    every = tuple(range(plain.D))
    slots = every if split == "free" or rng.random() < 0.5 else (int(rng.integers(plain.D)),)
    share = rng.choice([0.0, 0.0, 0.25, 0.5, 0.9, 1.0], plain.J)
    training = tuple(float(s * plain.D * C) for s, C in zip(share, plain.capacity, strict=True))
    least, free = without_limits(plain, frame, slots)
    theta = rng.uniform()
    budgets = [INFINITY, 0.0, -1.0, least, least + theta * (free - least), theta * least, free]
    budget = float(rng.choice(budgets, p=[0.2, 0.05, 0.05, 0.1, 0.25, 0.25, 0.1]))
    # The oracles' solver leaves a billionth of energy open, which would be dear as an excess.
    budget = budget if budget == INFINITY else round(budget * 2**20) / 2**20
    return Query(
        case, frame, slots, training, budget, split,
        elastic=str(rng.choice(["soft", "shed"])),
        energy_price=float(rng.choice([0.0, 0.0, 0.5, 3.0])),
    )  # fmt: skip


def check_feasible(query: Query, plan: Any) -> None:
    """Check the flows against the data of the instance, not against the problem."""
    plain, problem = query.case.plain, plan.problem
    assert (plan.flow >= 0).all()
    assert (plan.unserved >= 0).all()
    left = np.array([plain.requests[query.frame][tau] for tau in query.slots])
    load = np.zeros((len(query.slots), plain.J))
    routes = zip(problem.slot, problem.origin, problem.site, problem.type, plan.flow, strict=True)
    for s, j, k, n, amount in routes:
        if amount > 0:
            assert (j, k, n) in plain.routes(query.frame, query.slots[s])
            left[s, j, n] -= amount
            load[s, k] += plain.request_work[n] * amount
    assert left == pytest.approx(plan.unserved, abs=1e-9)
    assert plan.load == pytest.approx(load, abs=1e-9)
    capacity = np.array(plain.capacity)
    if query.split == "even":
        assert (load <= capacity - np.array(query.training) / plain.D + 1e-9).all()
    else:
        assert (load <= capacity + 1e-9).all()
        assert (load.sum(axis=0) + query.training <= plain.D * capacity + 1e-9).all()


def tolerance(method: str, query: Query, *values: float) -> float:
    """Return how near an objective must be; HiGHS leaves its rows open by 1e-7, at their prices."""
    relative = 1e-9 if method == "network" else 1e-6
    penalties = query.problem.penalties(query.elastic)
    open_rows = 1e-9 if method == "network" else 1e-7
    return relative * max(1.0, *map(abs, values)) + open_rows * max(penalties)


@given(queries())
def test_plans_are_feasible_optimal_and_proven(query):
    expected = query.penalised()
    for method in METHODS:
        plan = solve_routing(query.problem, elastic=query.elastic, method=method)
        check_feasible(query, plan)
        limit = tolerance(method, query, expected.objective)
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


@given(queries())
def test_priorities_one_after_another(query):
    """Penalties may price the rest otherwise, but never lose what the order asks for first."""
    expected = query.in_order()
    plan = solve_routing(
        query.problem, elastic=query.elastic, method="highs", order="lexicographic"
    )
    check_feasible(query, plan)
    assert plan.unserved.sum() == pytest.approx(expected.unserved, abs=1e-6)
    assert plan.excess == pytest.approx(expected.excess, abs=1e-6)
    assert plan.cost == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)
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
    for method in METHODS:
        plan = solve_routing(query.problem, elastic=query.elastic, method=method)
        assert plan.energy_price >= 0
        assert (plan.compute_price >= 0).all()
        gained = 0.0 if budget == INFINITY else plan.energy_price * (budget - query.budget)
        lost = float(plan.compute_price @ (training - np.array(query.training)))
        limit = tolerance(method, query, other, plan.objective)
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
    for method in ("network", "columns"):
        start = solve_routing(before, elastic=query.elastic, method=method)
        plan = solve_routing(query.problem, elastic=query.elastic, method=method, start=start)
        check_feasible(query, plan)
        limit = tolerance(method, query, cold.objective)
        assert plan.objective == pytest.approx(cold.objective, rel=0, abs=limit)
        assert plan.bound == pytest.approx(plan.objective, rel=0, abs=2 * limit)
