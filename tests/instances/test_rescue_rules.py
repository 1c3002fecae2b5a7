"""Bad input: every broken rule is named with field, index, value and rule."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import EdgeOptError, InstanceError
from edgeopt.instances.rescue import LogProfit, ProfitModel, RescueInstance, ReservedTasks, generate

T, J, K, L, D = 3, 2, 2, 2, 2


def good(**changes):
    fields = {
        "arrival": np.full((T, J), 0.5),
        "duration": np.array([[0.7, 0.3], [0.2, 0.8]]),
        "capacity": np.ones((K, T)),
        "reserved": ReservedTasks.none(),
        "profit": np.ones((T, J, K, L, D)),
    }
    return RescueInstance(**{**fields, **changes})


def changed(shape, index, value, base=0.5):
    array = np.full(shape, base)
    array[index] = value
    return array


def tasks(*rows):
    return ReservedTasks(*(np.array(column) for column in zip(*rows, strict=True)))


BAD_ARRAYS = [
    ("arrival", changed((T, J), (1, 0), np.nan), (1, 0), "nan", "finite"),
    ("arrival", changed((T, J), (2, 1), -0.1), (2, 1), "-0.1", "at least 0"),
    ("arrival", changed((T, J), (0, 1), 1.5), (0, 1), "1.5", "at most 1"),
    ("arrival", changed((T, J), (2, 0), 0.75), (2,), "1.25", "sum to at most 1 over devices"),
    ("duration", [[0.5, 0.4], [0.2, 0.8]], (0,), "0.9", "sum to 1"),
    ("duration", [[0.5, 0.5], [1.5, -0.5]], (1, 1), "-0.5", "at least 0"),
    ("duration", [[0.2, 0.8], [0.7, 0.3]], (1,), "1.3", "exceed that of the profile before"),
    ("duration", [[0.5, 0.5], [0.5, 0.5]], (1,), "1.5", "exceed that of the profile before"),
    ("duration", [[np.nan, 1.0], [0.2, 0.8]], (0, 0), "nan", "finite"),
    ("capacity", changed((K, T), (1, 2), -1.0), (1, 2), "-1.0", "negative"),
    ("capacity", changed((K, T), (0, 1), np.inf), (0, 1), "inf", "finite"),
    (
        "profit",
        changed((T, J, K, L, D), (1, 1, 0, 1, 0), -2.0),
        (1, 1, 0, 1, 0),
        "-2.0",
        "negative",
    ),
    ("profit", changed((1, J, 1, L, D), (0, 1, 0, 1, 0), np.nan), (0, 1, 0, 1, 0), "nan", "finite"),
]


@pytest.mark.parametrize(("field", "array", "index", "value", "rule"), BAD_ARRAYS)
def test_bad_entries_are_named(field, array, index, value, rule):
    with pytest.raises(InstanceError, match=rule) as caught:
        good(**{field: array})
    error = caught.value
    assert error.field == field
    assert error.index == index
    assert float(error.value) == pytest.approx(float(value), nan_ok=True)
    assert isinstance(error, ValueError)
    assert isinstance(error, EdgeOptError)


BAD_SHAPES = [
    ("arrival", np.ones(T), "axes \\[slot, device\\]"),
    ("arrival", np.zeros((T, 0)), "at least one device"),
    ("arrival", np.zeros((0, J)), "at least one slot"),
    ("duration", np.ones(D), "axes \\[profile, duration\\]"),
    ("duration", np.zeros((0, D)), "at least one profile"),
    ("duration", np.zeros((L, 0)), "at least one duration"),
    ("capacity", np.ones((K, T + 1)), "3 entries along its axis 'slot', has 4"),
    ("capacity", np.ones((0, T)), "at least one server"),
    ("profit", np.ones((T, J, K, L)), "axes"),
    ("profit", np.ones((T, J + 1, K, L, D)), "broadcastable"),
    ("profit", "plenty", "real numbers"),
    ("arrival", [[0.1, 0.2], [0.3]], "rectangular"),
    ("arrival", np.full((T, J), 0.1j), "real numbers"),
    ("reserved", [(0, 0, 1, 1.0)], "ReservedTasks"),
    ("arrivals", "rare", "'exclusive', 'independent'"),
    ("beyond", "keep", "'hold', 'drop'"),
]


@pytest.mark.parametrize(("field", "value", "rule"), BAD_SHAPES)
def test_wrong_shapes_and_choices_are_named(field, value, rule):
    with pytest.raises(InstanceError, match=rule) as caught:
        good(**{field: value})
    assert caught.value.field == field
    assert caught.value.value is not None or "rectangular" in rule


def test_probabilities_may_exceed_one_in_sum_for_independent_arrivals():
    arrival = changed((T, J), (2, 0), 0.75)
    assert good(arrival=arrival, arrivals="independent").arrival[2].sum() == 1.25


BAD_TASKS = [
    ([(0, 0, 1, 0.0)], "reserved.demand", (0,), "positive"),
    ([(0, 0, 1, 1.0), (0, 0, 1, np.nan)], "reserved.demand", (1,), "finite"),
    ([(0, 2, 1, 1.0)], "reserved.end", (0,), "before the start"),
    ([(0, -1, 1, 1.0)], "reserved.start", (0,), "counted from 0"),
    ([(-1, 0, 1, 1.0)], "reserved.server", (0,), "counted from 0"),
    ([(0, 0, 1, 1.0), (0, 1, 3, 1.0)], "reserved.end", (1,), "horizon of 3 slots"),
    ([(2, 0, 1, 1.0)], "reserved.server", (0,), "one of the 2 servers"),
    ([(0, 0.5, 1, 1.0)], "reserved.start", (0,), "whole number"),
]


@pytest.mark.parametrize(("rows", "field", "index", "rule"), BAD_TASKS)
def test_bad_reserved_tasks_are_named(rows, field, index, rule):
    with pytest.raises(InstanceError, match=rule) as caught:
        good(reserved=tasks(*rows))
    assert (caught.value.field, caught.value.index) == (field, index)


def test_jointly_infeasible_tasks_are_named():
    reserved = tasks((1, 0, 2, 0.5), (0, 1, 1, 0.6), (0, 0, 2, 0.9), (0, 1, 1, 0.6))
    with pytest.raises(InstanceError, match="tasks 1, 3 of server 0 cannot all be") as caught:
        good(reserved=reserved)
    assert "1.2 TMAC within slots 1..1, which offer 1" in caught.value.rule


def test_a_task_may_take_all_of_its_window():
    capacity = np.full((K, T), 0.1)
    assert len(good(capacity=capacity, reserved=tasks((0, 0, 2, 0.1 * 3))).reserved) == 1


def test_lengths_of_task_arrays_must_agree():
    with pytest.raises(InstanceError, match="2 entries along its axis 'task', has 1"):
        ReservedTasks(np.array([0, 0]), np.array([0]), np.array([1, 1]), np.ones(2))


class Careless(ProfitModel):
    """A profit model that may break the rules in any slot but the first."""

    def __init__(self, block):
        self.array = block

    @property
    def shape(self):
        return (T, J, K, L, D)

    def block(self, slots):
        return self.array[slots]


def test_profit_models_are_checked_where_they_are_used():
    late = good(profit=Careless(changed((T, J, K, L, D), (2, 1, 0, 0, 1), -1.0)))
    assert late.expected_profit_block(slice(0, 2)).shape == (2, J, K, L)
    with pytest.raises(InstanceError, match="not negative") as caught:
        late.expected_profit_block(slice(1, 3))
    assert caught.value.index == (2, 1, 0, 0, 1)
    with pytest.raises(InstanceError, match="not negative"):
        good(profit=Careless(changed((T, J, K, L, D), (0, 0, 0, 0, 0), np.nan)))
    with pytest.raises(InstanceError, match="broadcastable"):
        good(profit=Careless(np.ones((T, J, K))))


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("weight", -1.0, "not be negative"),
        ("accuracy", 1.1, "at most 1"),
        ("gain", np.nan, "finite"),
        ("curvature", -0.1, "not be negative"),
        ("decay", -0.1, "not be negative"),
        ("budget", -1, "not be negative"),
        ("trained", 0.5, "whole number"),
    ],
)
def test_parameters_of_the_log_profit_are_named(name, value, rule):
    model = generate(horizon=20, reserved=0).profit
    parameters = model.parameters()
    array = np.array(parameters[name], dtype=np.float64)
    index = (2,) * array.ndim
    array[index] = value
    with pytest.raises(InstanceError, match=rule) as caught:
        LogProfit(**{**parameters, name: array})
    assert (caught.value.field, caught.value.index) == (f"profit.{name}", index)


@pytest.mark.parametrize(("name", "value"), [("best_accuracy", 0.0), ("max_duration", 0)])
def test_numbers_of_the_log_profit_are_named(name, value):
    parameters = generate(horizon=20, reserved=0).profit.parameters()
    with pytest.raises(InstanceError) as caught:
        LogProfit(**{**parameters, name: value})
    assert (caught.value.field, caught.value.value) == (f"profit.{name}", value)


def test_log_profit_must_work_with_the_capacity_of_the_instance():
    instance = generate(horizon=20, reserved=0)
    with pytest.raises(InstanceError, match="equal the capacity of the instance"):
        instance.replace(capacity=instance.capacity * 2, profit=instance.profit)
