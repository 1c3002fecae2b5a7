"""What all baselines share: twins in every round, no future, one seed one trajectory, an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.instances.tapfinger.generate import generate
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.containers import OptimusContainers, TiresiasContainers
from edgeopt.online.tapfinger.policies.optimus import Optimus, fitted_slots
from edgeopt.online.tapfinger.policies.tiresias import Tiresias
from edgeopt.online.tapfinger.policies.uniform import Min, RandomAllocation
from tests.draws import draws
from tests.online.tapfinger import plain_baselines as plain
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Round

POLICIES: list[Any] = [
    Min(),
    RandomAllocation(),
    Optimus(),
    Optimus(fit="published"),
    Tiresias(),
    Tiresias(target="elastic"),
    OptimusContainers(),
    TiresiasContainers(),
]
"""All baselines."""

SEED = 7


def twin(policy: Any, instance: TapFingerInstance, view: Round, rng: Any, slots: Any) -> plain.Plan:
    """Return what the plain twin of a policy does; `slots` are those that it expects."""
    if isinstance(policy, (Min, RandomAllocation)):
        coins = rng.random((instance.clusters, 2))
        return plain.by_coins(instance, view, coins, smallest=isinstance(policy, Min))
    if isinstance(policy, Tiresias):
        return plain.tiresias(instance, view, elastic=policy.target == "elastic")
    if isinstance(policy, TiresiasContainers):
        return plain.equal_share(instance, view)
    twins = plain.most_gpus if isinstance(policy, OptimusContainers) else plain.optimus
    return twins(instance, view, slots)


def followed(policy: Any, instance: TapFingerInstance, *, with_twin: bool = False) -> list[Any]:
    """Live through a scenario; return slot, number and plan of every round."""
    environment = TapFingerEnvironment(instance, preemption=policy.preemptive, patience=10)
    episode, state = environment.episode(0), policy.start(environment.instance)
    coins, same_coins = np.random.default_rng(SEED), np.random.default_rng(SEED)
    slots = fitted_slots(instance, getattr(policy, "fit", "correct")) if with_twin else None
    rounds: list[Any] = []
    while (view := episode.observe()) is not None:
        decision, state = policy.decide(state, view, coins)
        plan = plain.written(decision)
        if with_twin:
            assert plan == twin(policy, environment.instance, view, same_coins, slots)
        rounds.append((view.slot, view.number, plan))
        state = policy.learn(state, view, decision, episode.act(decision))
    return rounds


@settings(max_examples=draws(40))
@given(tapfinger_instances(tasks=6, noise=None), st.sampled_from(POLICIES))
def test_like_its_plain_twin(instance: TapFingerInstance, policy: Any) -> None:
    followed(policy, instance, with_twin=True)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_like_its_plain_twin_in_a_crowd(policy: Any) -> None:
    followed(policy, generate(rng=1, tasks=24, rate=8.0, pending=4), with_twin=True)


@settings(max_examples=draws(40))
@given(tapfinger_instances(tasks=6, noise=None), st.sampled_from(POLICIES), st.integers(0, 2))
def test_later_tasks_change_nothing_before_they_come(
    instance: TapFingerInstance, policy: Any, slot: int
) -> None:
    kept = instance.arrival <= slot
    names = ("arrival", "kind", "eligible", "weight")
    fewer = instance.replace(**{name: getattr(instance, name)[kept] for name in names})
    lives = [
        [one for one in followed(policy, scenario) if one[0] <= slot]
        for scenario in (instance, fewer)
    ]
    # The run without later tasks may end before the slot does.
    assert lives[0][: len(lives[1])] == lives[1]
    assert all(not any(plan) for _, _, plan in lives[0][len(lives[1]) :])


@settings(max_examples=draws(40))
@given(tapfinger_instances(tasks=6, noise=None), st.sampled_from(POLICIES))
def test_one_seed_one_trajectory_and_all_tasks_complete(
    instance: TapFingerInstance, policy: Any
) -> None:
    if instance.switching == 0.0 or instance.noise == 1.0:
        instance = instance.replace(switching=0.5, noise=0.25)
    environment = TapFingerEnvironment(instance, preemption=policy.preemptive)
    one, two = (simulate(environment, policy, rng=SEED, runs=2) for _ in range(2))
    assert one.complete.all()
    for name in ("cluster", "start", "completion", "preemptions", "used", "decisions"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert policy.preemptive or not one.preemptions.any()


def test_names() -> None:
    assert [policy.name for policy in POLICIES] == [
        "Min", "Random", "Optimus", "Optimus, fit=published", "Tiresias",
        "Tiresias, target=elastic", "Optimus containers", "Tiresias containers",
    ]  # fmt: skip
