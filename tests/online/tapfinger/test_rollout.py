"""The rollout: it follows what would be best, and is no worse where nothing arrives any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.reservation import PricedSpt, ReservationSpt
from edgeopt.online.tapfinger.policies.rollout import Rollout
from edgeopt.online.tapfinger.policies.uniform import RandomAllocation
from tests.draws import draws
from tests.online.tapfinger.served import gpus, held, ran
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance

GENEROUS = PricedSpt(pressure=0.0)
STUCK = ReservationSpt(look=1)


@settings(max_examples=draws(25))
@given(tapfinger_instances(tasks=5, weighted=None), st.integers(1, 3))
def test_no_worse_than_the_best_where_all_tasks_are_known(
    instance: TapFingerInstance, every: int
) -> None:
    instance = instance.replace(arrival=np.zeros_like(instance.arrival))
    policies = (ReservationSpt(), PricedSpt(), GENEROUS)
    alone = [ran(instance, policy).weighted_flow_time()[0] for policy in policies]
    rollout = Rollout(policies=policies, every=every)
    environment = TapFingerEnvironment(instance, preemption=False)
    seen = environment.episode(0).observe()
    assert seen is not None
    state = rollout.start(environment.instance)
    _, state = rollout.decide(state, seen, np.random.default_rng(0))
    assert state.followed == int(np.argmin(alone))
    assert ran(instance, rollout).weighted_flow_time()[0] <= min(alone) + 1e-9


def test_the_one_that_would_be_best_is_followed_until_it_is_not() -> None:
    """Priced gives task 1 one GPU in slot 1, to be complete at 5; reserved, it is at 4."""
    two = gpus([0, 1])
    assert held(ran(two, Rollout()))[1] == (0, 3, 2, 4)
    other = Rollout(policies=(PricedSpt(), ReservationSpt()))
    assert held(ran(two, other))[1] == (0, 3, 2, 4)
    # In slot 0 both are alike, and the first one stays for two slots.
    late = Rollout(policies=(PricedSpt(), ReservationSpt()), every=2)
    assert held(ran(two, late))[1] == (0, 1, 1, 5)


def test_flow_times_count_by_weight() -> None:
    """Priced, tasks 1 and 2 are complete at 5 and 4; reserved, at 4 and 5."""
    heavy = gpus([0, 1, 1], weight=[1.0, 2.0, 1.0])
    either = Rollout(policies=(PricedSpt(), ReservationSpt()))
    assert held(ran(heavy, PricedSpt()))[1] == (0, 1, 1, 5)
    assert held(ran(heavy, either))[1] == (0, 3, 2, 4)


def test_who_leaves_tasks_behind_is_not_followed() -> None:
    assert ran(gpus([0]), Rollout(policies=(STUCK, PricedSpt()))).complete.all()


def test_options_and_names() -> None:
    assert Rollout().name == "Rollout"
    assert not Rollout().preemptive
    named = Rollout(policies=(PricedSpt(), GENEROUS), every=2, refill="round").name
    assert named == "Rollout of PricedSpt & PricedSpt, pressure=0.0, every=2, refill=round"
    with pytest.raises(OptionError, match="at least one"):
        Rollout(policies=())
    with pytest.raises(OptionError, match="tosses coins"):
        Rollout(policies=(RandomAllocation(),))
    with pytest.raises(OptionError, match="every = 0"):
        Rollout(every=0)
    with pytest.raises(OptionError, match="refill = 'never'"):
        Rollout(refill="never")  # type: ignore[arg-type]
