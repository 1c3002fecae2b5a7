"""Bad data are refused with field, index, value and rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import InstanceError
from edgeopt.instances.oinc import OincInstance
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.instances.rules import Rules, check


def sound() -> dict:
    """Two sites, three devices, two slots, two jobs."""
    return {
        "speed": [4.0, 2.0],
        "rate": [[8.0, 4.0], [16.0, 8.0], [8.0, 8.0]],
        "active": [[1, 0, 1], [1, 1, 0]],
        "request_size": [[1.0, 2.0, 0.0], [4.0, 1.0, 1.0]],
        "request_work": [[0.5, 0.0, 1.0], [0.25, 1.0, 1.0]],
        "slo": [[1.0, 0.5, 0.5], [0.5, 1.0, 0.5]],
        "arrival": [0, 1],
        "work": [8.0, 1.0],
        "deadline": [3.0, 1.5],
    }


put, refused = Rules(OincInstance, sound).put, Rules(OincInstance, sound).refused


def test_sound_data_are_accepted():
    instance = OincInstance(**sound())
    assert (instance.slots, instance.devices, instance.sites, instance.jobs) == (2, 3, 2, 2)
    assert instance.weight.tolist() == [1.0, 1.0]
    assert instance.request_weight.tolist() == [1.0, 1.0]
    assert (instance.latency_scale, instance.completion_scale) == (0.25, 100.0)
    assert instance.refusal_latency == 3.0
    assert instance.active.dtype == bool
    assert instance.rate.shape == (2, 3, 2)
    for name in ("speed", "rate", "active", "slo", "arrival", "deadline", "transmission_seconds"):
        assert not getattr(instance, name).flags.writeable, name
    assert repr(instance) == "OincInstance(slots=2, devices=3, sites=2, jobs=2)"


def test_seconds_by_hand():
    instance = OincInstance(**sound())
    assert instance.transmission_seconds[0].tolist() == [[0.125, 0.25], [0.125, 0.25], [0, 0]]
    assert instance.transmission_seconds[1, 0].tolist() == [0.5, 1.0]
    assert instance.computation_seconds[0].tolist() == [[0.125, 0.25], [0, 0], [0.25, 0.5]]
    assert instance.job_seconds().tolist() == [[2, 4], [0.25, 0.5]]
    assert instance.job_seconds(0.5).tolist() == [[4, 8], [0.5, 1]]
    assert instance.job_seconds([1.0, 0.0]).tolist() == [[2, np.inf], [0.25, np.inf]]
    changing = OincInstance(**{**sound(), "rate": np.arange(1.0, 13.0).reshape(2, 3, 2)})
    assert changing.transmission_seconds[1, 2].tolist() == [1 / 11, 1 / 12]


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        # The cases that must be named, each.
        ("slo", put("slo", (1, 2), 1.5), (1, 2), 1.5, "must be at most a slot, 1 s"),
        ("rate", put("rate", (1, 0), 1e-320), (1, 0), 1e-320, "must be 0 or at least 1e-50"),
        ("work", [8.0, 0.0], (1,), 0.0, "must be positive: there is nothing to do"),
        ("deadline", [3.0, 0.5], (1,), 0.5, "must come after the arrival"),
        # Sites and links.
        ("speed", [4.0, 0.0], (1,), 0.0, "must be positive"),
        ("speed", [np.inf, 2.0], (0,), np.inf, "must be finite"),
        ("rate", put("rate", (2, 1), -8.0), (2, 1), -8.0, "must not be negative"),
        ("rate", put("rate", (0, 1), np.inf), (0, 1), np.inf, "must be finite"),
        ("rate", np.where(np.arange(12).reshape(2, 3, 2) == 9, -1, 1), (1, 1, 1), -1.0, "negative"),
        # Requests.
        ("active", [[1, 0, 1], [1, 2, 0]], (1, 1), 2, "must be 0 or 1"),
        ("active", [[1, 0, 0.5], [1, 1, 0]], (0, 2), 0.5, "must be a whole number"),
        ("request_size", put("request_size", (0, 1), -1), (0, 1), -1.0, "must not be negative"),
        ("request_work", put("request_work", (1, 0), -1), (1, 0), -1.0, "must not be negative"),
        ("request_work", put("request_work", (1, 0), np.nan), (1, 0), np.nan, "must be finite"),
        ("request_weight", [1.0, -0.5], (1,), -0.5, "must not be negative"),
        ("slo", put("slo", (0, 0), 0.0), (0, 0), 0.0, "must be positive"),
        ("slo", put("slo", (0, 0), np.inf), (0, 0), np.inf, "must be finite"),
        # Jobs.
        ("arrival", [0, 2], (1,), 2, "must be one of the 2 slots, counted from 0"),
        ("arrival", [-1, 1], (0,), -1, "must be one of the 2 slots, counted from 0"),
        ("arrival", [1, 0], (1,), 0, "must ascend"),
        ("arrival", [0, 0.5], (1,), 0.5, "must be a whole number"),
        ("work", [-8.0, 1.0], (0,), -8.0, "must be positive"),
        ("work", [np.inf, 1.0], (0,), np.inf, "must be finite"),
        ("deadline", [0.0, 1.5], (0,), 0.0, "must come after the arrival"),
        ("deadline", [3.0, 1.0], (1,), 1.0, "must come after the arrival"),
        ("deadline", [np.nan, 1.5], (0,), np.nan, "must be finite"),
        ("weight", [1.0, -1.0], (1,), -1.0, "must not be negative"),
        ("job_kind", [0, -1], (1,), -1, "must not be negative"),
    ],
)
def test_bad_entries_are_named(field, value, index, found, rule):
    check(refused(**{field: value}), field, index, found, rule)


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"latency_scale": 0.0}, "latency_scale", "must be positive"),
        ({"latency_scale": np.inf}, "latency_scale", "must be finite"),
        ({"completion_scale": -1.0}, "completion_scale", "must be positive"),
        ({"refusal_latency": 0.5}, "refusal_latency", "must be at least a slot, 1 s"),
        ({"refusal_latency": [3.0]}, "refusal_latency", "must have the axes []"),
        ({"rate": np.ones((2, 2))}, "rate", "must have 3 entries along its axis 'device'"),
        ({"rate": np.ones((3, 3, 2))}, "rate", "must have 2 entries along its axis 'slot'"),
        ({"rate": np.ones(3)}, "rate", "must have the axes [slot, device, site]"),
        ({"slo": np.ones((2, 2))}, "slo", "must have 3 entries along its axis 'device'"),
        ({"request_weight": [1.0]}, "request_weight", "must have 2 entries along its axis 'slot'"),
        ({"work": [1.0]}, "work", "must have 2 entries along its axis 'job'"),
        ({"deadline": [[3.0, 3.0]]}, "deadline", "must have the axes [job]"),
        ({"active": np.ones((2, 0))}, "active", "needs at least one device"),
        ({"speed": []}, "speed", "needs at least one site"),
        ({"job_kind": [0]}, "job_kind", "must have 2 entries along its axis 'job'"),
        ({"job_kind": [0, 1], "kinds": ("a",)}, "job_kind", "must be one of the 1 kinds"),
        ({"names": ("a",)}, "names", "must be 2 texts, one per site"),
        ({"names": ("a", "b\n")}, "names", "must be a text of one line"),
        ({"kinds": "resnet"}, "kinds", "must be a text per kind"),
        ({"kinds": 5}, "kinds", "must be a text per kind"),
        ({"kinds": ("a", "")}, "kinds", "must be a text of one line, not empty"),
        ({"origin": 3}, "origin", "must be a text"),
        ({"work": ["a", "b"]}, "work", "must be an array of real numbers"),
    ],
)
def test_bad_fields_are_named(changes, field, rule):
    error = refused(**changes)
    assert error.field == field
    assert rule in error.rule


@pytest.mark.parametrize(
    ("share", "index", "value"),
    [(1.5, (0,), 1.5), ([0.5, -0.1], (1,), -0.1), ([0.5, np.nan], (1,), np.nan)],
)
def test_shares_outside_their_range_are_named(share, index, value):
    with pytest.raises(InstanceError, match=r"must lie in \[0, 1\]") as caught:
        OincInstance(**sound()).job_seconds(share)
    assert (caught.value.field, caught.value.index) == ("share", index)
    assert caught.value.value == value or value != value


@given(oinc_instances())
@settings(max_examples=draws(60))
def test_an_objective_longer_than_a_slot_is_refused_wherever_it_stands(instance):
    longer = instance.slo.copy()
    t, i = instance.slots - 1, instance.devices // 2
    longer[t, i] = np.nextafter(1.0, 2.0)
    with pytest.raises(InstanceError) as caught:
        instance.replace(slo=longer)
    assert (caught.value.field, caught.value.index) == ("slo", (t, i))
    # A job is due after its arrival, and even its arrival is too early.
    if instance.jobs:
        with pytest.raises(InstanceError, match="must come after the arrival") as caught:
            instance.replace(deadline=instance.arrival)
        assert (caught.value.index, caught.value.value) == ((0,), float(instance.arrival[0]))
