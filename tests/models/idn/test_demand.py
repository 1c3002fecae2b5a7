"""Slots that are alike are merged, and weigh what they weighed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.models.idn import Demand, average_gain, gain, supergradient
from edgeopt.testing.strategies import idn_instances
from tests.models.idn.cases import potentials, shares


@given(idn_instances(), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_averages_are_sums_over_slots(instance, seed, normalised, given_weights):
    rng = np.random.default_rng(seed)
    potential, y = potentials(instance, rng), shares(instance, rng)
    T = instance.horizon
    weight = rng.random(T) if given_weights else None
    weights = np.full(T, 1 / T) if weight is None else weight
    demand = Demand.of(instance, potential=potential, weight=weight, normalised=normalised)
    value = 0.0
    for t, (requests, amounts) in enumerate(zip(instance.requests, potential, strict=True)):
        each = weights[t]
        if normalised:
            each = each / requests.sum() if requests.sum() else 0.0
        value += each * gain(instance, requests, amounts, y)
    assert average_gain(instance, demand, y) == pytest.approx(value, rel=1e-12, abs=1e-12)


@given(idn_instances())
def test_equal_slots_are_merged(instance):
    doubled = instance.replace(requests=np.vstack([instance.requests, instance.requests[::-1]]))
    demand, once = (Demand.of(each) for each in (doubled, instance))
    assert len(demand) == len(once) == len(np.unique(instance.requests, axis=0))
    assert (demand.requests == once.requests).all()
    assert (demand.potential == once.potential).all()
    assert demand.weight == pytest.approx(once.weight)
    assert demand.weight.sum() == pytest.approx(1.0)
    assert demand.requests[0].tolist() == instance.requests[0].tolist()
    for requests, potential in zip(demand.requests, demand.potential, strict=True):
        expected = instance.ranking.potential(requests.astype(int))
        assert potential.tolist() == expected.tolist()


@given(idn_instances(), st.integers(0, 2**32))
def test_the_gain_lies_below_its_tangents(instance, seed):
    rng = np.random.default_rng(seed)
    demand = Demand.of(instance, potential=potentials(instance, rng))
    y, other = shares(instance, rng), shares(instance, rng)
    slope = sum(
        weight * supergradient(instance, requests, potential, y)
        for weight, requests, potential in zip(
            demand.weight, demand.requests, demand.potential, strict=True
        )
    )
    tangent = average_gain(instance, demand, y) + float((slope * (other - y)).sum())
    assert average_gain(instance, demand, other) <= tangent + 1e-9


def test_arrays_cannot_be_changed():
    weight = np.ones(1)
    demand = Demand(np.ones((1, 1)), np.ones((1, 2)), weight)
    with pytest.raises(ValueError, match="read-only"):
        demand.weight[0] = 2.0
    weight[0] = 3.0
    assert demand.weight.tolist() == [1.0]


@given(idn_instances(), idn_instances())
def test_a_copy_fits_what_the_original_fits(instance, other):
    demand = Demand.of(instance)
    copy = pickle.loads(pickle.dumps(demand))
    y = instance.empty
    assert average_gain(instance, copy, y) == average_gain(instance, demand, y)
    for each in (demand, copy):
        if instance.types != other.types:
            with pytest.raises(InputError, match="requests"):
                each.fitting(other)


@pytest.mark.parametrize(
    ("field", "arrays"),
    [
        ("requests", ([1.0], [[1.0]], [1.0])),
        ("requests", ([[-1.0]], [[1.0]], [1.0])),
        ("potential", ([[1.0]], [1.0], [1.0])),
        ("potential", ([[1.0]], [[np.inf]], [1.0])),
        ("potential", ([[1.0]], [[1.0], [1.0]], [1.0])),
        ("weight", ([[1.0]], [[1.0]], [1.0, 1.0])),
        ("weight", ([[1.0]], [[1.0]], [np.nan])),
    ],
)
def test_bad_arrays_are_named(field, arrays):
    with pytest.raises(InputError) as caught:
        Demand(*arrays)
    assert caught.value.field == field


@given(idn_instances().filter(lambda instance: instance.requests.any()))
def test_repositories_must_serve_everything(instance):
    ranking = instance.ranking
    potential = instance.ranking.potential(instance.requests)
    slot, type_ = np.argwhere(instance.requests > 0)[0]
    option = np.flatnonzero(ranking.permanent & (ranking.type == type_))[0]
    potential[slot, option] -= 1.0
    with pytest.raises(InputError, match="repository model") as caught:
        Demand.of(instance, potential=potential)
    assert caught.value.index == (slot, option)
