"""The cooperative bound: against general solvers, against every whole placement, and by its parts.

The serving simulator is a plain loop of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.idn import generate
from edgeopt.models.idn import Demand, cooperative_matrix
from edgeopt.models.idn import bounds as solve_module
from edgeopt.models.idn.bounds import cooperative_program, solve_cooperative
from edgeopt.models.idn.matrix import offers
from edgeopt.solvers import Quality, Status, solve
from edgeopt.testing.strategies import idn_instances

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.bounds import CooperativeProgram

TIGHT = 1e-7


def program_of(instance: IdnInstance, demand: Demand | None = None) -> CooperativeProgram:
    demand = Demand.of(instance) if demand is None else demand
    return cooperative_program(
        instance, demand, offers(instance, demand, aggregate=True, cooperative=True)
    )


def optimum(instance: IdnInstance, demand: Demand) -> float:
    """Optimum of the relaxation by HiGHS on the compiled matrix."""
    return solve(cooperative_matrix(instance, demand, relax=True)).objective


def weights(instance: IdnInstance, seed: int) -> np.ndarray:
    """Uneven weights, some of them zero."""
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.25, 1.0, 3.0], instance.horizon)


@given(instance=idn_instances(cost=None), seed=st.integers(0, 3))
def test_the_interior_point_agrees_with_a_vertex_method_on_the_matrix(instance, seed):
    weight = None if seed == 0 else weights(instance, seed)
    demand = Demand.of(instance, weight=weight)
    best = optimum(instance, demand)
    plan = solve_cooperative(instance, demand, method="structured", gap=TIGHT)
    scale = max(1.0, best)
    assert plan.gap <= TIGHT
    assert plan.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    assert plan.objective <= best + 1e-8 * scale
    assert plan.bound >= best - 1e-8 * scale
    check_point(instance, plan)
    direct = solve_cooperative(instance, demand)
    assert (direct.objective, direct.bound) == pytest.approx((best, best), abs=1e-7)
    check_point(instance, direct)


def check_point(instance, plan):
    """The point is feasible, its objective and bound are what the data say."""
    solution = plan.solution
    assert solution.primal_residual() <= 1e-9
    assert solution.dual_residual() == 0.0
    assert solution.problem.dual_bound(solution) == pytest.approx(plan.bound, rel=1e-12)
    assert solution.problem.value(solution.values["q"]) == pytest.approx(plan.objective)
    assert plan.allocation.min() >= 0.0
    assert plan.allocation.max() <= 1.0
    pinned = instance.pinned
    np.testing.assert_array_equal(plan.allocation[pinned], instance.repository[pinned])
    used = (instance.size * plan.allocation).sum(axis=1)[~pinned]
    assert (used <= instance.budget[~pinned] * (1 + 1e-9)).all()


@given(instance=idn_instances(cost=None), seed=st.integers(0, 10_000))
def test_any_prices_prove_a_bound(instance, seed):
    demand = Demand.of(instance)
    program, best = program_of(instance, demand), optimum(instance, demand)
    rng = np.random.default_rng(seed)
    for scale in (0.0, 1.0, 10.0):
        prices = scale * rng.normal(size=program.capacity.shape)
        assert program.bound(prices) >= best - 1e-9 * max(1.0, best)


@given(instance=idn_instances(), seed=st.integers(0, 10_000))
def test_repaired_points_are_feasible_and_feasible_points_only_gain(instance, seed):
    program = program_of(instance)
    rng = np.random.default_rng(seed)
    shape = (program.slots, program.pair.size)
    hosted = rng.normal(size=program.copies.size) * 3.0
    served = rng.normal(size=shape) * 4.0
    hosted, served = program.repaired(hosted, served)
    assert program.primal_residual(_Values(hosted, served)) <= 1e-12
    again = program.repaired(hosted, served)
    assert program.primal_residual(_Values(*again)) <= 1e-12
    assert program.value(again[1]) >= program.value(served) - 1e-9


class _Values:
    """As much of a solution as a residual needs."""

    def __init__(self, hosted, served):
        self.values = {"x": hosted, "q": served}


@pytest.mark.parametrize("change", ["x", "q", "budget"])
def test_violations_are_seen(change):
    program = program_of(generate(topology=2, tasks=3, horizon=2, arrivals="multinomial"))
    hosted, served = program.repaired(program.copies, np.zeros((2, program.pair.size)))
    assert program.primal_residual(_Values(hosted, served)) <= 1e-12
    if change == "x":
        hosted[0] = -0.1
    elif change == "q":
        served[1, -1] += 1e6
    else:
        hosted *= 1.1
    assert program.primal_residual(_Values(hosted, served)) > 1e-2


def test_the_papers_network():
    """Its size is that of an independent count, its bound that of a vertex method."""
    instance = generate(arrivals="multinomial", horizon=4)
    demand = Demand.of(instance, normalised=True)
    plan = solve_cooperative(instance, demand, method="structured", gap=1e-6)
    assert plan.solution.problem.capacity.shape == (4, 1203)
    assert plan.gap <= 1e-6
    assert plan.solution.values["q"].shape == (4, 1560)
    assert plan.bound == pytest.approx(optimum(instance, demand), rel=1e-6)


def test_replicas_are_one_column_and_share_what_is_hosted():
    instance = generate(topology=2, tasks=2, horizon=1)
    plan = solve_cooperative(instance, method="structured", gap=TIGHT)
    assert plan.solution.problem.copies.max() == 3
    apart = solve(
        cooperative_matrix(instance, Demand.of(instance), relax=True, aggregate=False)
    ).objective
    assert plan.objective == pytest.approx(apart, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_types_of_a_task_may_value_models_differently(seed):
    """Own costs: the options of a task's types differ in order and in number."""
    instance = generate(topology=2, tasks=4, horizon=6, arrivals="multinomial", rng=seed)
    rng = np.random.default_rng(seed)
    shape = (instance.types, instance.longest, instance.models)
    instance = instance.replace(cost=rng.uniform(1.0, 100.0, shape))
    demand = Demand.of(instance)
    plan = solve_cooperative(instance, demand, method="structured", gap=1e-6)
    assert plan.gap <= 1e-6
    assert plan.objective == pytest.approx(optimum(instance, demand), rel=2e-6)


