"""The saddle-point policy: both steps by a plain loop, tasks that come and go, its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrInstance, falling_cap, never_trained
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from edgeopt.online.edr.relaxed import GivenPrices
from edgeopt.online.primal_dual import FixedStep
from tests.draws import draws
from tests.online.edr.frames import drive, show, tell, wide
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEEDS = st.integers(0, 2**32 - 1)
STEP = FixedStep(primal=0.3, dual=0.7)


def project(target: Floats, energy: Floats, cap: float, upper: Floats) -> Floats:
    """Return the nearest point of the capped box by halving a price."""
    low, high = 0.0, 1e9
    if energy @ np.clip(target, 0.0, upper) <= cap:
        return np.clip(target, 0.0, upper)
    for _ in range(200):
        price = (low + high) / 2
        inside = energy @ np.clip(target - price * energy, 0.0, upper) <= cap
        low, high = (low, price) if inside else (price, high)
    return np.clip(target - high * energy, 0.0, upper)


def plain_loop(instance: EdrInstance, policy: SaddlePoint, wishes: list[Any]) -> list[Floats]:
    """Return the fractions of every frame, task by task, for rounds that were carried out."""
    tasks = range(instance.tasks)
    x, multiplier = np.zeros(instance.tasks), np.zeros(instance.tasks)
    left = instance.rounds.astype(float)
    was = [False] * instance.tasks
    points: list[Floats] = []

    def cost(t: int, i: int, price: float) -> float:
        energy = instance.energy_weight * price * instance.round_energy[t, i]
        return float(energy + instance.delay_weight * instance.round_seconds[t, i])

    for t in range(instance.frames):
        alive = [bool(instance.active[t, i]) and left[i] > 0 for i in tasks]
        price = float(instance.price[t - 1]) if t else float(instance.price_prior or 0.0)
        source = t if policy.index == "current" or t == 0 else t - 1
        energy = np.array([instance.round_energy[source, i] for i in tasks])
        cap = float(instance.cap[source])
        target = np.zeros(instance.tasks)
        upper = np.zeros(instance.tasks)
        for i in tasks:
            old = alive[i] and was[i]
            if not old:
                multiplier[i] = 0.0
                continue
            slope = (
                cost(t, i, price)
                if policy.gradient == "current"
                else cost(t - 1, i, float(instance.price[t - 1]))
            )
            target[i] = x[i] - STEP.primal * (slope - multiplier[i])
            upper[i] = left[i]
        x = project(target, energy, cap, upper)
        fresh = [i for i in tasks if alive[i] and not was[i]]
        for i in fresh:
            x[i] = instance.even_rate[i] if policy.init == "rate" else 0.0
            energy[i] = instance.round_energy[t, i]
        used = float(energy @ x)
        if fresh and used > cap:
            x = x * (cap / used)
        points.append(x.copy())
        for i in tasks:
            if alive[i]:
                multiplier[i] = max(
                    0.0, multiplier[i] + STEP.dual * (float(instance.even_rate[i]) - x[i])
                )
        left = left - np.minimum(wishes[t], left)
        was = alive
    return points


@settings(max_examples=draws(80))
@given(
    edr_instances(frames=6, tasks=4),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["current", "stale"]),
    st.sampled_from(["rate", "zero"]),
)
def test_fractions_are_those_of_a_plain_loop(
    instance: EdrInstance, index: Any, gradient: Any, init: Any
):
    policy = SaddlePoint(index=index, gradient=gradient, init=init, step=STEP)
    steps = drive(policy, instance)
    expected = plain_loop(instance, policy, [step.requested_rounds for step in steps])
    for step, point in zip(steps, expected, strict=True):
        np.testing.assert_allclose(step.wished.saddle.point, point, atol=1e-7)


@pytest.mark.parametrize(("index", "second"), [("current", 1.0), ("stale", 2.7)])
def test_the_stale_index_breaks_the_cap_that_falls(index: Any, second: float):
    """Three rounds a frame, 1 Wh each, while the cap falls from 4 to 1 Wh."""
    policy = SaddlePoint(index=index, alpha0=0.1, init="rate")
    first, then = drive(policy, falling_cap())
    np.testing.assert_allclose(first.wished.saddle.point, [3.0])
    # The step is a tenth of the typical rate, 3, at the typical cost.
    np.testing.assert_allclose(then.wished.saddle.point, [second])
    used = float(then.frame.round_energy @ then.wished.saddle.point)
    assert (used > then.frame.cap) == (index == "stale")


def test_a_new_task_takes_no_room_from_the_step_of_others():
    """At a negative price both would grow; the first frame of the second is its start alone."""
    instance = wide(np.random.default_rng(1)).replace(
        arrival=[0, 1, 1, 1, 1], price=np.array([-1.0, -1.0]), price_prior=-1.0,
        cap=np.array([np.inf, 5.0]), step_work=np.ones((5, 1)),
    )  # fmt: skip
    policy = SaddlePoint(init="zero", step=FixedStep(primal=3.0, dual=0.0))
    first, then = drive(policy, instance)
    assert first.wished.saddle.point.tolist() == [0.0] * 5
    # Five tasks that move by 3 would share the 5 Wh.
    np.testing.assert_allclose(then.wished.saddle.point, [3.0, 0.0, 0.0, 0.0, 0.0])


def test_tasks_come_and_go():
    """A task begins at its rate or at zero; one that has left has neither rounds nor multiplier."""
    one = never_trained(4)
    instance = wide(np.random.default_rng(0)).replace(
        **{name: getattr(one, name) for name in ("cap", "price", "requests", "propagation",
                                                 "slo", "rate")},
        arrival=[0, 0, 1, 2, 3], deadline=[0, 3, 2, 2, 3],
    )  # fmt: skip
    for init in ("rate", "zero"):
        steps = drive(SaddlePoint(init=init, step=FixedStep(0.01, 1.0)), instance)  # type: ignore[arg-type]
        for t, step in enumerate(steps):
            saddle = step.wished.saddle
            fresh = instance.arrival == t
            expected = instance.even_rate[fresh] if init == "rate" else 0.0
            np.testing.assert_array_equal(saddle.point[fresh], expected)
            assert not saddle.multipliers[fresh].any()
            gone = (instance.deadline < t) | (instance.arrival > t)
            assert not saddle.point[gone].any()
            assert not saddle.multipliers[gone].any()
        # What has been missed has a price as long as the task stays.
        assert (steps[0].settled.saddle.multipliers > 0).any() == (init == "zero")


def test_memories_are_explicit():
    """A memory that was kept goes on as the first time, and is left as it was."""
    instance = wide(np.random.default_rng(3)).replace(cap=np.array([9.0, 5.0]))
    policy = SaddlePoint(residual="floor", carry=True)
    steps = drive(policy, instance, seed=4)
    kept = steps[0].settled
    before = [kept.saddle.point.copy(), kept.saddle.multipliers.copy(), kept.lost.copy()]
    frame = show(instance, 1, instance.rounds - steps[0].requested_rounds)
    draws = [policy.requested_rounds(kept, frame, 5.0, np.random.default_rng(8)) for _ in range(2)]
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    np.testing.assert_array_equal(draws[0][1].saddle.point, steps[1].wished.saddle.point)
    policy.close_frame(draws[0][1], frame, tell(instance, frame, draws[0][0]))
    for old, now in zip(before, [kept.saddle.point, kept.saddle.multipliers, kept.lost],
                        strict=True):  # fmt: skip
        np.testing.assert_array_equal(old, now)


def test_same_seed_same_wishes():
    instance = wide(np.random.default_rng(3)).replace(cap=np.array([9.0, 5.0]))

    def wishes(seed: int) -> list[list[int]]:
        return [step.requested_rounds.tolist() for step in drive(SaddlePoint(), instance, seed)]

    assert wishes(0) == wishes(0)
    assert len({str(wishes(seed)) for seed in range(20)}) > 1


def test_the_price_that_is_expected_leads_the_step():
    """A round gets dearer tomorrow; who knows trains less then, and routes at that price."""
    instance = never_trained(3).replace(price=np.array([1.0, 9.0, 1.0]))
    told = SaddlePoint(price_forecast=GivenPrices(instance.price), step=STEP)
    plain = SaddlePoint(step=STEP)
    knows, knows_not = drive(told, instance)[1], drive(plain, instance)[1]
    gap = knows_not.wished.saddle.point[0] - knows.wished.saddle.point[0]
    assert gap > 0
    assert told.terms(knows.wished, knows.frame).price == 9.0
    assert plain.terms(knows.wished, knows.frame).price == 1.0
    assert told.name == "Saddle point, price_forecast=given, step=FixedStep(primal=0.3, dual=0.7)"


def test_steps_get_their_unit_from_the_first_tasks():
    """Typical rate 2/3, typical cost 1: factors T^(-1/3) unless given."""
    instance = never_trained(3)
    rule = drive(SaddlePoint(), instance)[0].wished.rule
    usual = 3.0 ** (-1 / 3)
    np.testing.assert_allclose(rule.sizes(0), [usual * 2 / 3, usual * 3 / 2])
    rule = drive(SaddlePoint(alpha0=2.0, mu0=0.5, cost_scale=4.0), instance)[0].wished.rule
    np.testing.assert_allclose(rule.sizes(0), [2.0 * (2 / 3) / 4.0, 0.5 * 4.0 / (2 / 3)])
    late = instance.replace(arrival=[1])
    assert drive(SaddlePoint(), late)[0].wished.rule is None
    assert drive(SaddlePoint(), late)[1].wished.rule is not None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"index": "next"}, "index"),
        ({"gradient": "exact"}, "gradient"),
        ({"init": "even"}, "init"),
        ({"residual": "up"}, "residual"),
        ({"carry": True}, "carry"),
        ({"residual": "floor", "margin": True}, "margin"),
        ({"price_forecast": "tomorrow"}, "price_forecast"),
        ({"alpha0": 0.0}, "alpha0"),
        ({"mu0": -1.0}, "mu0"),
        ({"mu0": np.inf}, "mu0"),
        ({"cost_scale": 0.0}, "cost_scale"),
        ({"step": STEP, "alpha0": 1.0}, "step"),
        ({"guard": 0.0}, "guard"),
        ({"reserve": "first"}, "reserve"),
        ({"budget": "none"}, "budget"),
        ({"elastic": "hard"}, "elastic"),
        ({"training_room": 2.0}, "training_room"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], named: str):
    with pytest.raises(OptionError, match=named):
        SaddlePoint(**options)
