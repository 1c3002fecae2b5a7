"""Tiresias, and the allocations by coins."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.random import Min, RandomAllocation
from edgeopt.online.tapfinger.policies.tiresias import Tiresias
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.plain_policies import Coins, seen, written
from tests.tapfinger.scenarios import gpus


def decided(
    instance: TapFingerInstance, view: Any, target: Any = "elastic", saturated: Any = "last"
) -> Any:
    policy = Tiresias(target=target, saturated=saturated)
    state = policy.start(instance)
    return written(policy.decide(state, view, np.random.default_rng(0))[0])


def test_those_with_the_least_service_go_first() -> None:
    """The one that joins has had nothing, so it is given three GPUs before task 0 has any."""
    instance = gpus([0, 1])
    view = seen(instance, [[1]], {0: {"bundle": (0, 3), "attained": 3}}, slot=1)
    assert decided(instance, view) == ({0: (1, (0, 3))}, {0: (0, 1)})
    # Once it has had as much as task 0, the one placed first is first in the order.
    short = gpus([0, 1], capacity=[[0, 3]])
    view = seen(short, [[1]], {0: {"bundle": (0, 3), "attained": 2}}, slot=1)
    assert decided(short, view) == ({0: (1, (0, 2))}, {0: (0, 1)})


def test_of_a_queue_the_one_that_was_placed_first_goes_first() -> None:
    instance = gpus([0] * 4, capacity=[[0, 4]])
    rows: dict[int, dict[str, Any]] = {
        0: {"bundle": (0, 1), "attained": 9, "start": 0},
        1: {"bundle": (0, 1), "attained": 6, "start": 1},
        2: {"bundle": (0, 1), "attained": 2, "start": 2},
    }
    # Tasks 2 and 3 have had the least, and task 2 was placed before 3. It would leave the queue
    # only if it had had as much as task 1, and can have no more than three GPUs.
    view = seen(instance, [[3]], rows, slot=3)
    by_service = decided(instance, view, saturated="by_service")
    assert by_service == ({0: (3, (0, 1))}, {0: (0, 0), 1: (0, 0), 2: (0, 3)})
    # Behind all others, it makes room in the queue for task 1, which was placed before 3.
    assert decided(instance, view) == ({}, {0: (0, 0), 2: (0, 3)})


def test_who_would_be_given_nothing_goes_on_waiting() -> None:
    rows: dict[int, dict[str, Any]] = {
        0: {"bundle": (0, 2), "attained": 9, "start": 0},
        1: {"bundle": (0, 1), "attained": 9, "start": 1},
        2: {"bundle": (0, 0), "attained": 0, "start": 2},
    }
    table = gpus([0] * 4, speed=[[[0.0, 0.2, 0.3, 0.4, 0.5]]])
    view = seen(table, [[3]], rows, slot=3)
    assert decided(table, view) == ({}, {0: (0, 0), 1: (0, 0), 2: (0, 4)})


def test_with_the_least_as_target_all_have_it() -> None:
    instance = gpus([0] * 5, capacity=[[9, 4]], speed=np.full((1, 5, 4), 0.25))
    assert decided(instance, seen(instance, [[0]]), "minimum") == ({0: (0, (4, 1))}, {})
    rows = {j: {"bundle": (4, 1), "attained": j} for j in range(3)}
    starts, other = decided(instance, seen(instance, [[3]], rows), "minimum")
    assert starts == {0: (3, (2, 1))}
    assert other == {0: (3, 1), 1: (2, 1), 2: (2, 1)}
    rows[3] = {"bundle": (2, 1)}
    assert decided(instance, seen(instance, [[4]], rows), "minimum")[0] == {}


def test_a_smallest_bundle_is_given_whole_or_not_at_all() -> None:
    three = gpus([0, 0], capacity=[[8, 8]], minimum=[[3, 3]], speed=np.full((1, 9, 9), 0.1))
    view = seen(three, [[1]], {0: {"bundle": (8, 8), "attained": 8}}, slot=1)
    assert decided(three, view) == ({0: (1, (8, 8))}, {0: (0, 0)})
    # Three at once and a fourth until it has had as much as task 0, then three to that one.
    view = seen(three, [[1]], {0: {"bundle": (8, 8), "attained": 4}}, slot=1)
    assert decided(three, view) == ({0: (1, (4, 5))}, {0: (4, 3)})


def test_kinds_that_need_no_gpu_have_cpu_cores_all_the_same() -> None:
    kinds = {
        "capacity": [[6, 2]],
        "minimum": [[1, 0], [1, 2]],
        "kind": [0, 1],
        "speed": np.full((2, 9, 9), 0.1),
    }
    instance = gpus([0, 0], **kinds)
    for target in ("minimum", "elastic"):
        view = seen(instance, [[1]], {0: {"bundle": (6, 0), "attained": 5}}, slot=1)
        assert decided(instance, view, target) == ({0: (1, (3, 2))}, {0: (3, 0)})


def test_no_task_has_more_cpu_cores_than_it_can() -> None:
    instance = gpus([0], capacity=[[9, 9]], speed=np.full((1, 6, 4), 0.1))
    assert decided(instance, seen(instance, [[0]])) == ({0: (0, (5, 3))}, {})


def test_paused_tasks_come_back() -> None:
    """Three GPUs: task 0 has them, task 1 then all three, and in slot 2 they share them.

    Task 0 makes 0.5, 0, 0.34 / 2 and so on; task 1 makes 0.5 and 0.25 / 2.
    """
    instance = gpus([0, 1], capacity=[[0, 3]])
    environment = TapFingerEnvironment(instance)
    trajectory = simulate(environment, Tiresias(target="elastic"), runs=1, keep_trace=True)
    held = trajectory.held
    assert held is not None
    rows = [
        (int(j), int(bundle[1]), int(begin))
        for j, bundle, begin in zip(held.task, held.bundle, held.begin, strict=True)
    ]
    first = [row for row in rows if row[2] <= 2]
    assert first == [(0, 3, 0), (0, 0, 1), (0, 2, 2), (1, 3, 1), (1, 1, 2)]
    assert trajectory.complete.all()


def test_options_and_names() -> None:
    assert Tiresias().name == "Tiresias"
    assert Tiresias(target="elastic").name == "Tiresias, target=elastic"
    with pytest.raises(OptionError, match="target = 'most': must be one of 'minimum', 'elastic'"):
        Tiresias(target="most")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="saturated = 'first': must be one of 'last', 'by_serv"):
        Tiresias(saturated="first")  # type: ignore[arg-type]


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


def started_with(
    policy: Any, instance: TapFingerInstance, view: Any, *coins: tuple[float, float]
) -> Any:
    return written(policy.decide(policy.start(instance), view, Coins(*coins))[0])[0]


def test_every_task_and_bundle_is_as_likely_as_any_other_and_so_is_nothing() -> None:
    """(2..4) x (1..2) fit: six bundles, and nothing, for each of three tasks."""
    instance = clusters(1)
    view = seen(instance, [[0, 2, 3]])
    seventh = [(which + 0.5) / 7 for which in range(7)]
    drawn = Counter(
        str(started_with(RandomAllocation(), instance, view, ((i + 0.5) / 3, second)))
        for i in range(3)
        for second in seventh
    )
    fitting = [(cpu, gpu) for cpu in (2, 3, 4) for gpu in (1, 2)]
    expected = {str({0: (j, bundle)}): 1 for j in (0, 2, 3) for bundle in fitting}
    assert drawn == Counter(expected | {"{}": 3})
    least = [started_with(Min(), instance, view, ((i + 0.5) / 3, 0.0)) for i in range(3)]
    assert least == [{0: (j, (2, 1))} for j in (0, 2, 3)]


def test_the_ends_of_the_range_of_coins_are_tasks_and_bundles() -> None:
    instance, last = clusters(1), np.nextafter(1.0, 0.0)
    view = seen(instance, [[0, 1]])
    assert started_with(RandomAllocation(), instance, view, (0.0, 0.0)) == {}
    assert started_with(RandomAllocation(), instance, view, (last, last)) == {0: (1, (4, 2))}


def test_what_an_earlier_cluster_has_chosen_is_not_chosen_again() -> None:
    instance = clusters(3)
    view = seen(instance, [[0, 1], [0, 1], [1]])
    # Clusters 0 and 1 want task 1, and so does cluster 2, which has no other.
    assert started_with(Min(), instance, view, (0.9, 0), (0.9, 0), (0.9, 0)) == {0: (1, (2, 1))}
    starts = {0: (0, (2, 1)), 1: (1, (2, 1))}
    assert started_with(Min(), instance, view, (0, 0), (0.9, 0), (0.9, 0)) == starts


def test_what_does_not_fit_is_chosen_in_vain() -> None:
    instance = clusters(2)
    full = {3: {"bundle": (3, 1), "cluster": 0}}
    view = seen(instance, [[0, 1], [0, 1]], full)
    for policy, bundle in ((Min(), (2, 1)), (RandomAllocation(), (2, 2))):
        assert started_with(policy, instance, view, (0, 0.9), (0, 0.9)) == {}
        assert started_with(policy, instance, view, (0, 0.9), (0.9, 0.3)) == {1: (1, bundle)}


def test_no_more_is_given_than_is_free() -> None:
    instance = clusters(1, (9, 9))
    view = seen(instance, [[0]], {3: {"bundle": (5, 2)}})
    given = {
        started_with(RandomAllocation(), instance, view, (0.0, (which + 0.5) / 7)).get(0)
        for which in range(7)
    }
    assert given == {None} | {(0, (cpu, gpu)) for cpu in (2, 3, 4) for gpu in (1, 2)}
    # 9 - 5 CPU cores are free, and a task has at most 2 of the 7 GPUs.


def test_empty_pending_sets() -> None:
    instance = clusters(2)
    view = seen(instance, [[], [2]])
    assert started_with(Min(), instance, view, (0.9, 0), (0.9, 0)) == {1: (2, (2, 1))}


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
    recorded = simulate(environment, policy, rng=seed, runs=2, keep_trace=True)
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