def named_instances(name: str) -> IdnInstance:
    base = generate(topology=2, tasks=2, replicas=1, horizon=3, arrivals="multinomial")
    if name == "no requests":
        return base.replace(requests=np.zeros_like(base.requests))
    if name == "one idle slot":
        requests = base.requests.copy()
        requests[1] = 0
        return base.replace(requests=requests)
    if name == "one idle type":
        requests = base.requests.copy()
        requests[:, 0] = 0
        return base.replace(requests=requests)
    if name == "no budgets":
        return base.replace(budget=np.where(base.pinned, base.budget, 0.0))
    if name == "room for all":
        return base.replace(budget=np.where(base.pinned, base.budget, base.size.sum(axis=1)))
    if name == "endless room":
        return base.replace(budget=np.full(base.nodes, np.inf))
    if name == "no gain":
        return base.replace(cost=np.ones((base.types, base.longest, base.models)))
    if name == "endless capacity":
        return base.replace(capacity=np.full_like(base.capacity, np.inf))
    if name == "little room":
        return base.replace(budget=np.where(base.pinned, base.budget, 1e-3))
    if name == "one slot":
        return base.replace(requests=base.requests[:1])
    raise AssertionError(name)


@pytest.mark.parametrize(
    "name",
    [
        "no requests", "one idle slot", "one idle type", "no budgets", "room for all",
        "endless room", "no gain", "endless capacity", "little room", "one slot",
    ],
)  # fmt: skip
def test_special_cases_have_the_right_bound(name):
    instance = named_instances(name)
    demand = Demand.of(instance)
    best = optimum(instance, demand)
    for method in ("structured", "direct", "auto"):
        plan = solve_cooperative(instance, demand, method=method, gap=1e-6)
        assert plan.objective == pytest.approx(best, rel=2e-6, abs=1e-6)
        assert plan.bound == pytest.approx(best, rel=2e-6, abs=1e-6)
        assert plan.quality is Quality.OPTIMAL
    if name in ("no requests", "no budgets", "no gain"):
        assert best == plan.bound == 0.0


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_stopped_early_the_bound_holds(iterations, monkeypatch):
    instance = generate(topology=2, tasks=4, horizon=10, arrivals="multinomial")
    best = optimum(instance, Demand.of(instance))
    monkeypatch.setattr(solve_module, "MAX_ITERATIONS", iterations)
    plan = solve_cooperative(instance, method="structured", progress=lambda progress: True)
    assert plan.status is Status.INTERRUPTED
    assert plan.objective <= best * (1 + 1e-9)
    assert plan.bound >= best * (1 - 1e-9)
    assert plan.gap > 1e-3
    check_point(instance, plan)


def test_a_stuck_interior_point_hands_over_to_a_vertex_method(monkeypatch):
    monkeypatch.setattr(solve_module, "MAX_ITERATIONS", 2)
    instance = generate(topology=2, tasks=4, horizon=60, arrivals="multinomial")
    assert solve_cooperative(instance, method="structured").status is Status.UNKNOWN
    plan = solve_cooperative(instance)
    assert plan.solver == "highs"
    assert plan.gap <= 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method = 'guess': must be one of 'auto', 'direct', 'structured'"),
        ({"gap": 0.0}, "gap = 0.0: must be positive"),
        ({"method": "structured", "algorithm": "ipm"}, r"takes no options \['algorithm'\]"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        solve_cooperative(generate(topology=2, horizon=1), **options)


def test_a_demand_of_another_instance_is_refused():
    one, other = generate(topology=2, tasks=2, horizon=1), generate(topology=2, tasks=3, horizon=1)
    with pytest.raises(InputError, match="requests"):
        solve_cooperative(one, Demand.of(other))
