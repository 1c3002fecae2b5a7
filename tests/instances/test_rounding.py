"""Rounded instances: valid, rounded once and for all, and hardly different."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.decimals import to_digits, to_fractions
from edgeopt.instances.records import fields_of
from edgeopt.instances.rescue import ProfitModel, RescueInstance, ReservedTasks
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.testing import strategies
from tests.draws import draws

SMALL = {
    "rescue": (rescue.generate, {"servers": 2, "devices": 3, "horizon": 30, "reserved": 6}),
    "idn": (idn.generate, {"horizon": 2, "tasks": 3, "replicas": 1, "alpha": 1 / 3}),
    "oinc": (oinc.generate, {"sites": 3, "devices": 4, "slots": 6, "jobs": 3}),
    "edr": (edr.generate, {"sites": 4, "tasks": 3, "frames": 4, "history": "channel"}),
    "tapfinger": (tapfinger.generate, {"clusters": 2, "tasks": 5}),
}
DRAWN = {
    "rescue": strategies.rescue_instances(reserved=None, arrivals=None, beyond=None),
    "idn": strategies.idn_instances(cost=None),
    "oinc": strategies.oinc_instances(),
    "edr": strategies.edr_instances(),
    "tapfinger": strategies.tapfinger_instances(noise=None),
}
systems = pytest.mark.parametrize("system", SMALL)


@st.composite
def uneven(draw, system):
    """Draw an instance of many ties whose numbers have all digits."""
    instance = draw(DRAWN[system])
    factor = draw(st.sampled_from([1.0, 1 / 3, 0.7, 1 + 2**-30, 1 - 2**-30, 7 / 11]))
    return _scaled(system, instance, factor)


def _scaled(system, instance, factor):
    """Change units such that every rule holds as it did: what shares a unit changes together."""
    if system == "rescue":
        tasks = instance.reserved
        tasks = ReservedTasks(tasks.server, tasks.start, tasks.end, tasks.demand * factor * 0.999)
        return instance.replace(
            capacity=instance.capacity * factor,
            reserved=tasks,
            profit=instance.profit * factor,
            arrival=instance.arrival * min(factor, 1.0),
        )
    names = {
        "idn": ("size", "budget", "latency", "delay"),
        "oinc": ("speed", "request_work", "work", "rate", "request_size"),
        "edr": ("request_work", "speed", "cap", "requests", "request_size", "rate"),
        "tapfinger": ("weight",),
    }[system]
    return instance.replace(**{name: getattr(instance, name) * factor for name in names})


def _numbers(record):
    for one in fields_of(type(record)):
        value = getattr(record, one.name)
        if hasattr(type(value), "_fields") and not isinstance(value, tuple):
            yield from _numbers(value)
        elif isinstance(value, float) or getattr(value, "dtype", None) == np.float64:
            yield one, np.asarray(value)


def check(instance, digits=6):
    made = instance.rounded(digits)
    assert made.rounded(digits) is made
    assert made.fingerprint() == instance.rounded(digits).fingerprint()
    loss = 10.0 ** (1 - digits)
    for (one, old), (_, new) in zip(_numbers(instance), _numbers(made), strict=True):
        assert old.shape == new.shape
        finite = np.isfinite(old)
        assert (old[~finite] == new[~finite]).all()
        old, new = old[finite], new[finite]
        if one.rounds == "distribution":
            assert all(Fraction(x).denominator <= 2**20 for x in new.ravel().tolist())
            continue
        assert all(float(f"{x:.{digits - 1}e}") == x for x in new.ravel().tolist())
        assert (abs(new - old) <= (2 if one.rounds == "less" else 1) * loss * abs(old)).all()
        assert one.rounds not in ("down", "less") or (new <= old).all()
        assert one.rounds != "up" or (new >= old).all()
    return made


@systems
@pytest.mark.parametrize("digits", [3, 6])
def test_generated_instances_stay_valid_and_are_rounded_once(system, digits):
    generate, settings_ = SMALL[system]
    for seed in range(draws(20)):
        check(generate(**settings_, rng=seed), digits)


@systems
@settings(max_examples=draws(60), deadline=None)
@given(data=st.data())
def test_instances_of_many_ties_stay_valid(system, data):
    check(data.draw(uneven(system)))


@systems
def test_short_decimals_stay_as_they_are(system):
    generate, settings_ = SMALL[system]
    made = generate(**settings_, rng=1).rounded()
    assert made.rounded() is made
    assert made.rounded(12) is made or system == "rescue"  # whose durations are no decimals


@systems
def test_labels_and_notes_are_kept(system):
    generate, settings_ = SMALL[system]
    instance = generate(**settings_, rng=2)
    axis = next(axis for axis in instance.axes if axis not in instance.labels)
    names = [f"x{i}" for i in range(instance.axes[axis])]
    labelled = instance.with_labels({axis: names})
    object.__setattr__(labelled, "_notes", ("Read from a table.",))
    made = labelled.rounded()
    assert made.labels == labelled.labels
    assert made.labels[axis] == tuple(names)
    assert made.notes == ("Read from a table.",)


def test_last_bits_do_not_matter():
    """Numbers that vector code computes may end in other bits on another processor."""
    drawn = {
        "rescue": ("arrival", "duration"), "idn": ("delay", "latency"), "oinc": ("rate",),
        "edr": ("rate", "cap", "propagation"), "tapfinger": ("speed",),
    }  # fmt: skip
    generator = np.random.default_rng(5)
    for system, (generate, settings_) in SMALL.items():
        instance = generate(**settings_, rng=3)
        other = {}
        for name in drawn[system]:
            value = getattr(instance, name)
            decimal = value == to_digits(value, 12)
            bits = generator.choice([-1, 0, 1], value.shape) * 2.0**-52
            other[name] = np.where(decimal, value, value * (1 + bits))
        assert instance.replace(**other).rounded() == instance.rounded()


def test_windows_that_are_full_stay_feasible():
    capacity = np.array([[1.0000049, 1.0000049, 2.0000049]])
    tasks = ReservedTasks([0, 0], [0, 2], [1, 2], [2.0000098, 2.0000049])
    instance = RescueInstance([[0.1]] * 3, [[1.0]], capacity, tasks, np.ones((1, 1, 1, 1, 1)))
    made = instance.rounded()
    assert made.capacity.tolist() == [[1.0, 1.0, 2.0]]
    assert (made.reserved.demand < [2.0, 2.0]).all()


def test_budgets_hold_what_they_held():
    """A sum of sizes may be above its decimal, as 0.1 + 0.2 is."""
    sizes, network = [0.1, 0.2], idn.generate(tasks=1, replicas=1, horizon=1)
    edge = idn.IdnInstance(
        edges=np.zeros((0, 2), dtype=int), latency=[], size=[sizes], delay=[[0, 0]],
        capacity=[[1234567, 1234567]], accuracy=[50, 60], task=[0, 1], budget=[0.1 + 0.2],
        repository=[[True, True]], request_task=[0], path=[[0]], requests=[[1234567]],
    )  # fmt: skip
    made = edge.rounded()
    assert made.budget[0] >= sum(sizes)
    assert made.capacity[0, 0] >= 1234567
    assert network.rounded().budget.tolist() == network.budget.tolist()


def test_certain_arrivals_stay_at_most_one():
    full = RescueInstance(
        [[1 / 6] * 6], [[1.0]], [[1.0]], ReservedTasks.none(), np.ones((1, 1, 1, 1, 1))
    )
    assert full.rounded().arrival.sum() <= 1


def test_deadlines_stay_after_arrivals():
    instance = oinc.generate(sites=1, devices=1, slots=200, jobs=1)
    late = instance.replace(arrival=[150], deadline=[150.4]).rounded(2)
    assert late.deadline.tolist() == [160.0]


def test_objectives_that_are_just_met_are_met():
    for seed in range(draws(20)):
        day = edr.generate(sites=3, tasks=0, frames=2, rng=seed)
        tight = np.empty_like(day.slo)
        for frame, slot in np.ndindex(day.frames, day.slots):
            seconds = np.where(day.capable[None], day.request_seconds(frame, slot), np.inf)
            asked = day.requests[frame, slot] > 0
            tight[frame, slot] = np.where(asked[:, None], seconds, np.inf).min(axis=(0, 1))
        tight = np.where(np.isfinite(tight), tight, 1.0)
        day.replace(slo=tight).rounded()


def test_durations_that_speeds_stand_for_stay():
    slots = np.arange(1, 200)
    speed = np.zeros((1, slots.size + 1, 1))
    speed[0, 1:, 0] = 1.0 / slots
    instance = tapfinger.TapFingerInstance(
        capacity=[[slots.size, 0]], minimum=[[1, 0]], speed=speed, arrival=[0], kind=[0],
        eligible=[[True]],
    )  # fmt: skip
    assert instance.rounded().duration.tolist() == instance.duration.tolist()


def test_the_optimum_of_rescue_moves_little():
    for seed in range(draws(15)):
        instance = rescue.generate(servers=2, devices=4, horizon=40, reserved=6, rng=seed)
        before, after = (solve_p1_lp(one).objective for one in (instance, instance.rounded()))
        assert after == pytest.approx(before, rel=3e-5)
        assert after != before


def test_capacities_of_instance_and_profit_stay_equal():
    made = rescue.generate(**SMALL["rescue"][1], rng=4).rounded()
    assert (made.profit.capacity == made.capacity).all()
    assert made.profit.best_accuracy == float(f"{made.profit.best_accuracy:.5e}")


@dataclass(frozen=True)
class Steady(ProfitModel):
    level: float
    series: np.ndarray
    label: str = "steady"

    @property
    def shape(self):
        return self.series.size, 1, 1, 1, 1

    def block(self, slots):
        return self.level * self.series[slots, None, None, None, None]


def test_profit_models_of_users_are_rounded():
    series = np.array([1 / 3, 0.5])
    instance = RescueInstance(
        [[0.1]] * 2, [[1.0]], [[1.0, 1.0]], ReservedTasks.none(), Steady(2 / 3, series)
    )
    made = instance.rounded()
    assert made.profit.level == 0.666667
    assert made.profit.series.tolist() == [0.333333, 0.5]
    assert made.profit.label == "steady"
    assert made.rounded() is made


def test_decimals():
    numbers = np.array([0.3, 2 / 3, 1234567.0, -1 / 3, np.inf, 0.0, 1e-50, 9.9999999])
    nearest = [0.3, 0.666667, 1234570.0, -0.333333, np.inf, 0.0, 1e-50, 10.0]
    down = [0.3, 0.666666, 1234560.0, -0.333334, np.inf, 0.0, 1e-50, 9.99999]
    up = [0.3, 0.666667, 1234570.0, -0.333333, np.inf, 0.0, 1e-50, 10.0]
    assert to_digits(numbers, 6).tolist() == nearest
    assert to_digits(numbers, 6, "down").tolist() == down
    assert to_digits(numbers, 6, "up").tolist() == up


@settings(max_examples=draws(100))
@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=30))
def test_laws_sum_to_one(weights):
    distribution = np.array([weights, weights[::-1]])
    distribution /= distribution.sum(axis=1, keepdims=True)
    made = to_fractions(distribution, 6)
    assert [sum(map(Fraction, row)) for row in made.tolist()] == [1, 1]
    assert (made >= 0).all()
    assert abs(made - distribution).max() <= len(weights) * 2.0**-21
    assert (to_fractions(made, 6) == made).all()


def test_the_first_of_equal_entries_takes_the_difference():
    made = to_fractions(np.array([[1 / 3, 1 / 3 + 1e-16, 1 / 3]]), 6)
    assert made[0, 0] > made[0, 1] == made[0, 2]


def test_what_cannot_be_rounded_is_refused():
    instance = rescue.generate(**SMALL["rescue"][1])
    for digits in (0, 16, 2.5, True):
        with pytest.raises(OptionError, match="digits"):
            instance.rounded(digits)
    close = np.array([[0.5, 0.5], [0.5 - 1e-7, 0.5 + 1e-7]])
    profit = np.ones((1, 1, 1, 1, 1))
    narrow = RescueInstance([[0.1]], close, [[1.0]], ReservedTasks.none(), profit)
    with pytest.raises(InstanceError, match="duration"):
        narrow.rounded()
