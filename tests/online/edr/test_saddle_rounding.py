"""Rounding in the saddle-point policy: what each mode adds to the fractions, caps, what is lost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.edr import EdrInstance, half_a_round, never_trained
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from edgeopt.online.primal_dual import FixedStep
from tests.online.edr.frames import drive, show, wide
from tests.strategies import edr_instances

SEEDS = st.integers(0, 2**32 - 1)
STEP = FixedStep(primal=0.3, dual=0.7)
FORMS = [
    {"residual": "floor"},
    {"residual": "floor", "carry": True},
    {"residual": "bernoulli"},
    {"residual": "bernoulli", "margin": True},
]


@given(edr_instances(frames=6, tasks=4), st.sampled_from(FORMS), SEEDS)
def test_the_current_index_keeps_the_cap(instance: EdrInstance, form: dict[str, Any], seed: int):
    """Fractions never exceed it; whole rounds do so by less than a round, in one mode only."""
    for gradient, init in itertools.product(("current", "stale"), ("rate", "zero")):
        policy = SaddlePoint(gradient=gradient, init=init, step=STEP, **form)  # type: ignore[arg-type]
        for frame, requested_rounds, wished, _ in drive(policy, instance, seed):
            energy, point = frame.round_energy, wished.saddle.point
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
        wishes = [drive(policy, half_a_round(), seed)[0].requested_rounds[0] for seed in range(60)]
        tried[tuple(form.values())] = sum(wishes)
    assert tried[("floor",)] == tried["floor", True] == tried["bernoulli", True] == 0
    # Fails by chance with probability below 1e-7.
    assert 10 < tried[("bernoulli",)] < 50


def test_a_margin_bars_rounds_that_alone_exceed_the_cap():
    steps = drive(SaddlePoint(margin=True), half_a_round())
    assert steps[0].wished.saddle.point.tolist() == [0.0]


def test_rounding_down_never_trains_unless_it_carries():
    """An even rate of 0.99 that costs nothing stays 0.99."""
    instance = never_trained(100).replace(price=np.zeros(100), price_prior=0.0)
    done = {}
    for form in FORMS:
        steps = drive(SaddlePoint(**form), instance, seed=1)
        np.testing.assert_allclose(steps[0].wished.saddle.point, 0.99)
        done[tuple(form.values())] = sum(int(step.requested_rounds[0]) for step in steps)
    assert done[("floor",)] == 0
    assert done["floor", True] >= 98
    # Eleven of 100 coins of 0.99 fail with probability below 1e-7.
    assert done[("bernoulli",)] >= 90


def test_what_waits_for_room_is_carried_on():
    """A capped frame has no room for what was lost; it comes back as soon as there is."""
    instance = never_trained(4).replace(
        cap=np.array([np.inf, 0.2, np.inf, np.inf]), price=np.zeros(4), price_prior=0.0
    )
    policy = SaddlePoint(residual="floor", carry=True, step=FixedStep(0.1, 0.1))
    steps = drive(policy, instance)
    assert steps[0].wished.lost.tolist() == [0.75]
    # 0.75 Wh do not fit into 0.2: nothing is added, the 0.2 of this frame are lost as well.
    assert steps[1].wished.carried.tolist() == [0.0]
    np.testing.assert_allclose(steps[1].wished.lost, [0.95])
    np.testing.assert_allclose(steps[2].wished.carried, [0.95])
    assert steps[2].requested_rounds.tolist() == [1]


def test_what_is_carried_counts_against_the_cap():
    """0.75 rounds are carried into a frame of 0.9 Wh, which leaves 0.15 to the step."""
    instance = never_trained(4).replace(
        cap=np.array([np.inf, 0.9, np.inf, np.inf]), price=np.zeros(4), price_prior=0.0
    )
    policy = SaddlePoint(residual="floor", carry=True, step=FixedStep(0.1, 0.1))
    then = drive(policy, instance)[1]
    np.testing.assert_allclose(then.wished.saddle.point, [0.15])
    assert then.requested_rounds.tolist() == [0]
    np.testing.assert_allclose(then.wished.lost, [0.9])


def test_expectations_are_kept():
    """Whole rounds average to the fractions when the last one is drawn."""
    rng = np.random.default_rng(7)
    instance = wide(rng)
    policy = SaddlePoint()
    frame = show(instance, 0, instance.rounds)
    memory = policy.relax(policy.begin(instance), frame, 9.0)
    assert frame.round_energy @ memory.saddle.point == pytest.approx(9.0)
    draws = np.array([policy.round(memory, frame, rng)[0] for _ in range(20_000)])
    # Hoeffding: off by 0.021 with probability below 1e-6 for any of the tasks.
    np.testing.assert_allclose(draws.mean(axis=0), memory.saddle.point, atol=0.021)
    down = SaddlePoint(residual="floor")
    draws = np.array([down.round(memory, frame, rng)[0] for _ in range(2_000)])
    assert draws.mean(axis=0).sum() < memory.saddle.point.sum() - 0.05
    assert (draws @ frame.round_energy <= 9.0 * (1 + 1e-12)).all()


def test_without_tasks_nothing_is_wished():
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
