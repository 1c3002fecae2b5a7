"""The environment against its plain twin: drawn instances, options and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import generate
from edgeopt.online.tapfinger import TapFingerEnvironment
from tests.draws import draws
from tests.online.tapfinger.lives import Wild, side_by_side
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance

OPTIONS = st.fixed_dictionaries(
    {
        "refill": st.sampled_from(["slot", "round"]),
        "conflict": st.sampled_from(["count", "ratio"]),
        "pass_on": st.booleans(),
        "patience": st.sampled_from([1000, 2, 1]),
    }
)


@settings(max_examples=draws(60))
@given(
    tapfinger_instances(tasks=8, noise=None, empty=True),
    OPTIONS,
    st.booleans(),
    st.integers(0, 999),
)
def test_every_round_and_all_accounts_are_those_of_the_twin(
    instance: TapFingerInstance, options: dict[str, Any], preemption: bool, seed: int
) -> None:
    environment = TapFingerEnvironment(instance, preemption=preemption, **options)
    side_by_side(environment, Wild(preemption=preemption), seed)


@pytest.mark.parametrize("single_start", [False, True])
def test_so_they_are_in_a_crowd(single_start: bool) -> None:
    truth = generate(clusters=3, tasks=120, single_start=single_start, noise=0.1, rng=1)
    refill: Literal["slot", "round"] = "slot" if single_start else "round"
    plain = side_by_side(TapFingerEnvironment(truth, refill=refill), Wild(), 1)
    assert plain.lost > 0
    assert max(plain.local)[0] > truth.pending  # so that some have queued
