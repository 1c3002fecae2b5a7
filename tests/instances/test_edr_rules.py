"""Bad data are refused with field, index, value and rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import InstanceError
from edgeopt.instances.edr import EdrInstance
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.instances.rules import Rules, check


def sound() -> dict:
    """Three sites, two tasks, two types of requests, two frames of two slots."""
    return {
        "cap": [5.0, np.inf],
        "price": [1.0, -0.5],
        "arrival": [0, 1],
        "deadline": [1, 1],
        "rounds": [3, 1],
        "client": [[1, 1, 0], [0, 1, 1]],
        "server": [1, 2],
        "local_steps": [2, 1],
        "step_work": np.full((2, 3), 0.5),
        "aggregation_work": [0.25, 0.0],
        "model_size": [3600.0, 0.0],
        "request_size": [8.0, 0.0],
        "request_work": [1.0, 2.0],
        "energy_per_work": [1.0, 0.5, 0.0],
        "capacity": [10.0, 10.0, 0.0],
        "speed": [4.0, 2.0, 1.0],
        "capable": [[1, 0], [1, 1], [0, 1]],
        "requests": np.ones((2, 2, 3, 2)),
        "propagation": np.tile([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]], (2, 2, 1, 1)),
        "slo": np.full((2, 2, 2), 20.0),
        "rate": np.full((2, 3, 3), 4.0),
        "power": [1.0, 0.5, 0.0],
    }


put, refused = Rules(EdrInstance, sound).put, Rules(EdrInstance, sound).refused


def test_sound_data_are_accepted():
    instance = EdrInstance(**sound())
    assert (instance.frames, instance.slots, instance.sites) == (2, 2, 3)
    assert (instance.tasks, instance.types) == (2, 2)
    assert instance.window.tolist() == [2, 1]
    assert instance.even_rate.tolist() == [1.5, 1.0]
    assert instance.active.tolist() == [[True, False], [True, True]]
    assert instance.price_prior == 1.0
    assert np.isinf(instance.rate[:, range(3), range(3)]).all()
    for name in ("cap", "client", "requests", "rate", "slo", "round_energy", "active"):
        assert not getattr(instance, name).flags.writeable, name


def test_all_of_a_round_and_a_request_by_hand():
    instance = EdrInstance(**sound())
    # Task 0: clients 0 and 1, server 1; each client makes 2 steps of 0.5 GFLOP.
    assert instance.round_work.tolist() == [[1.0, 1.25, 0.0], [0.0, 0.5, 0.5]]
    # Computing 1 * 1 + 1.25 * 0.5 Wh; 3600 bit at 4 bit/s is 900 s at 1 W there and 0.5 W back.
    assert instance.round_energy[:, 0].tolist() == [1.625 + 0.25 + 0.125] * 2
    assert instance.round_energy[:, 1].tolist() == [0.25] * 2
    assert instance.round_seconds.tolist() == [[1802.0, 2.0]] * 2
    assert instance.round_cost.tolist() == [[2 + 1802, 0.25 + 2], [-1 + 1802, -0.125 + 2]]
    # From site 0 to 1: a second each way, 1 / 2 s of work, 8 / 4 s of sending.
    assert instance.request_seconds(0, 0)[0, 1].tolist() == [4.5, 3.0]
    assert instance.request_seconds(1, 1)[0, 0].tolist() == [0.25, 0.5]
    assert instance.request_energy.tolist() == [[1, 2], [0.5, 1], [0, 0]]


def test_accuracy_is_one_unless_given_and_changes_no_cost():
    instance = EdrInstance(**sound())
    assert instance.accuracy.tolist() == [[1.0] * 2] * 3
    assert EdrInstance(**sound(), accuracy=np.ones((3, 2))) == instance
    other = EdrInstance(**sound(), accuracy=[[0.5, 1], [0, 1], [1, 1]])
    assert other != instance
    assert (other.round_cost == instance.round_cost).all()
    assert (other.request_seconds(0, 0) == instance.request_seconds(0, 0)).all()
    assert (other.request_energy == instance.request_energy).all()


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        # The cases that must be named, each.
        ("deadline", [1, 0], (1,), 0, "the window would have no frame"),
        ("server", [2, 2], (0,), 2, "must be a client of its task"),
        ("cap", [5.0, -1.0], (1,), -1.0, "must not be negative"),
        # Windows and tasks.
        ("arrival", [-1, 1], (0,), -1, "must be a frame, counted from 0"),
        ("deadline", [1, 2], (1,), 2, "must be one of the 2 frames"),
        ("server", [1, 3], (1,), 3, "must be one of the 3 sites"),
        ("server", [-1, 2], (0,), -1, "must be one of the 3 sites"),
        ("rounds", [3, 0], (1,), 0, "must be at least 1"),
        ("rounds", [2.5, 1], (0,), 2.5, "must be a whole number"),
        ("local_steps", [0, 1], (0,), 0, "must be at least 1"),
        ("client", [[1, 2, 0], [0, 1, 1]], (0, 1), 2, "must be 0 or 1"),
        ("step_work", put("step_work", (1, 2), -1), (1, 2), -1.0, "must not be negative"),
        ("aggregation_work", [0, -1], (1,), -1.0, "must not be negative"),
        ("model_size", [np.nan, 0], (0,), np.nan, "must be finite"),
        # Sites.
        ("capable", [[1, 0], [1, 0.5], [0, 1]], (1, 1), 0.5, "must be a whole number"),
        ("energy_per_work", [1, -0.5, 0], (1,), -0.5, "must not be negative"),
        ("capacity", [np.inf, 1, 1], (0,), np.inf, "must be finite"),
        ("capacity", [1, -1, 1], (1,), -1.0, "must not be negative"),
        ("speed", [4, 0, 1], (1,), 0.0, "must be positive"),
        ("power", [-1, 0, 1], (0,), -1.0, "must not be negative"),
        ("power", [[1, 0, 1], [1, -1, 1]], (1, 1), -1.0, "must not be negative"),
        ("accuracy", [[1, 1], [1, 1.5], [1, 1]], (1, 1), 1.5, "must be at most 1"),
        ("accuracy", [[1, 1], [1, 1], [-1, 1]], (2, 0), -1.0, "must not be negative"),
        ("request_work", [0, 1], (0,), 0.0, "must be positive"),
        ("request_size", [0, -1], (1,), -1.0, "must not be negative"),
        # Demand and network.
        ("requests", put("requests", (1, 0, 2, 1), -2), (1, 0, 2, 1), -2.0, "not be negative"),
        ("requests", put("requests", (0, 1, 0, 0), np.nan), (0, 1, 0, 0), np.nan, "finite"),
        ("propagation", put("propagation", (1, 1, 0, 2), -1), (1, 1, 0, 2), -1.0, "negative"),
        ("propagation", put("propagation", (1, 0, 2, 2), 1), (1, 0, 2), 1.0, "site to itself"),
        ("rate", put("rate", (1, 0, 2), -1), (1, 0, 2), -1.0, "must not be negative"),
        ("rate", put("rate", (1, 0, 2), np.nan), (1, 0, 2), np.nan, "plus infinity"),
        ("slo", put("slo", (0, 1, 1), 0), (0, 1, 1), 0.0, "must be positive"),
        ("slo", put("slo", (0, 1, 1), 300.5), (0, 1, 1), 300.5, "must fit into a slot"),
        # Prices and numbers.
        ("price", [1.0, np.inf], (1,), np.inf, "must be finite"),
        ("cap", [np.nan, 1.0], (0,), np.nan, "must be a number or plus infinity"),
        ("task_kind", [0, -1], (1,), -1, "must be a kind, counted from 0"),
    ],
)
def test_bad_entries_are_named(field, value, index, found, rule):
    check(refused(**{field: value}), field, index, found, rule)


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"capable": [[1, 0], [1, 0], [0, 0]]}, "capable[:, 1]", "some site must be able"),
        ({"capable": np.zeros((3, 2))}, "capable[:, 0]", "some site must be able"),
        ({"energy_weight": -1.0}, "energy_weight", "must not be negative"),
        ({"delay_weight": np.nan}, "delay_weight", "must be finite"),
        ({"price_prior": np.inf}, "price_prior", "must be finite"),
        ({"slot_seconds": 0.0}, "slot_seconds", "must be positive"),
        ({"round_delay": "mean"}, "round_delay", "must be one of 'sum', 'max'"),
        ({"cap": [1.0]}, "cap", "must have 2 entries along its axis 'frame'"),
        ({"price": [[1.0, 1.0]]}, "price", r"must have the axes [frame]"),
        ({"client": [[1, 1], [1, 1]]}, "client", "must have 3 entries along its axis 'site'"),
        ({"deadline": [1]}, "deadline", "must have 2 entries along its axis 'task'"),
        ({"rate": np.ones((2, 3, 2))}, "rate", "must have 3 entries along its axis 'target'"),
        ({"slo": np.ones((2, 1, 2))}, "slo", "must have 2 entries along its axis 'slot'"),
        ({"requests": np.ones((2, 2, 3, 0))}, "requests", "at least one type"),
        ({"names": ("a", "b")}, "names", "must be 3 texts, one per site"),
        ({"names": ("a", "b\n", "c")}, "names", "must be a text of one line"),
        ({"position": np.zeros((3, 3))}, "position", "must have 2 entries"),
    ],
)
def test_bad_fields_are_named(changes, field, rule):
    error = refused(**changes)
    assert error.field == field
    assert rule in error.rule


def test_an_objective_that_no_site_meets_is_named():
    # Type 0 is served at sites 0 and 1 alone, in a quarter and half a second at home.
    slo = put("slo", (1, 0, 0), 0.2)
    error = refused(slo=slo)
    assert (error.field, error.index, error.value) == ("slo", (1, 0, 0), 0.2)
    assert "no site meets it" in error.rule
    # Without requests at the two sites, the nearest is a second away each way.
    requests = put("requests", (1, 0, [0, 1], 0), 0.0)
    assert refused(slo=put("slo", (1, 0, 0), 4.4), requests=requests).index == (1, 0, 0)
    assert EdrInstance(**{**sound(), "slo": put("slo", (1, 0, 0), 4.5), "requests": requests})
    # An objective that nobody asks for may be out of reach, and so may one of a single site.
    quiet = put("requests", (1, 0, slice(None), 0), 0.0)
    assert EdrInstance(**{**sound(), "slo": slo, "requests": quiet})
    assert EdrInstance(**{**sound(), "slo": put("slo", (1, 0, 0), 0.25)})


@given(edr_instances())
@settings(max_examples=draws(80))
def test_objectives_are_met_exactly_where_a_route_is(instance):
    tight = instance.slo.copy()
    for t, d, n in np.ndindex(tight.shape):
        seconds = instance.request_seconds(t, d)[:, :, n]
        routes = [
            seconds[j, k]
            for j, k in np.ndindex(seconds.shape)
            if instance.requests[t, d, j, n] > 0 and instance.capable[k, n]
        ]
        if routes:
            tight[t, d, n] = max(min(routes), 1e-3)
            below = tight.copy()
            below[t, d, n] -= 1e-4
            with pytest.raises(InstanceError, match="no site meets it") as caught:
                instance.replace(slo=below)
            assert caught.value.index == (t, d, n)
    assert instance.replace(slo=tight).active.shape == (instance.frames, instance.tasks)


def test_no_task_and_no_request_are_allowed():
    none = {name: np.asarray(sound()[name])[:0] for name in TASK_FIELDS}
    instance = EdrInstance(**{**sound(), **none, "requests": np.zeros((2, 2, 3, 2))})
    assert instance.tasks == 0
    assert instance.round_energy.shape == instance.active.shape == (2, 0)
    assert instance.round_work.shape == (0, 3)


TASK_FIELDS = (
    "arrival", "deadline", "rounds", "client", "server", "local_steps", "step_work",
    "aggregation_work", "model_size",
)  # fmt: skip
