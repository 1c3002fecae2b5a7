"""The problems of a slot and of retraining: what they take, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.retraining import RetrainingProblem, retraining_problem
from edgeopt.models.oinc.slot import SlotPlan, SlotProblem, slot_problem
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws


def requests() -> dict:
    """Two requests and two sites."""
    return {
        "transmission": [[0.1, 0.2], [0.0, 0.3]],
        "computation": [[0.1, 0.0], [0.2, 0.4]],
        "slo": [0.5, np.inf],
        "room": [1.0, 0.25],
    }


def jobs() -> dict:
    """Two jobs and two sites."""
    return {"arrival": [0, 2], "duration": [[1.0, np.inf], [2.0, 0.5]], "weight": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        ("transmission", [[0.1, -0.2], [0, 0.3]], (0, 1), -0.2, "must not be negative"),
        ("transmission", [[0.1, np.nan], [0, 0.3]], (0, 1), np.nan, "plus infinity"),
        ("computation", [[0.1, 0], [-1, 0.4]], (1, 0), -1.0, "must not be negative"),
        ("slo", [0.5, 0.0], (1,), 0.0, "must be positive"),
        ("slo", [np.nan, 0.5], (0,), np.nan, "plus infinity"),
        ("room", [1.0, 0.0], (1,), 0.0, "must lie in (0, 1]"),
        ("room", [1.5, 0.25], (0,), 1.5, "must lie in (0, 1]"),
        ("weight", [1.0, 0.0], (1,), 0.0, "must be positive"),
        ("device", [0, 0.5], (1,), 0.5, "must be a whole number"),
    ],
)
def test_bad_requests_are_named(field, value, index, found, rule):
    with pytest.raises(InstanceError) as caught:
        SlotProblem(**{**requests(), field: value})
    error = caught.value
    assert (error.field, error.index) == (field, index)
    assert error.value == found or found != found
    assert rule in error.rule


@pytest.mark.parametrize(
    ("field", "value", "index", "found", "rule"),
    [
        ("arrival", [-1, 2], (0,), -1, "must not be negative"),
        ("arrival", [2, 0], (1,), 0, "must ascend"),
        ("arrival", [0.5, 2], (0,), 0.5, "must be a whole number"),
        ("duration", [[1, 0], [2, 0.5]], (0, 1), 0.0, "must be positive: there is nothing to do"),
        ("duration", [[1, 1], [np.inf, np.inf]], (1,), np.inf, "no site can serve the job"),
        ("duration", [[1, np.nan], [2, 0.5]], (0, 1), np.nan, "plus infinity"),
        ("weight", [1.0, -1.0], (1,), -1.0, "must not be negative"),
        ("weight", [1.0, np.inf], (1,), np.inf, "must be finite"),
    ],
)
def test_bad_jobs_are_named(field, value, index, found, rule):
    with pytest.raises(InstanceError) as caught:
        RetrainingProblem(**{**jobs(), field: value})
    error = caught.value
    assert (error.field, error.index) == (field, index)
    assert error.value == found or found != found
    assert rule in error.rule


@pytest.mark.parametrize(
    ("kind", "changes", "field", "rule"),
    [
        (SlotProblem, {"slo": [0.5]}, "transmission", "must have 1 entries along its axis"),
        (SlotProblem, {"computation": [0.5]}, "computation", "must have the axes [request, site]"),
        (SlotProblem, {"room": []}, "room", "needs at least one site"),
        (SlotProblem, {"weight": [1.0]}, "weight", "must have 2 entries"),
        (RetrainingProblem, {"duration": [[1.0, 1.0]]}, "duration", "must have 2 entries"),
        (RetrainingProblem, {"weight": [1.0]}, "weight", "must have 2 entries"),
    ],
)
def test_shapes_that_do_not_fit_are_named(kind, changes, field, rule):
    sound = requests() if kind is SlotProblem else jobs()
    with pytest.raises(InstanceError) as caught:
        kind(**{**sound, **changes})
    assert caught.value.field == field
    assert rule in caught.value.rule


@pytest.mark.parametrize(
    ("reserved", "index", "value"),
    [(1.0, (0,), 1.0), ([0.0, -0.1], (1,), -0.1), ([np.nan, 0.0], (0,), np.nan), (2.0, (0,), 2.0)],
)
def test_reserved_shares_outside_their_range_are_named(reserved, index, value):
    for attempt in (
        lambda: SlotProblem(**requests()).with_reserved(reserved),
        lambda: slot_problem(generate(sites=2, devices=1, slots=1, jobs=0), 0, reserved),
    ):
        with pytest.raises(InstanceError, match=r"must lie in \[0, 1\)") as caught:
            attempt()
        assert (caught.value.field, caught.value.index) == ("reserved", index)
        assert caught.value.value == value or value != value


@given(oinc_instances())
@settings(max_examples=draws(80))
def test_the_requests_of_a_slot(instance):
    t = instance.slots - 1
    reserved = np.linspace(0, 0.75, instance.sites)
    problem = slot_problem(instance, t, reserved)
    active = [i for i in range(instance.devices) if instance.active[t, i]]
    assert problem.device.tolist() == active
    assert problem.requests == len(active)
    assert problem.room.tolist() == pytest.approx((1 - reserved).tolist())
    for n, i in enumerate(active):
        for j in range(instance.sites):
            sent = instance.request_size[t, i] / instance.rate[t, i, j]
            assert problem.transmission[n, j] == pytest.approx(sent)
            done = instance.request_work[t, i] / instance.speed[j]
            assert problem.computation[n, j] == pytest.approx(done)
        assert problem.slo[n] == instance.slo[t, i]
    assert (problem.weight == 1).all()
    for slot in (-1, instance.slots):
        with pytest.raises(InputError, match="must be one of") as caught:
            slot_problem(instance, slot)
        assert (caught.value.field, caught.value.value) == ("slot", slot)


@given(oinc_instances())
@settings(max_examples=draws(80))
def test_the_jobs_under_fixed_shares(instance):
    share = np.linspace(1, 0.25, instance.sites)
    problem = retraining_problem(instance, share)
    urgent = retraining_problem(instance, share, weights="deadline")
    assert problem.jobs == instance.jobs
    assert problem.arrival.tolist() == instance.arrival.tolist()
    for k in range(instance.jobs):
        for j in range(instance.sites):
            seconds = instance.work[k] / (share[j] * instance.speed[j])
            assert problem.duration[k, j] == pytest.approx(seconds)
        assert problem.weight[k] == instance.weight[k]
        window = instance.deadline[k] - instance.arrival[k]
        assert urgent.weight[k] == pytest.approx(instance.weight[k] / window)


def test_jobs_need_a_share():
    with pytest.raises(OptionError, match="must be one of 'constant', 'deadline'"):
        retraining_problem(generate(slots=9, jobs=2), weights="dynamic")
    with pytest.raises(InstanceError, match="no site can serve the job"):
        retraining_problem(generate(slots=9, jobs=2), 0.0)
    with pytest.raises(InstanceError, match=r"must lie in \[0, 1\]"):
        retraining_problem(generate(slots=9, jobs=2), 1.5)


def test_a_plan_by_hand():
    problem = SlotProblem(
        transmission=[[0.1], [0.0], [0.2], [0.2]],
        computation=[[0.1], [0.2], [0.0], [0.3]],
        slo=[0.5, 0.4, 0.41, 0.1],
        room=[1.0],
        weight=[1.0, 2.0, 1.0, 5.0],
    )
    site = np.array([0, 0, 0, -1])
    plan = SlotPlan(problem, site, np.array([0.5, 0.0, 0.5, 0.0]), np.array([0.25, 0.5, 0.0, 0.0]))
    # Nothing to send needs no band, nothing to compute no CPU.
    assert plan.latency[:3].tolist() == pytest.approx([0.6, 0.4, 0.4])
    assert np.isnan(plan.latency[3])
    assert plan.met.tolist() == [False, True, True, False]
    assert plan.objective == pytest.approx(0.6 + 2 * 0.4 + 0.4)
    starved = SlotPlan(problem, site, np.zeros(4), np.full(4, 0.25))
    assert starved.latency[[0, 2]].tolist() == [np.inf, np.inf]
    assert starved.latency[1] == pytest.approx(0.8)


@given(oinc_instances(), st.sampled_from([0.0, 0.25]))
@settings(max_examples=draws(30))
def test_a_slot_of_an_instance_is_as_if_checked(instance, reserved):
    for slot in range(instance.slots):
        problem = slot_problem(instance, slot, np.full(instance.sites, reserved))
        fields = {one.name: getattr(problem, one.name) for one in SlotProblem._fields}
        for one in (SlotProblem(**fields), pickle.loads(pickle.dumps(problem))):
            assert (one.requests, one.sites) == (problem.requests, problem.sites)
            for name, value in fields.items():
                checked = getattr(one, name)
                np.testing.assert_array_equal(value, checked, strict=True)
                assert value.flags.c_contiguous
                assert not value.flags.writeable
