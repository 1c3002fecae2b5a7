"""The saddle-point policy: fractions of rounds, steps on them, and their rounding."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from edgeopt_papers.edr.claims.counterexamples import never_trained
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from edgeopt.online.edr.training import (
    GivenPrices,
    RelaxedFrame,
    TrainingSet,
    expected_price,
    fill_cap,
    trainable,
    typical,
    unit_cost,
)
from edgeopt.online.primal_dual import FixedStep
from edgeopt.testing.strategies import edr_instances
from tests.certified import linprog
from tests.edr.scenarios import drive, show, wide
from tests.edr.tiny import falling_cap, half_a_round

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]


SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_knapsack_is_that_of_a_linear_program(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 6))
    worth, energy = rng.integers(-3, 6, n) * 1.0, rng.integers(0, 4, n) / 2.0
    upper = rng.integers(0, 4, n) * 1.0
    cap = float(rng.choice([0.0, 1.0, 2.5, 6.0, np.inf]))
    rounds = fill_cap(worth, energy, upper, cap)
    assert ((rounds >= 0) & (rounds <= upper)).all()
    assert not rounds[worth <= 0].any()
    assert energy @ rounds <= cap * (1 + 1e-12)
    if n:
        limited = {} if cap == np.inf else {"A_ub": energy[None], "b_ub": [cap]}
        best = linprog(-worth, bounds=np.column_stack([np.zeros(n), upper]), **limited)
        assert worth @ rounds == pytest.approx(-best.fun, abs=1e-9)


def test_the_earlier_of_equal_tasks_goes_first():
    rounds = fill_cap(np.array([2.0, 1.0, 2.0]), np.array([2.0, 1.0, 2.0]), np.full(3, 2.0), 5.0)
    assert rounds.tolist() == [2.0, 1.0, 0.0]


@given(SEEDS)
def test_pull_is_the_slope_of_the_constraints(seed: int):
    rng = np.random.default_rng(seed)
    frame = RelaxedFrame(rng.normal(size=4), rng.random(4), rng.random(4) < 0.6)
    x, y, multipliers = rng.random(4), rng.random(4), rng.random(4)
    change = multipliers @ (frame.constraints(y) - frame.constraints(x))
    assert frame.pull(x, multipliers) @ (y - x) == pytest.approx(change)
    assert not frame.constraints(x)[~frame.trainable].any()
    np.testing.assert_array_equal(frame.gradient(x), frame.cost)


def test_shrinking_cuts_and_scales():
    allowed = TrainingSet(np.array([1.0, 2.0]), 4.0, np.array([2.0, 9.0]))
    assert allowed.shrink(np.array([5.0, 3.0])).tolist() == [1.0, 1.5]
    assert allowed.shrink(np.array([5.0, 0.5])).tolist() == [2.0, 0.5]
    free = allowed._replace(cap=np.inf)
    assert free.shrink(np.array([5.0, 3.0])).tolist() == [2.0, 3.0]
    assert allowed._replace(cap=0.0).shrink(np.ones(2)).tolist() == [0.0, 0.0]


def test_cost_of_a_round_and_its_scale():
    instance = falling_cap().replace(price=np.array([-2.0, 3.0]), energy_weight=0.5)
    frame = show(instance, 1, instance.rounds)
    # One GFLOP, one Wh; no model is sent anywhere.
    assert unit_cost(instance, frame, -2.0).tolist() == [-1.0]
    # Both frames are the window of the task.
    assert typical(frame, np.array([-1.0])) == (3.0, 1.0, 2.0)
    assert typical(frame, np.array([0.0])) == (3.0, 1.0, 2.0)
    assert trainable(frame).tolist() == [True]
    done = show(instance, 1, np.zeros(1, dtype=int))
    assert trainable(done).tolist() == [False]
    assert typical(done, np.array([1.0])) is None


def test_expected_prices():
    instance = never_trained(50).replace(price=np.arange(50.0), price_prior=7.0)
    frames = [show(instance, t, instance.rounds) for t in range(50)]
    assert [expected_price("last", frames[t]) for t in (0, 1, 9)] == [7.0, 0.0, 8.0]
    given_prices = GivenPrices([5.0, 6.0], title="market")
    assert [expected_price(given_prices, frames[t]) for t in (0, 1)] == [5.0, 6.0]
    assert repr(given_prices) == "market"
    with pytest.raises(OptionError, match="2 frames, not 3"):
        expected_price(given_prices, frames[2])


@pytest.mark.parametrize("prices", [[], [[1.0]], [np.nan]])
def test_given_prices_are_checked(prices: object):
    with pytest.raises(OptionError, match="prices"):
        GivenPrices(prices)  # type: ignore[arg-type]


STEP = FixedStep(primal=0.3, dual=0.7)


@pytest.mark.parametrize(("index", "second"), [("current", 1.0), ("stale", 2.7)])
def test_the_stale_index_breaks_the_cap_that_falls(index: Any, second: float):
    """Three rounds a frame, 1 Wh each, while the cap falls from 4 to 1 Wh."""
    policy = SaddlePoint(index=index, alpha0=0.1, init="rate")
    first, then = drive(policy, falling_cap())
    np.testing.assert_allclose(first.planned.saddle.point, [3.0])
    # The step is a tenth of the typical rate, 3, at the typical cost.
    np.testing.assert_allclose(then.planned.saddle.point, [second])
    used = float(then.frame.round_energy @ then.planned.saddle.point)
    assert (used > then.frame.cap) == (index == "stale")


def test_a_new_task_takes_no_room_from_the_step_of_others():
    """At a negative price both would grow; the first frame of the second is its start alone."""
    instance = wide(np.random.default_rng(1)).replace(
        arrival=[0, 1, 1, 1, 1], price=np.array([-1.0, -1.0]), price_prior=-1.0,
        cap=np.array([np.inf, 5.0]), step_work=np.ones((5, 1)),
    )  # fmt: skip
    policy = SaddlePoint(init="zero", step=FixedStep(primal=3.0, dual=0.0))
    first, then = drive(policy, instance)
    assert first.planned.saddle.point.tolist() == [0.0] * 5
    # Five tasks that move by 3 would share the 5 Wh.
    np.testing.assert_allclose(then.planned.saddle.point, [3.0, 0.0, 0.0, 0.0, 0.0])


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
            saddle = step.planned.saddle
            fresh = instance.arrival == t
            expected = instance.even_rate[fresh] if init == "rate" else 0.0
            np.testing.assert_array_equal(saddle.point[fresh], expected)
            assert not saddle.multipliers[fresh].any()
            gone = (instance.deadline < t) | (instance.arrival > t)
            assert not saddle.point[gone].any()
            assert not saddle.multipliers[gone].any()
        # What has been missed has a price as long as the task stays.
        assert (steps[0].closed.saddle.multipliers > 0).any() == (init == "zero")


def test_the_price_that_is_expected_leads_the_step():
    """A round gets dearer tomorrow; who knows trains less then, and routes at that price."""
    instance = never_trained(3).replace(price=np.array([1.0, 9.0, 1.0]))
    told = SaddlePoint(price_forecast=GivenPrices(instance.price), step=STEP)
    plain = SaddlePoint(step=STEP)
    knows, knows_not = drive(told, instance)[1], drive(plain, instance)[1]
    gap = knows_not.planned.saddle.point[0] - knows.planned.saddle.point[0]
    assert gap > 0
    assert told.terms(knows.planned, knows.frame).price == 9.0
    assert plain.terms(knows.planned, knows.frame).price == 1.0
    assert told.name == "Saddle point, price_forecast=given, step=FixedStep(primal=0.3, dual=0.7)"


def test_steps_get_their_unit_from_the_first_tasks():
    """Typical rate 2/3, typical cost 1: the mean window, 3, and 1 unless given."""
    instance = never_trained(3)
    rule = drive(SaddlePoint(), instance)[0].planned.rule
    np.testing.assert_allclose(rule.sizes(0), [3.0 * 2 / 3, 1.0 * 3 / 2])
    rule = drive(SaddlePoint(mu0=0.5), instance)[0].planned.rule
    np.testing.assert_allclose(rule.sizes(0), [3.0 * 2 / 3, 0.5 * 3 / 2])
    dearer = instance.replace(energy_weight=4.0)
    rule = drive(SaddlePoint(alpha0=2.0, mu0=0.5), dearer)[0].planned.rule
    np.testing.assert_allclose(rule.sizes(0), [2.0 * (2 / 3) / 4.0, 0.5 * 4.0 / (2 / 3)])
    late = instance.replace(arrival=[1])
    assert drive(SaddlePoint(), late)[0].planned.rule is None
    assert drive(SaddlePoint(), late)[1].planned.rule.primal == 2.0


def test_only_the_windows_of_the_first_tasks_count():
    """Windows of 1 and 2 frames are seen first, longer ones of later tasks are not."""
    instance = wide(np.random.default_rng(0)).replace(
        arrival=[0, 1, 1, 1, 0], deadline=[0, 1, 1, 1, 1]
    )
    assert drive(SaddlePoint(), instance)[0].planned.rule.primal == 1.5


@given(edr_instances(frames=6, tasks=4), st.sampled_from(["current", "stale"]), SEEDS)
def test_printed_steps_shrink_with_the_horizon(instance: EdrInstance, index: Any, seed: int):
    """Bit for bit the steps of the exponent that the paper prints."""
    factor = instance.frames ** (-1 / 3)
    given_factors = SaddlePoint(index=index, gradient=index, alpha0=factor, mu0=factor)
    printed = SaddlePoint(index=index, gradient=index, step="printed")
    for one, other in zip(
        drive(given_factors, instance, seed), drive(printed, instance, seed), strict=True
    ):
        np.testing.assert_array_equal(one.planned.saddle.point, other.planned.saddle.point)
        np.testing.assert_array_equal(one.requested_rounds, other.requested_rounds)
        np.testing.assert_array_equal(
            one.closed.saddle.multipliers, other.closed.saddle.multipliers
        )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"index": "next"}, "index"),
        ({"gradient": "exact"}, "gradient"),
        ({"init": "even"}, "init"),
        ({"residual": "up"}, "residual"),
        ({"price_forecast": "tomorrow"}, "price_forecast"),
        ({"alpha0": 0.0}, "alpha0"),
        ({"mu0": -1.0}, "mu0"),
        ({"mu0": np.inf}, "mu0"),
        ({"step": STEP, "alpha0": 1.0}, "step"),
        ({"step": "printed", "mu0": 1.0}, "step"),
        ({"step": "scaled"}, "'printed', or a step rule"),
        ({"guard": 0.0}, "guard"),
        ({"reserve": "first"}, "reserve"),
        ({"elastic": "hard"}, "elastic"),
        ({"training_room": 2.0}, "training_room"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], named: str):
    with pytest.raises(OptionError, match=named):
        SaddlePoint(**options)


FORMS = [
    {"residual": "floor"},
    {"residual": "bernoulli"},
]


@given(edr_instances(frames=6, tasks=4), st.sampled_from(FORMS), SEEDS)
def test_the_current_index_keeps_the_cap(instance: EdrInstance, form: dict[str, Any], seed: int):
    """Fractions never exceed it; whole rounds do so by less than a round, in one mode only."""
    for gradient, init in itertools.product(("current", "stale"), ("rate", "zero")):
        policy = SaddlePoint(gradient=gradient, init=init, step=STEP, **form)  # type: ignore[arg-type]
        for frame, requested_rounds, planned, _ in drive(policy, instance, seed):
            energy, point = frame.round_energy, planned.saddle.point
            assert energy @ point <= frame.cap * (1 + 1e-12)
            assert (requested_rounds <= frame.remaining).all()
            assert (requested_rounds >= 0).all()
            if form == {"residual": "bernoulli"}:
                fractional = np.abs(point - np.round(point)) > 1e-9
                most = energy[fractional].max(initial=0.0)
                # Strictly below one more round, but for the last digits.
                assert abs(energy @ requested_rounds - energy @ point) <= most * (1 + 1e-9)
            else:
                assert energy @ requested_rounds <= frame.cap * (1 + 1e-9) + 1e-12


def test_half_a_round_of_room():
    """The fraction 1/2 fits; a whole round does not, and only one mode ever tries it."""
    tried = {}
    for form in FORMS:
        policy = SaddlePoint(step=FixedStep(1e-6, 1e-6), **form)
        requested = [
            drive(policy, half_a_round(), seed)[0].requested_rounds[0] for seed in range(60)
        ]
        tried[tuple(form.values())] = sum(requested)
    assert tried[("floor",)] == 0
    # Fails by chance with probability below 1e-7.
    assert 10 < tried[("bernoulli",)] < 50


def test_rounding_down_never_trains():
    """An even rate of 0.99 that costs nothing stays 0.99."""
    instance = never_trained(100).replace(price=np.zeros(100), price_prior=0.0)
    done = {}
    for form in FORMS:
        steps = drive(SaddlePoint(**form), instance, seed=1)
        np.testing.assert_allclose(steps[0].planned.saddle.point, 0.99)
        done[tuple(form.values())] = sum(int(step.requested_rounds[0]) for step in steps)
    assert done[("floor",)] == 0
    # Eleven of 100 coins of 0.99 fail with probability below 1e-7.
    assert done[("bernoulli",)] >= 90


def test_expectations_are_kept():
    """Whole rounds average to the fractions when the last one is drawn."""
    rng = np.random.default_rng(7)
    instance = wide(rng)
    policy = SaddlePoint()
    frame = show(instance, 0, instance.rounds)
    memory = policy.relax(policy.begin(instance), frame, 9.0)
    assert frame.round_energy @ memory.saddle.point == pytest.approx(9.0)
    draws = np.array([policy.round(memory, frame, rng) for _ in range(20_000)])
    # Hoeffding: off by 0.021 with probability below 1e-6 for any of the tasks.
    np.testing.assert_allclose(draws.mean(axis=0), memory.saddle.point, atol=0.021)
    down = SaddlePoint(residual="floor")
    draws = np.array([down.round(memory, frame, rng) for _ in range(2_000)])
    assert draws.mean(axis=0).sum() < memory.saddle.point.sum() - 0.05
    assert (draws @ frame.round_energy <= 9.0 * (1 + 1e-12)).all()


def test_without_tasks_nothing_is_requested():
    instance = never_trained(3).replace(
        arrival=[], deadline=[], rounds=[], client=np.empty((0, 1), bool), server=[],
        local_steps=[], step_work=np.empty((0, 1)), aggregation_work=[], model_size=[],
    )  # fmt: skip
    for form in FORMS:
        assert [step.requested_rounds.size for step in drive(SaddlePoint(**form), instance)] == [
            0,
            0,
            0,
        ]
