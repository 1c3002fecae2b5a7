"""What all controls promise: causality, one trajectory per seed, training within the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame
from edgeopt.online.edr.policies.baselines import QuantileThreshold
from edgeopt.online.edr.policies.queues import Lyapunov, Oasdr
from edgeopt.online.edr.policies.saddle_point import SaddlePoint
from tests.draws import draws
from tests.online.edr.lives import live, other_future, table, two_sites
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy

CONTROLS: tuple[EdrPolicy[Any], ...] = (
    SaddlePoint(),
    SaddlePoint(index="stale", gradient="stale", residual="floor", guard=None, reserve=None),
    SaddlePoint(residual="floor", carry=True, init="zero", price_forecast="mean"),
    SaddlePoint(margin=True, budget="price", price_forecast="day", elastic="shed"),
    Lyapunov(),
    Oasdr(),
    QuantileThreshold(),
)


@settings(max_examples=draws(60))
@given(edr_instances(), st.sampled_from(CONTROLS), st.integers(0, 2**32 - 1))
def test_no_decision_depends_on_the_future(
    instance: EdrInstance, policy: EdrPolicy[Any], seed: int
):
    rng = np.random.default_rng(seed)
    frame, slot = int(rng.integers(instance.frames)), int(rng.integers(instance.slots))
    changed = other_future(instance, frame, slot, seed)
    simulated = [live(EdrEnvironment(one), policy, seed) for one in (instance, changed)]
    for one, other in zip(*simulated, strict=True):
        seen = one.seen
        now = (seen.frame, -1 if isinstance(seen, Frame) else seen.slot)
        if now > (frame, slot):
            break
        if isinstance(seen, Frame):
            # Coins are drawn in the order of tasks, of which the later ones have none yet.
            np.testing.assert_array_equal(one.decision, other.decision)
        else:
            np.testing.assert_allclose(
                table(instance, one.decision), table(changed, other.decision), atol=1e-9
            )


@settings(max_examples=draws(60))
@given(edr_instances(), st.sampled_from(CONTROLS))
def test_training_keeps_caps_and_windows(instance: EdrInstance, policy: EdrPolicy[Any]):
    """What is carried out keeps the cap whatever the wish; deadlines yield to it."""
    done = np.zeros(instance.tasks)
    for step in live(EdrEnvironment(instance), policy):
        if isinstance(step.seen, Frame):
            rounds = step.decision
            assert rounds @ step.seen.round_energy <= step.seen.cap * (1 + 1e-9)
            assert not rounds[~step.seen.active].any()
            done += rounds
        if isinstance(step.feedback, ClosedFrame):
            assert (done <= instance.rounds).all()


@pytest.mark.parametrize("policy", CONTROLS, ids=lambda policy: policy.name)
def test_one_seed_one_trajectory(policy: EdrPolicy[Any]):
    environment = EdrEnvironment(two_sites())
    runs = [simulate(environment, policy, rng=3, runs=2) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].reward, runs[1].reward)
    np.testing.assert_array_equal(runs[0].rounds, runs[1].rounds)


def test_seeds_make_a_difference_where_coins_are_tossed():
    environment = EdrEnvironment(two_sites(rounds=[3, 3]))
    policy = SaddlePoint(guard=None)
    many = simulate(environment, policy, rng=0, runs=30).rounds
    assert len(np.unique(many.reshape(30, -1), axis=0)) > 1
    assert all(not one.deterministic for one in CONTROLS[:4])
    assert all(one.deterministic for one in CONTROLS[4:])
