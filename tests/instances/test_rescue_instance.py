from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue import (
    LogProfit,
    RescueInstance,
    ReservedTasks,
    generate,
    small,
    tight,
)
from edgeopt.testing.strategies import rescue_instances

everything = rescue_instances(reserved=None, arrivals=None, beyond=None)


@given(everything)
def test_blocks_are_slices_of_the_whole(instance):
    middle = instance.horizon // 2
    for slots in (slice(0, middle), slice(middle, None), slice(0, 0), slice(-1, None)):
        fresh = instance.replace()  # nothing cached
        expected = instance.expected_profit[slots]
        np.testing.assert_allclose(fresh.expected_profit_block(slots), expected, rtol=1e-14)
        n = expected.shape[0]
        whole = np.broadcast_to(instance.realised_profit, instance.shape)[slots]
        block = np.broadcast_to(instance.profit_block(slots), (n, *instance.shape[1:]))
        np.testing.assert_array_equal(block, whole)


@given(everything)
def test_survival_longest_and_mean_follow_from_the_durations(instance):
    for m, row in enumerate(instance.duration):
        support = [d for d, q in enumerate(row, start=1) if q > 0]
        assert instance.longest[m] == support[-1]
        for a in range(instance.max_duration):
            tail = math.fsum(row[a:])
            assert instance.survival[m, a] == pytest.approx(tail, abs=1e-12)
            assert (instance.survival[m, a] > 0) == (a < support[-1])
        assert instance.survival[m, 0] == 1.0
        # The mean of a positive whole number is the sum of its survival function.
        assert instance.survival[m].sum() == pytest.approx(instance.mean_duration[m], abs=1e-9)


def test_profits_beyond_the_horizon_are_dropped_on_request():
    instance = RescueInstance(
        arrival=np.ones((3, 1)),
        duration=np.array([[0.5, 0.25, 0.25]]),
        capacity=np.ones((1, 3)),
        reserved=ReservedTasks.none(),
        profit=np.full((1, 1, 1, 1, 1), 4.0),
        beyond="drop",
    )
    assert instance.expected_profit.ravel().tolist() == [4.0, 3.0, 2.0]
    assert instance.replace(beyond="hold").expected_profit.ravel().tolist() == [4.0, 4.0, 4.0]
    assert instance.realised_profit.shape == (3, 1, 1, 1, 3)


@pytest.mark.parametrize("beyond", ["hold", "drop"])
def test_log_profit_equals_its_formula(beyond):
    instance = generate(servers=2, devices=3, profiles=2, horizon=12, reserved=2, beyond=beyond)
    model, q = instance.profit, instance.duration
    T, J, K, L, D = instance.shape
    assert model.shape == (T, J, K, 1, D)
    blocks = [instance.profit_block(slice(t, t + 1)) for t in range(T)]
    for t, j, k in itertools.product(range(T), range(J), range(K)):
        age = t - model.trained[j]
        accuracy = model.accuracy[j] * math.exp(-model.decay[j] * age)
        gap = max(0.0, 1 - accuracy / model.best_accuracy)
        work, mean = 0.0, [0.0] * L
        for d in range(1, D + 1):
            work += instance.capacity[k, min(t + d - 1, T - 1)]
            gain = model.gain[j] * math.log(1 + model.curvature[j] * work)
            earns = d <= model.budget[j, k] and (beyond == "hold" or t + d <= T)
            profit = model.weight[j] * gap * gain if earns else 0.0
            assert blocks[t][0, j, k, 0, d - 1] == pytest.approx(profit, rel=1e-12, abs=0)
            mean = [mean[m] + q[m, d - 1] * profit for m in range(L)]
        assert instance.expected_profit[t, j, k] == pytest.approx(mean, rel=1e-12, abs=0)


def test_accuracy_gap_is_never_negative():
    model = generate(horizon=30).profit
    fresh = type(model)(**{**model.parameters(), "best_accuracy": 0.8})
    assert fresh.accuracy_gap().min() == 0.0
    assert fresh.accuracy_gap().max() > 0.0


def test_arrays_are_private_and_read_only():
    arrival = np.full((2, 3), 0.25)
    instance = tight(0.5).replace(arrival=arrival)
    arrival[0, 0] = 9.0
    assert instance.arrival[0, 0] == 0.25
    for array in (
        instance.arrival,
        instance.duration,
        instance.capacity,
        instance.profit,
        instance.survival,
        instance.longest,
        instance.mean_duration,
        instance.expected_profit,
        instance.realised_profit,
        generate(horizon=20).profit.weight,
        generate(horizon=20).reserved.demand,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        instance.arrival = arrival


def test_equal_shapes_with_other_axes_differ():
    # The same bytes under another shape are another instance.
    wide = tight(0.5).replace(profit=np.ones((2, 1, 1, 1, 1)))
    long = tight(0.5).replace(profit=np.ones((1, 1, 1, 1, 2)))
    assert wide.fingerprint() != long.fingerprint()


def test_blocks_must_be_contiguous():
    with pytest.raises(ValueError, match="contiguous"):
        small(0).profit_block(slice(None, None, 2))


def test_sizes_and_repr():
    instance = generate(servers=2, devices=3, profiles=2, horizon=12, reserved=2)
    sizes = (instance.horizon, instance.devices, instance.servers, instance.profiles)
    assert (*sizes, instance.max_duration) == instance.shape == (12, 3, 2, 2, 40)
    assert "servers=2, devices=3, profiles=2, horizon=12" in repr(instance)


@pytest.mark.parametrize("scale", [1.0, 1.1, 3.0])
def test_more_capacity_is_that_of_the_profit_model_too(scale):
    instance = generate(rng=1, horizon=10)
    larger = instance.with_capacity(scale=scale)
    assert isinstance(larger.profit, LogProfit)
    np.testing.assert_array_equal(larger.capacity, scale * instance.capacity)
    np.testing.assert_array_equal(larger.profit.capacity, larger.capacity)
    np.testing.assert_array_equal(larger.profit.weight, instance.profit.weight)
    assert (larger.expected_profit >= instance.expected_profit).all()
    assert (larger == instance) == (scale == 1.0)


@given(rescue_instances(), st.sampled_from([1.0, 1.5]))
def test_profits_that_are_given_as_an_array_stay(instance, scale):
    larger = instance.with_capacity(scale=scale)
    np.testing.assert_array_equal(larger.capacity, scale * instance.capacity)
    np.testing.assert_array_equal(larger.profit, instance.profit)


def test_capacity_must_stay_positive_and_enough_for_reserved_tasks():
    instance = generate(rng=0)
    for scale in (0.0, -1.0, np.inf, np.nan, "2"):
        with pytest.raises(OptionError, match="scale"):
            instance.with_capacity(scale=scale)
    with pytest.raises(InstanceError, match="reserved"):
        instance.with_capacity(scale=0.05)
