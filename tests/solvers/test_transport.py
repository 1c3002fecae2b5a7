"""The network simplex against a general linear programming solver, and against its own prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import InputError
from edgeopt.solvers import Status
from edgeopt.solvers.network_simplex import TransportFlow, TransportSimplex, transport
from tests.certified import linprog

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


class Drawn(NamedTuple):
    """A transportation problem with two vectors of costs."""

    first: np.ndarray
    sink: np.ndarray
    supply: np.ndarray
    capacity: np.ndarray
    group: np.ndarray | None
    room: np.ndarray | None
    costs: tuple[np.ndarray, np.ndarray]
    unserved: np.ndarray

    @property
    def source(self) -> np.ndarray:
        return np.repeat(np.arange(self.supply.size), np.diff(self.first))


@st.composite
def problems(draw: DrawFn) -> Drawn:
    """Small whole numbers, so that degenerate bases and ties are frequent; or broken ones."""
    sources, sinks = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    unit = draw(st.sampled_from([1.0, 1.0, np.pi / 7]))
    links = draw(
        st.lists(
            st.lists(st.integers(0, sinks - 1), unique=True, max_size=sinks),
            min_size=sources,
            max_size=sources,
        )
    )

    def numbers(n: int, low: int, high: int) -> np.ndarray:
        return unit * np.array(
            draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), float
        )

    sink = np.array([k for some in links for k in some], dtype=int)
    grouped = draw(st.booleans())
    groups = draw(st.integers(1, 2))
    member = draw(st.lists(st.integers(0, groups - 1), min_size=sinks, max_size=sinks))
    room = numbers(groups, 0, 9)
    if draw(st.booleans()):
        room[0] = np.inf
    return Drawn(
        first=np.concatenate(([0], np.cumsum([len(some) for some in links]))),
        sink=sink,
        supply=numbers(sources, 0, 4),
        capacity=numbers(sinks, 0, 6),
        group=np.array(member) if grouped else None,
        room=room if grouped else None,
        costs=(numbers(sink.size, -2, 7), numbers(sink.size, -2, 7)),
        unserved=np.full(sources, draw(st.sampled_from([3.0, 40.0]))),
    )


def start(problem: Drawn) -> TransportSimplex:
    return TransportSimplex(
        problem.first, problem.sink, problem.supply, problem.capacity, problem.group, problem.room
    )


def optimum(problem: Drawn, cost: np.ndarray) -> float:
    """Return what SciPy says."""
    sources, routes = problem.supply.size, problem.sink.size
    numbers = np.arange(routes)

    def rows(of: np.ndarray, count: int) -> sparse.csr_array:
        return sparse.csr_array((np.ones(routes), (of, numbers)), shape=(count, routes))

    limits, sides = [rows(problem.sink, problem.capacity.size)], [problem.capacity]
    if problem.group is not None:
        limits.append(rows(problem.group[problem.sink], problem.room.size))
        sides.append(problem.room)
    sides = np.concatenate(sides)
    finite = np.isfinite(sides)
    upper = sparse.hstack([sparse.vstack(limits), sparse.csr_array((sides.size, sources))])
    found = linprog(
        np.concatenate((cost, problem.unserved)),
        A_ub=upper.tocsr()[finite],
        b_ub=sides[finite],
        A_eq=sparse.hstack([rows(problem.source, sources), sparse.eye_array(sources)]),
        b_eq=problem.supply,
    )
    assert found.status == 0
    return float(found.fun)


def check(problem: Drawn, cost: np.ndarray, flow: TransportFlow, best: float) -> None:
    """Check that a flow is feasible and optimal, and that its prices prove it."""
    x = np.zeros(problem.sink.size)
    x[flow.route] = flow.amount
    assert (x >= 0).all()
    assert (flow.unserved >= 0).all()
    served = np.bincount(problem.source, x, minlength=problem.supply.size)
    assert served + flow.unserved == pytest.approx(problem.supply, abs=1e-12)
    load = np.bincount(problem.sink, x, minlength=problem.capacity.size)
    assert (load <= problem.capacity + 1e-12).all()
    price, rent = flow.sink_price.copy(), float(flow.sink_price @ problem.capacity)
    if problem.group is not None:
        total = np.bincount(problem.group, load, minlength=problem.room.size)
        assert (total <= problem.room + 1e-12).all()
        price += flow.group_price[problem.group]
        priced = flow.group_price > 0
        rent += float(flow.group_price[priced] @ problem.room[priced])
    value = float(cost @ x + problem.unserved @ flow.unserved)
    assert value == pytest.approx(best, abs=1e-9)
    cheapest = problem.unserved.copy()
    np.minimum.at(cheapest, problem.source, cost + price[problem.sink])
    assert float(cheapest @ problem.supply) - rent == pytest.approx(value, abs=1e-9)


@given(problems(), st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_flow_is_optimal_at_first_and_at_other_costs(problem: Drawn, guess: list[int]) -> None:
    simplex = start(problem)
    price = np.array(guess[: problem.capacity.size], dtype=float)
    for cost in (*problem.costs, problem.costs[0]):
        flow = simplex.solve(cost, problem.unserved, sink_price=price)
        check(problem, cost, flow, optimum(problem, cost))


@given(problems(), st.data())
def test_routes_that_come_later_are_taken_in(problem: Drawn, data: st.DataObject) -> None:
    routes = problem.sink.size
    early = np.array(data.draw(st.lists(st.booleans(), min_size=routes, max_size=routes)), bool)
    position = np.flatnonzero(early)
    few = TransportSimplex(
        np.searchsorted(position, problem.first), problem.sink[early], problem.supply,
        problem.capacity, problem.group, problem.room,
    )  # fmt: skip
    cost = problem.costs[0]
    few.solve(cost[early], problem.unserved)
    every = few.with_routes(problem.first, problem.sink.astype(np.int32), position)
    check(problem, cost, every.solve(cost, problem.unserved), optimum(problem, cost))


def test_going_on_takes_fewer_pivots_than_starting() -> None:
    rng = np.random.default_rng(7)
    first, sink = np.arange(0, 30_001, 60), np.tile(np.arange(60), 500)
    supply, capacity = rng.random(500), np.full(60, 4.3)
    cost, unserved = rng.random(30_000), np.full(500, 9.0)
    simplex = TransportSimplex(first, sink, supply, capacity)
    simplex.solve(cost, unserved)
    cold = simplex.pivots
    flow = simplex.solve(cost * rng.uniform(0.99, 1.01, 30_000), unserved)
    assert 0 < simplex.pivots - cold < cold / 2
    nearby = TransportSimplex(first, sink, supply, capacity)
    nearby.solve(cost, unserved, sink_price=flow.sink_price)
    assert nearby.pivots < cold / 2


@pytest.mark.parametrize("change", [0.02, 0.3, 10.0])
def test_costs_that_change_at_random_never_cost_many_more_pivots_than_starting(
    change: float,
) -> None:
    rng = np.random.default_rng(3)
    first, sink = np.arange(0, 30_001, 60), np.tile(np.arange(60), 500)
    supply, capacity = rng.random(500), np.full(60, 4.3)
    cost, unserved = rng.random(30_000), np.full(500, 90.0)
    kept, cold = (TransportSimplex(first, sink, supply, capacity) for _ in range(2))
    kept.solve(cost, unserved)
    before = kept.pivots
    other = cost + change * rng.random(30_000)
    flow, fresh = kept.solve(other, unserved), cold.solve(other, unserved)
    assert flow.amount @ other[flow.route] == pytest.approx(fresh.amount @ other[fresh.route])
    assert kept.pivots - before < 1.3 * cold.pivots


@st.composite
def tables(draw: DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole supplies and capacities, and costs with gaps; many have no plan."""
    sources, sinks = draw(st.integers(1, 6)), draw(st.integers(1, 6))

    def numbers(n: int, least: int, most: int) -> np.ndarray:
        drawn = st.lists(st.integers(least, most), min_size=n, max_size=n)
        return np.array(draw(drawn), dtype=float)

    cost = numbers(sources * sinks, -2, 6).reshape(sources, sinks)
    closed = numbers(sources * sinks, 0, 3).reshape(sources, sinks) == 0
    capacity = numbers(sinks, 0, 7)
    capacity[capacity == 7] = np.inf
    return numbers(sources, 0, 4), capacity, np.where(closed, np.inf, cost)


