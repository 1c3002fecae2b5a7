"""Baselines: the reference in every round, one trajectory per seed, an end, rounds by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.generate import generate
from edgeopt.online.tapfinger import OptimusContainers, TapFingerEnvironment, TiresiasContainers
from edgeopt.online.tapfinger.policies.optimus import Expectations, Optimus, fitted_slots
from edgeopt.online.tapfinger.policies.random import Min, RandomAllocation
from edgeopt.online.tapfinger.policies.tiresias import Tiresias
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws, every
from tests.tapfinger import plain_policies as plain
from tests.tapfinger.plain_policies import seen, written
from tests.tapfinger.scenarios import gpus

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Round


PROGRAM, TEXT = OptimusContainers(), OptimusContainers(offset=0.0, take_back=False)

POLICIES: list[Any] = [
    Min(),
    RandomAllocation(),
    Optimus(),
    Optimus(fit="published"),
    Tiresias(),
    Tiresias(target="elastic"),
    Tiresias(target="elastic", saturated="by_service"),
    PROGRAM,
    TEXT,
    TiresiasContainers(),
]
"""All baselines."""

SEED = 7


def reference(
    policy: Any, instance: TapFingerInstance, view: Round, rng: Any, slots: Any
) -> plain.Plan:
    """Return what the plain reference of a policy does; `slots` are those that it expects."""
    if isinstance(policy, (Min, RandomAllocation)):
        coins = rng.random((instance.clusters, 2))
        return plain.by_coins(instance, view, coins, smallest=isinstance(policy, Min))
    if isinstance(policy, Tiresias):
        elastic = policy.target == "elastic"
        return plain.tiresias(instance, view, elastic=elastic, saturated=policy.saturated)
    if isinstance(policy, TiresiasContainers):
        return plain.equal_share(instance, view)
    if isinstance(policy, OptimusContainers):
        named = {"offset": policy.offset, "take_back": policy.take_back}
        return plain.most_gpus(instance, view, slots, **named)
    return plain.optimus(instance, view, slots)


def followed(
    policy: Any, instance: TapFingerInstance, *, with_reference: bool = False
) -> list[Any]:
    """Simulate a scenario; return slot, number and plan of every round."""
    environment = TapFingerEnvironment(instance, preemption=policy.preemptive, patience=10)
    episode, state = environment.episode(0), policy.start(environment.instance)
    coins, same_coins = np.random.default_rng(SEED), np.random.default_rng(SEED)
    slots = fitted_slots(instance, getattr(policy, "fit", "correct")) if with_reference else None
    rounds: list[Any] = []
    while (view := episode.observe()) is not None:
        decision, state = policy.decide(state, view, coins)
        plan = plain.written(decision)
        if with_reference:
            assert plan == reference(policy, environment.instance, view, same_coins, slots)
        rounds.append((view.slot, view.number, plan))
        state = policy.learn(state, view, decision, episode.act(decision))
    return rounds


@settings(max_examples=draws(60))
@given(tapfinger_instances(tasks=8, noise=None), st.sampled_from(POLICIES), st.integers(1, 4))
def test_like_the_reference(instance: TapFingerInstance, policy: Any, times: int) -> None:
    # On larger clusters tasks reach the largest bundle while there is more to hand out.
    larger = instance.replace(capacity=instance.capacity * times)
    followed(policy, larger, with_reference=True)


@pytest.mark.parametrize("capacity", [(16, 16), (40, 40)])
@pytest.mark.parametrize("policy", every(2, POLICIES), ids=lambda policy: policy.name)
def test_like_the_reference_in_a_crowd(policy: Any, capacity: tuple[int, int]) -> None:
    crowd = generate(rng=1, tasks=24, rate=8.0, pending=4, capacity=capacity)
    followed(policy, crowd, with_reference=True)


@settings(max_examples=draws(40))
@given(tapfinger_instances(tasks=6, noise=None), st.sampled_from(POLICIES))
def test_one_seed_one_trajectory_and_all_tasks_complete(
    instance: TapFingerInstance, policy: Any
) -> None:
    if instance.switching == 0.0 or instance.noise == 1.0:
        instance = instance.replace(switching=0.5, noise=0.25)
    environment = TapFingerEnvironment(instance, preemption=policy.preemptive)
    one, two = (simulate(environment, policy, rng=SEED, runs=2, keep_trace=True) for _ in range(2))
    assert one.complete.all()
    for name in ("cluster", "start", "completion", "preemptions", "used", "decisions"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert one.held is not None
    assert two.held is not None
    assert all(np.array_equal(*pair) for pair in zip(one.held, two.held, strict=True))
    assert policy.preemptive or not one.preemptions.any()


def test_names() -> None:
    assert [policy.name for policy in POLICIES] == [
        "Min", "Random", "Optimus", "Optimus, fit=published", "Tiresias",
        "Tiresias, target=elastic", "Tiresias, target=elastic, saturated=by_service",
        "Optimus containers", "Optimus containers, offset=0.0, take_back=False",
        "Tiresias containers",
    ]  # fmt: skip


def decided(instance: TapFingerInstance, view: Any, policy: Any = None) -> plain.Plan:
    policy = policy or Optimus()
    state = policy.start(instance)
    return written(policy.decide(state, view, np.random.default_rng(0))[0])


def started(policy: Any, instance: TapFingerInstance, view: Any) -> Any:
    starts, other = decided(instance, view, policy)
    assert not other
    return starts


# --- Optimus -------------------------------------------------------------------------------------


def test_the_task_that_gains_most_gpus_is_started() -> None:
    """A kind that is as fast with one GPU gains nothing, however old it is."""
    table = [[[0.0, 0.25, 0.25, 0.25]], [[0.0, 0.25, 0.34, 0.5]]]
    instance = gpus([0] * 3, kind=[0, 1, 1], minimum=[[0, 1]] * 2, speed=table)
    all_wait, alone = seen(instance, [[0, 1, 2]]), seen(instance, [[0]])
    one_free = seen(instance, [[0, 1, 2]], {9: {"bundle": (0, 3)}})
    none_free = seen(instance, [[1]], {9: {"bundle": (0, 4)}})
    # Beyond one GPU each that costs nothing here, four are handed out: two to tasks 1 and 2 each.
    assert started(TEXT, instance, all_wait) == {0: (1, (0, 3))}
    assert started(TEXT, instance, alone) == {0: (0, (0, 1))}
    # In the program every unit is a gain, and one of several GPUs is taken back in the end.
    assert started(PROGRAM, instance, all_wait) == {0: (1, (0, 2))}
    assert started(PROGRAM, instance, alone) == {0: (0, (0, 2))}
    for policy in (TEXT, PROGRAM):
        assert started(policy, instance, one_free) == {0: (1, (0, 1))}
        assert started(policy, instance, none_free) == {}


def test_the_unit_that_is_taken_back_is_of_the_resource_handed_out_last() -> None:
    """Two of each are free beyond an imagined (1, 1): GPU, core, GPU, core are handed out.

    Their gains are 1 + 4, 1 + .5 (as much as a GPU's 1 + 1 / 2: the core is first), 1 + 1.5 / 2 and
    1 + 1 / 2.
    """
    slots = np.array([[8.0, 4.0, 3.0], [7.0, 3.5, 2.0], [6.0, 3.0, 1.0]])
    speed = np.zeros((1, 4, 4))
    speed[0, 1:, 1:] = 1.0 / slots
    instance = gpus([0], capacity=[[2, 2]], minimum=[[1, 1]], speed=speed)
    table = np.zeros((1, 1, 4, 4))
    table[0, 0, 1:, 1:] = slots
    state = Expectations(instance, table)
    view = seen(instance, [[0]])

    def given(**options: Any) -> Any:
        decision, _ = OptimusContainers(**options).decide(state, view, np.random.default_rng(0))
        return written(decision)[0]

    assert given(take_back=False) == {0: (0, (2, 2))}
    assert given() == {0: (0, (1, 2))}


# --- Tiresias ------------------------------------------------------------------------------------


def wide(tasks: int, minimum: tuple[int, int] = (1, 1), largest: int = 9) -> TapFingerInstance:
    speed = np.full((1, largest + 1, largest + 1), 0.1)
    return gpus([0] * tasks, capacity=[[9, 8]], minimum=[minimum], speed=speed)


def test_the_oldest_has_an_equal_share_rounded_up() -> None:
    policy, instance = TiresiasContainers(), wide(4)
    assert started(policy, instance, seen(instance, [[0]])) == {0: (0, (9, 8))}
    assert started(policy, instance, seen(instance, [[1, 2]])) == {0: (1, (5, 4))}
    beside = {9: {"bundle": (5, 4)}, 8: {"bundle": (1, 1)}}
    # Four share 9 and 8: (3, 2); but of the GPUs one less is free.
    assert started(policy, instance, seen(instance, [[2, 3]], beside)) == {0: (2, (3, 2))}
    beside[8] = {"bundle": (3, 3)}
    assert started(policy, instance, seen(instance, [[2, 3]], beside)) == {0: (2, (1, 1))}


def test_no_task_has_more_than_it_can_or_less_than_it_must() -> None:
    policy = TiresiasContainers()
    instance = wide(2, largest=6)
    assert started(policy, instance, seen(instance, [[0]])) == {0: (0, (6, 6))}
    instance = wide(4, minimum=(4, 3))
    # An equal share would be (3, 2).
    assert started(policy, instance, seen(instance, [[0, 1, 2, 3]])) == {0: (0, (4, 3))}
    held = {9: {"bundle": (4, 6)}}
    assert started(policy, instance, seen(instance, [[0, 1, 2]], held)) == {}


def test_units_go_where_they_shorten_most_per_unit_there() -> None:
    """With 1, 2, 3 GPUs a task takes 4, 2.94 and 2 slots: gains 1.06 and 0.94 / 2 per GPU."""
    instance = gpus([0, 0, 0])
    assert decided(instance, seen(instance, [[0]])) == ({0: (0, (0, 3))}, {})
    alone = {0: {"bundle": (0, 3)}}
    assert decided(instance, seen(instance, [[1]], alone)) == ({0: (1, (0, 2))}, {0: (0, 2)})
    # One GPU is left beside three tasks; of those that gain as much, the first placed has it.
    both = {0: {"bundle": (0, 2)}, 1: {"bundle": (0, 2)}}
    shared = decided(instance, seen(instance, [[2]], both))
    assert shared == ({0: (2, (0, 1))}, {1: (0, 1)})


def test_cpu_cores_and_gpus_compete() -> None:
    """Slots 6 / GPUs + 6 GPUs / CPU cores + CPU cores, which the fit meets."""
    cpu, gpu = np.maximum(np.indices((6, 6)), 1)
    data = {
        "capacity": [[5, 5]],
        "minimum": [[1, 1]],
        "speed": [1 / (6 / gpu + 6 * gpu / cpu + cpu)],
    }
    instance = gpus([0], **data)
    # 13 at (1, 1); 11 with a second CPU core, 16 with a second GPU; then 11 with a third.
    assert decided(instance, seen(instance, [[0]])) == ({0: (0, (2, 1))}, {})


def test_a_change_of_bundle_costs_half_a_slot() -> None:
    """Task 0 makes 0.5 with 3 GPUs, then 0.34 / 2 with 2, then 0.34: complete after slot 2.

    Task 1 makes 0.34 twice, 0.5 / 2 when it has 3 instead of 2 GPUs, and then 0.5.
    """
    instance = gpus([0, 1])
    trajectory = simulate(TapFingerEnvironment(instance), Optimus(), runs=1)
    assert trajectory.completion[0].tolist() == [3, 5]
    assert trajectory.preemptions[0].tolist() == [1, 1]
    assert trajectory.used[0, :, 0, 1].tolist() == [3, 4, 4, 3, 3]


def test_the_published_fit_gives_cpu_cores_that_do_nothing() -> None:
    cpu, gpu = np.indices((17, 17))
    speed = np.where((cpu >= 2) & (gpu >= 1), np.tanh(gpu / 16), 0.0)
    instance = gpus([0, 0], capacity=[[16, 16]], minimum=[[2, 1]], speed=[speed])
    view = seen(instance, [[1]], {0: {"bundle": (2, 1)}})
    right, wrong = decided(instance, view), decided(instance, view, Optimus(fit="published"))
    assert right == ({0: (1, (2, 8))}, {0: (2, 8)})
    assert wrong[0][0][1][0] > 2
    assert wrong[1][0][0] > 2


@pytest.mark.parametrize("kind", [Optimus, OptimusContainers])
def test_fits_are_named(kind: Any) -> None:
    assert kind(fit="published").name == f"{kind.title}, fit=published"
    with pytest.raises(OptionError, match="fit = 'good': must be one of 'correct', 'published'"):
        kind(fit="good")
