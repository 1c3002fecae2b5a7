"""Min and random allocation: which coins mean what."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.uniform import Min, RandomAllocation
from tests.draws import draws
from tests.online.tapfinger.plain_baselines import Coins, seen, written
from tests.strategies import tapfinger_instances


def clusters(number: int, capacity: tuple[int, int] = (4, 3), **changes: Any) -> TapFingerInstance:
    """Return clusters and four tasks that need (2, 1) and are given (5, 2) at most."""
    data: dict[str, Any] = {
        "capacity": [capacity] * number,
        "minimum": [[2, 1]],
        "speed": np.full((1, 6, 3), 0.5),
        "arrival": [0] * 4,
        "kind": [0] * 4,
        "eligible": np.ones((4, number), dtype=bool),
    }
    return TapFingerInstance(**data | changes)


def decided(
    policy: Any, instance: TapFingerInstance, view: Any, *coins: tuple[float, float]
) -> Any:
    return written(policy.decide(policy.start(instance), view, Coins(*coins))[0])[0]


def test_every_task_and_bundle_is_as_likely_as_any_other_and_so_is_nothing() -> None:
    """(2..4) x (1..2) fit: six bundles, and nothing, for each of three tasks."""
    instance = clusters(1)
    view = seen(instance, [[0, 2, 3]])
    seventh = [(which + 0.5) / 7 for which in range(7)]
    drawn = Counter(
        str(decided(RandomAllocation(), instance, view, ((i + 0.5) / 3, second)))
        for i in range(3)
        for second in seventh
    )
    fitting = [(cpu, gpu) for cpu in (2, 3, 4) for gpu in (1, 2)]
    expected = {str({0: (j, bundle)}): 1 for j in (0, 2, 3) for bundle in fitting}
    assert drawn == Counter(expected | {"{}": 3})
    least = [decided(Min(), instance, view, ((i + 0.5) / 3, 0.0)) for i in range(3)]
    assert least == [{0: (j, (2, 1))} for j in (0, 2, 3)]


def test_the_ends_of_the_range_of_coins_are_tasks_and_bundles() -> None:
    instance, last = clusters(1), np.nextafter(1.0, 0.0)
    view = seen(instance, [[0, 1]])
    assert decided(RandomAllocation(), instance, view, (0.0, 0.0)) == {}
    assert decided(RandomAllocation(), instance, view, (last, last)) == {0: (1, (4, 2))}


def test_what_an_earlier_cluster_has_chosen_is_not_chosen_again() -> None:
    instance = clusters(3)
    view = seen(instance, [[0, 1], [0, 1], [1]])
    # Clusters 0 and 1 want task 1, and so does cluster 2, which has no other.
    assert decided(Min(), instance, view, (0.9, 0), (0.9, 0), (0.9, 0)) == {0: (1, (2, 1))}
    starts = {0: (0, (2, 1)), 1: (1, (2, 1))}
    assert decided(Min(), instance, view, (0, 0), (0.9, 0), (0.9, 0)) == starts


def test_what_does_not_fit_is_chosen_in_vain() -> None:
    instance = clusters(2)
    full = {3: {"bundle": (3, 1), "cluster": 0}}
    view = seen(instance, [[0, 1], [0, 1]], full)
    for policy, bundle in ((Min(), (2, 1)), (RandomAllocation(), (2, 2))):
        assert decided(policy, instance, view, (0, 0.9), (0, 0.9)) == {}
        assert decided(policy, instance, view, (0, 0.9), (0.9, 0.3)) == {1: (1, bundle)}


def test_no_more_is_given_than_is_free() -> None:
    instance = clusters(1, (9, 9))
    view = seen(instance, [[0]], {3: {"bundle": (5, 2)}})
    given = {
        decided(RandomAllocation(), instance, view, (0.0, (which + 0.5) / 7)).get(0)
        for which in range(7)
    }
    assert given == {None} | {(0, (cpu, gpu)) for cpu in (2, 3, 4) for gpu in (1, 2)}
    # 9 - 5 CPU cores are free, and a task has at most 2 of the 7 GPUs.


def test_empty_pending_sets() -> None:
    instance = clusters(2)
    view = seen(instance, [[], [2]])
    assert decided(Min(), instance, view, (0.9, 0), (0.9, 0)) == {1: (2, (2, 1))}


@given(
    tapfinger_instances(tasks=8, noise=None),
    st.sampled_from([Min(), RandomAllocation()]),
    st.sampled_from(["slot", "round"]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=draws(40))
def test_compiled_runs_are_those_of_the_plain_loop(instance, policy, refill, seed) -> None:
    environment = TapFingerEnvironment(instance, refill=refill, patience=50)
    fast = simulate(environment, policy, rng=seed, runs=2)
    plain = simulate(environment, policy, rng=seed, runs=2, compiled=False)
    recorded = simulate(environment, policy, rng=seed, runs=2, record=True)
    assert (fast.compiled, plain.compiled, recorded.compiled) == (True, False, False)
    for name in set(vars(plain)) - {"seconds", "compiled", "instance", "held", "name"}:
        assert np.array_equal(getattr(fast, name), getattr(plain, name)), name
        assert np.array_equal(getattr(recorded, name), getattr(plain, name)), name
    assert recorded.held is not None


def test_long_runs_take_coins_and_noise_as_they_go() -> None:
    instance = generate(tasks=400, single_start=True)
    environment = TapFingerEnvironment(instance.replace(arrival=instance.arrival * 9))
    fast, plain = (
        simulate(environment, Min(), rng=3, runs=1, compiled=compiled) for compiled in (True, False)
    )
    assert plain.decisions.sum() > 1024
    assert np.array_equal(fast.completion, plain.completion)
    assert np.array_equal(fast.reward, plain.reward)
