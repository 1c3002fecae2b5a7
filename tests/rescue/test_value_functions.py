"""Value functions, and the recursion for renewing resources behind them."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import generate
from edgeopt.online.rescue import lookup_tables as tables
from edgeopt.online.rescue import value_functions
from edgeopt.online.rescue.lookup_tables import renewal_values
from edgeopt.testing.strategies import rescue_instances
from tests.rescue.plans import plan_of


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
    row, pair = y.reshape(rows.shape).nonzero()
    assert thin.activation.data == pytest.approx(flat[row, pair], rel=1e-12)


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
    pair = rng.integers(0, K, T * J) * L
    mass = instance.arrival.ravel() / 20
    y = sparse.csr_array((mass, pair, np.arange(T * J + 1)), shape=(T * J, K * L))
    expected = value_functions(instance.replace(), y.toarray().reshape(T, J, K, L)).baseline
    monkeypatch.setattr(tables, "ENTRIES", 4 * J * K * instance.max_duration)
    value_functions(instance, y)  # compile first
    tracemalloc.start()
    thin = value_functions(instance, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < T * J * K * L * 8 / 2
    assert thin.baseline == pytest.approx(expected)


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


@st.composite
def problems(draw):
    """Return offers by step as (resource, kind, probability, reward), distributions, sizes."""
    slots, steps = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    resources, kinds, longest = draw(st.integers(1, 3)), draw(st.integers(1, 2)), 3
    offer = st.tuples(st.integers(0, resources - 1), st.integers(0, kinds - 1), st.integers(-4, 9))
    listed = [draw(st.lists(offer, max_size=4)) for _ in range(slots * steps)]
    offers = [[(k, kind, Fraction(1, 5), Fraction(r, 2)) for k, kind, r in s] for s in listed]
    distributions = []
    for _ in range(kinds):
        weights = draw(st.lists(st.integers(0, 3), min_size=longest, max_size=longest).filter(any))
        distributions.append([Fraction(w, sum(weights)) for w in weights])
    return offers, distributions, resources, steps


def recursion(offers, distributions, resources, steps):
    slots = len(offers) // steps
    waiting = [[Fraction(0)] * resources for _ in range(len(offers) + 1)]
    following = {}
    for n in reversed(range(len(offers))):
        t = n // steps
        for k in range(resources):
            for kind, distribution in enumerate(distributions):
                following[t, k, kind] = sum(
                    (
                        q * waiting[(t + d) * steps][k]
                        for d, q in enumerate(distribution, 1)
                        if t + d < slots
                    ),
                    Fraction(0),
                )
            later = waiting[n + 1][k]
            mine = [(p, r + following[t, k, kind]) for i, kind, p, r in offers[n] if i == k]
            rest = 1 - sum(p for p, _ in mine)
            waiting[n][k] = sum(p * max(value, later) for p, value in mine) + rest * later
    return waiting, following


@given(problems())
def test_equals_the_recursion(problem):
    offers, distributions, resources, steps = problem
    flat = [offer for step in offers for offer in step]
    columns = list(zip(*flat, strict=True)) if flat else [(), (), (), ()]
    distribution = np.array(distributions, dtype=np.float64)
    first = np.cumsum([0, *map(len, offers)])
    kinds = (np.int64, np.int64, np.float64, np.float64)
    found = renewal_values(
        (first, *map(np.array, columns, kinds)),
        distribution,
        distribution.shape[1] - np.argmax(distribution[:, ::-1] > 0, axis=1),
        resources=resources,
        steps=steps,
    )
    waiting, following = recursion(offers, distributions, resources, steps)
    assert found[0] == pytest.approx(np.array(waiting, dtype=float), abs=1e-12)
    for index, value in following.items():
        assert found[1][index] == pytest.approx(float(value), abs=1e-12)
