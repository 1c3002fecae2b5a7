"""Value functions of a sparse plan, of blocks, of micro-slots; what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.online.rescue import Rescue, auxiliary_values, policy_value, tables, value_functions
from edgeopt.online.rescue.values import route_values
from tests.online.rescue.plans import plan_of
from tests.strategies import rescue_instances


def as_rows(instance, y):
    T, J, K, L, _ = instance.shape
    return sparse.csr_array(y.reshape(T * J, K * L))


@given(rescue_instances(arrivals=None, beyond=None))
def test_sparse_and_dense_plans_have_one_value(instance):
    y = plan_of(instance).y
    rows = as_rows(instance, y)
    full, thin = value_functions(instance, y), value_functions(instance, rows)
    assert np.array_equal(full.baseline, thin.baseline)
    assert thin.activation.shape == rows.shape
    assert np.array_equal(thin.activation.indptr, rows.indptr)
    assert np.array_equal(thin.activation.indices, rows.indices)
    flat = full.activation.reshape(rows.shape)
    row, cell = y.reshape(rows.shape).nonzero()
    assert thin.activation.data == pytest.approx(flat[row, cell], rel=1e-12)
    if instance.arrivals == "exclusive":
        merged = auxiliary_values(instance, y)
        for one, two in zip(merged, auxiliary_values(instance, rows), strict=True):
            assert np.array_equal(one, two)


def test_entries_of_a_sparse_plan_may_come_in_any_order():
    instance = generate(servers=2, devices=2, profiles=2, horizon=8, reserved=2)
    y = plan_of(instance).y
    entries = as_rows(instance, y).tocoo()
    order = np.argsort(-entries.data)
    halves = np.concatenate([entries.data[order], entries.data[order]]) / 2
    where = tuple(np.tile(axis[order], 2) for axis in entries.coords)
    shuffled = sparse.coo_array((halves, where), shape=entries.shape)
    expected = value_functions(instance, y).baseline
    assert value_functions(instance, shuffled).baseline == pytest.approx(expected)


def test_a_sparse_plan_never_becomes_a_full_table(monkeypatch):
    """Memory stays far below one array of [T, J, K, L]."""
    instance = generate(servers=12, devices=40, profiles=5, horizon=100, reserved=12)
    T, J, K, L, _ = instance.shape
    rng = np.random.default_rng(0)
    # Every arrival is sent to one server with the shortest profile, thinly.
    cell = rng.integers(0, K, T * J) * L
    mass = instance.arrival.ravel() / 20
    y = sparse.csr_array((mass, cell, np.arange(T * J + 1)), shape=(T * J, K * L))
    expected = value_functions(instance.replace(), y.toarray().reshape(T, J, K, L)).baseline
    monkeypatch.setattr(tables, "ENTRIES", 4 * J * K * instance.max_duration)
    value_functions(instance, y)  # compile first
    tracemalloc.start()
    thin = value_functions(instance, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < T * J * K * L * 8 / 2
    assert thin.baseline == pytest.approx(expected)


def test_independent_arrivals_wait_for_the_next_device():
    """Two tasks in one slot, p = (1, e), R = (d, 1/e): the routed policy keeps half of the LP."""
    e = d = 0.01
    instance = RescueInstance(
        arrival=np.array([[1.0, e]]),
        duration=np.ones((1, 1)),
        capacity=np.ones((1, 1)),
        reserved=ReservedTasks.none(),
        profit=np.array([d, 1 / e]).reshape(1, 2, 1, 1, 1),
        arrivals="independent",
    )
    y = np.array([1 - e, e]).reshape(1, 2, 1, 1)
    values = route_values(instance, y)
    assert values.after.shape == (1, 2, 1)
    assert values.after.ravel().tolist() == pytest.approx([1.0, 0.0])
    activation, baseline = value_functions(instance, y)
    assert activation.ravel() == pytest.approx([d, 1 / e])
    assert baseline.tolist() == [pytest.approx([1.0, 0.0])]
    assert policy_value(instance, Rescue(plan=plan_of(instance))) == pytest.approx(1.0)


def test_refuses_what_is_no_plan():
    instance = generate(servers=2, devices=2, profiles=2, horizon=4, reserved=2)
    y = plan_of(instance).y
    with pytest.raises(OptionError, match=r"y has shape \(4, 2, 2\)"):
        value_functions(instance, y[..., 0])
    with pytest.raises(OptionError, match=r"sparse it must be \(8, 4\)"):
        value_functions(instance, sparse.csr_array((4, 8)))
    for value in (-1e-3, np.nan):
        wrong = y.copy()
        wrong[0, 0, 0, 0] = value
        with pytest.raises(OptionError, match="finite and nonnegative"):
            value_functions(instance, wrong)
    with pytest.raises(OptionError, match=r"assigns \d.* times what arrives of a task"):
        value_functions(instance, np.ones_like(y))
    independent = instance.replace(arrivals="independent")
    with pytest.raises(OptionError, match="exclusive arrivals"):
        auxiliary_values(independent, y)