def answer(
    supply: np.ndarray, capacity: np.ndarray, cost: np.ndarray, unserved: float | None
) -> float:
    """Return the least cost by SciPy, infinity where there is no plan."""
    sources, sinks = cost.shape
    some, finite = np.isfinite(cost).ravel(), np.isfinite(capacity)
    price = np.zeros(sources) if unserved is None else np.full(sources, unserved)
    leave = sparse.eye_array(sources)
    send = sparse.kron(leave, np.ones((1, sinks))).tocsc()[:, some]
    into = sparse.kron(np.ones((1, sources)), sparse.eye_array(sinks)).tocsc()[:, some]
    limit = sparse.hstack([into, sparse.csr_array((sinks, sources))]).tocsr()[finite]
    most = 0.0 if unserved is None else np.inf
    found = linprog(
        np.concatenate((cost.ravel()[some], price)),
        A_ub=limit, b_ub=capacity[finite], A_eq=sparse.hstack([send, leave]), b_eq=supply,
        bounds=[(0.0, np.inf)] * int(some.sum()) + [(0.0, most)] * sources,
    )  # fmt: skip
    return float(found.fun) if found.status == 0 else np.inf


@given(tables(), st.sampled_from([None, 2.5, 30.0]))
def test_a_table_is_solved_or_proven_to_have_no_plan(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], unserved: float | None
) -> None:
    supply, capacity, cost = table
    plan = transport(supply, capacity, cost, unserved=unserved)
    best = answer(supply, capacity, cost, unserved)
    assert plan.flow.sum(axis=1) + plan.unserved == pytest.approx(supply, abs=1e-12)
    assert (plan.flow.sum(axis=0) <= capacity + 1e-12).all()
    assert (plan.flow >= 0).all()
    assert (plan.flow[np.isinf(cost)] == 0).all()
    assert plan.flow == pytest.approx(np.round(plan.flow), abs=1e-12)
    assert np.count_nonzero(plan.flow) < sum(cost.shape) + 1
    assert (plan.status is Status.PROVEN_INFEASIBLE) == np.isinf(best)
    if np.isinf(best):
        assert np.isinf(plan.bound)
        most = answer(supply, capacity, np.where(np.isinf(cost), np.inf, 0.0), 1.0)
        assert plan.unserved.sum() == pytest.approx(most, abs=1e-9)
        return
    assert plan.objective == pytest.approx(best, abs=1e-9)
    assert plan.gap == 0.0
    source, sink = np.nonzero(np.isfinite(cost))
    tense = cost[source, sink] + plan.sink_price[sink] - plan.source_price[source]
    assert (tense >= -1e-9).all()
    assert tense[plan.flow[source, sink] > 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("supply", {"supply": [-1.0, 1.0]}),
        ("capacity", {"capacity": [np.nan, 1.0]}),
        ("cost", {"cost": [[1.0, 2.0]]}),
        ("cost", {"cost": [[1.0, np.nan], [1.0, 1.0]]}),
        ("cost", {"cost": [[1.0, -np.inf], [1.0, 1.0]]}),
        ("unserved", {"unserved": np.inf}),
        ("unserved", {"unserved": [1.0, 2.0, 3.0]}),
    ],
)
def test_bad_tables_are_named(field: str, change: dict[str, object]) -> None:
    sound = {"supply": [1.0, 1.0], "capacity": [1.0, 1.0], "cost": [[1.0, 2.0], [2.0, 1.0]]}
    with pytest.raises(InputError, match=f"^{field}"):
        transport(**{**sound, **change})


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("supply", {"supply": [1.0, -1.0]}),
        ("supply", {"supply": [1.0, np.inf]}),
        ("supply", {"supply": [1.0, np.nan]}),
        ("capacity", {"capacity": [-1.0]}),
        ("capacity", {"capacity": [np.nan]}),
        ("room", {"group": [0], "room": [-2.0]}),
        ("first", {"first": [0, 1]}),
    ],
)
def test_bad_amounts_are_named(field: str, change: dict[str, list[float]]) -> None:
    sound = {"first": [0, 1, 2], "sink": [0, 0], "supply": [1.0, 1.0], "capacity": [1.0]}
    with pytest.raises(InputError, match=f"^{field}"):
        TransportSimplex(**{**sound, **change})
