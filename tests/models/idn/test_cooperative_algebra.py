"""The eliminations of the cooperative bound against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgeopt.instances.idn import generate
from edgeopt.models.idn import Demand
from edgeopt.models.idn.bounds import cooperative_program
from edgeopt.models.idn.matrix import offers
from edgeopt.models.idn.standard_form import CooperativeForm
from edgeopt.testing.strategies import idn_instances


def form_of(instance, demand=None):
    demand = Demand.of(instance) if demand is None else demand
    chosen = offers(instance, demand, aggregate=True, cooperative=True)
    return CooperativeForm(cooperative_program(instance, demand, chosen))


def dense(form: CooperativeForm) -> np.ndarray:
    """Write the rows out by applying them to unit vectors."""
    return np.array([form.rows(unit) for unit in np.eye(form.cost.size)]).T


@given(instance=idn_instances(nodes=3, models=4, horizon=2, cost=None), seed=st.integers(0, 10_000))
def test_normal_equations_equal_dense_ones(instance, seed):
    form = form_of(instance)
    assume(form.program.pair.size > 0)
    matrix = dense(form)
    rng = np.random.default_rng(seed)
    weight = np.exp(rng.uniform(-5, 5, form.cost.size))
    form.factorise(weight)
    right = rng.normal(size=matrix.shape[0])
    multipliers, prices = form.solve(right)
    want = np.linalg.solve((matrix * weight) @ matrix.T, right)
    size = np.abs(want).max()
    np.testing.assert_allclose(multipliers, want, atol=1e-8 * size)
    np.testing.assert_allclose(prices, matrix.T @ want, atol=1e-8 * size)
    np.testing.assert_allclose(form.prices(right), matrix.T @ right, atol=1e-12)


def test_many_types_of_one_task_meet_in_a_pair():
    """Eight entries per task: the elimination of demand rows is more than two by two."""
    instance = generate(topology=1, tasks=8, replicas=1, horizon=2, arrivals="multinomial")
    task, one = instance.task, instance.task == 0
    many = instance.replace(
        size=instance.size[:, one], delay=instance.delay[:, one],
        capacity=instance.capacity[:, one], accuracy=instance.accuracy[one], task=task[one],
        repository=instance.repository[:, one], request_task=np.zeros_like(instance.request_task),
    )  # fmt: skip
    form = form_of(many)
    assert np.diff(form.program.type_first).tolist() == [16]
    rng = np.random.default_rng(0)
    weight = np.exp(rng.uniform(-4, 4, form.cost.size))
    form.factorise(weight)
    right = rng.normal(size=form.right.size)
    multipliers, _ = form.solve(right)
    back = form.rows(weight * form.prices(multipliers))
    np.testing.assert_allclose(back, right, atol=1e-8)


def test_demand_rows_keep_their_digits_where_nearly_all_weight_cancels():
    """Capacity slacks and repository shares vanish near the optimum: pivots are differences."""
    form = form_of(generate(topology=2, tasks=3, horizon=2, arrivals="multinomial"))
    rng = np.random.default_rng(1)
    weight = np.empty(form.cost.size)
    parts = form.columns(weight)
    for part, size in zip(parts, (1.0, 1e-22, 1e-20, 1.0, 1.0, 1.0), strict=True):
        part[:] = size * np.exp(rng.uniform(-1, 1, part.shape))
    form.factorise(weight)
    pivots = np.concatenate(
        [np.diagonal(task.factor, axis1=1, axis2=2).ravel() for task in form.normal._tasks]
    )
    assert np.isfinite(pivots).all()
    # The loosest types keep only what leaks through the slacks: far below rounding of the weights.
    assert 0.0 < pivots.min() ** 2 < 1e-17


def test_hosting_columns_have_their_price_from_the_elimination():
    """With a huge weight the product of weight and price must still balance the rows."""
    form = form_of(generate(topology=2, tasks=3, horizon=4, arrivals="multinomial"))
    rng = np.random.default_rng(2)
    weight = np.exp(rng.uniform(-2, 2, form.cost.size))
    form.columns(weight).hosting[:] = 1e12
    form.factorise(weight)
    right = rng.normal(size=form.right.size)
    multipliers, prices = form.solve(right)
    exact = np.abs(form.rows(weight * prices) - right).max()
    lossy = np.abs(form.rows(weight * form.prices(multipliers)) - right).max()
    assert exact <= 1e-8
    assert lossy > 1e-6


def test_the_start_meets_all_rows_from_within():
    form = form_of(generate(topology=1, horizon=3, arrivals="multinomial"))
    point = form.start()
    np.testing.assert_allclose(form.rows(point.primal), form.right, atol=1e-12)
    assert point.primal.min() > 0.0


def test_lost_definiteness_is_an_error_of_arithmetic():
    form = form_of(generate(topology=2, tasks=2, horizon=1))
    weight = np.ones(form.cost.size)
    form.columns(weight).demand[:] = np.nan
    with pytest.raises(FloatingPointError, match="weight"):
        form.factorise(weight)
    weight = np.ones(form.cost.size)
    form.columns(weight).hosting[:] = -1e-3
    with pytest.raises(FloatingPointError, match="definiteness"):
        form.factorise(weight)
