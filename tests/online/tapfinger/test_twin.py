"""The environment against its plain twin: drawn instances, options and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online.tapfinger import TapFingerEnvironment
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


@settings(max_examples=60)
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
