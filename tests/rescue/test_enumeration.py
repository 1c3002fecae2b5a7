"""Exact values of any policy by enumeration, and policies that are guarded from outside."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import edgeopt
from edgeopt.errors import OptionError, PolicyError
from edgeopt.instances.rescue import generate, tight
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Arrival,
    CompetingOffers,
    Cvs,
    Guard,
    Guarded,
    PickConfigs,
    Placement,
    RandomPolicy,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    Srs,
    Sumita,
    exact_value,
    policy_value,
)
from edgeopt.online.simulate import run_policy
from edgeopt.testing import check_policy
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws
from tests.rescue.cases import cases
from tests.rescue.plans import all_policies, plan_of

SMALL = generate(
    servers=2, devices=2, profiles=2, horizon=6, reserved=2, rng=3, longest=3, shortest=1
)


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("kind", [PickConfigs, Srs, Cvs, RescuePlus, Rescue, Sumita, RandomPolicy])
def test_published_policies_have_their_value(kind: Any, guarded: bool) -> None:
    policy = kind(guarded=guarded)
    assert exact_value(SMALL, policy) == pytest.approx(policy_value(SMALL, policy), rel=1e-12)


def test_a_policy_by_states_has_its_value() -> None:
    policy = CompetingOffers()
    assert exact_value(SMALL, policy) == pytest.approx(policy_value(SMALL, policy), rel=1e-12)


@settings(max_examples=draws(40))
@given(rescue_instances(arrivals=None))
def test_on_any_small_instance(instance: Any) -> None:
    if instance.servers > 2 or instance.horizon > 5:
        return
    for policy in all_policies(plan_of(instance), guarded=True):
        wanted = policy_value(instance, policy)
        assert exact_value(instance, policy) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@dataclass(frozen=True)
class Price:
    """Ask for more per slot as runs earn more: a policy that learns."""

    name: str = "asking"
    share: float = 0.5

    def start(self, instance: Any) -> Any:
        return instance, 0.0, 0

    def decide(self, state: Any, arrival: Any, rng: Any) -> Any:
        instance, earned, busy = state
        profit = instance.expected_profit[arrival.slot, arrival.device]
        rate = np.where(arrival.idle[:, None], profit / instance.mean_duration, 0.0)
        server, profile = np.unravel_index(rate.argmax(), rate.shape)
        if rate[server, profile] <= self.share * (earned / busy if busy else 0.0):
            return None, state
        return Placement(int(server), int(profile)), state

    def learn(self, state: Any, arrival: Any, decision: Any, finished: Any) -> Any:
        instance, earned, busy = state
        return (
            instance,
            earned + sum(run.profit for run in finished),
            busy + sum(run.duration for run in finished),
        )


@dataclass(frozen=True)
class Gambler(Price):
    """The same, if a coin says so, and the more often the more it has seen."""

    name: str = "gambler"

    def decide(self, state: Any, arrival: Any, rng: Any) -> Any:
        decision, state = super().decide(state, arrival, rng)
        return (decision if 0.4 + 0.2 * (state[2] > 2) > arrival.coin else None), state


def test_a_policy_that_learns_has_the_mean_of_all_scenarios() -> None:
    """Every scenario of a tiny instance, one by one through the simulator's own episodes."""
    tiny = generate(
        servers=1, devices=1, profiles=2, horizon=3, reserved=1, rng=1, longest=2, shortest=1
    )
    environment = RescueEnvironment(tiny)
    # Pieces of [0, 1) on which a coin of the scenario has the same effect, by slot.
    durations = sorted({0.0, *environment.duration_cumulative[:, :-1].ravel().tolist(), 1.0})
    for policy in (Price(share=1.0), Gambler(share=0.9)):
        total = 0.0
        choices: list[list[tuple[float, tuple[float, float, float]]]] = []
        for slot in range(tiny.horizon):
            p = float(tiny.arrival[slot, 0])
            ways = [(1.0 - p, ((1.0 + p) / 2, 0.5, 0.5))] if p < 1.0 else []
            for low, high in itertools.pairwise(durations):
                for coin, share in ((0.2, 0.4), (0.5, 0.2), (0.8, 0.4)):
                    if p * share * (high - low) > 0.0:
                        chance = p * share * (high - low)
                        ways.append((chance, (p / 2, coin, (low + high) / 2)))
            choices.append(ways)
        stack: list[tuple[float, list[tuple[float, float, float]]]] = [(1.0, [])]
        for ways in choices:
            stack = [(w * q, [*past, way]) for w, past in stack for q, way in ways]
        state = policy.start(tiny)
        for weight, path in stack:
            episode = environment.episode(np.array(path)[:, None, :])
            run_policy(episode, policy, state, np.random.default_rng(0))
            total += weight * episode.log.reward.sum()
        assert sum(weight for weight, _ in stack) == pytest.approx(1.0)
        assert exact_value(tiny, policy) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("policy", [Price(), Gambler(), Guarded(Price())], ids=lambda p: p.name)
def test_a_policy_that_learns_agrees_with_simulation(policy: Any) -> None:
    """Within five standard errors of 1,000 runs."""
    total = simulate(RescueEnvironment(SMALL), policy, runs=1000).total
    assert abs(exact_value(SMALL, policy) - total.mean()) < 5 * total.std() / 1000**0.5


def test_coins_that_are_given_count_as_given() -> None:
    instance = tight(0.25)
    half = [(0.25, 0.5), (0.75, 0.5)]
    given = exact_value(instance, RandomPolicy(), coins=half)
    assert given == pytest.approx(policy_value(instance, RandomPolicy()))
    always = exact_value(instance, RandomPolicy(), coins=[(0.1, 1.0)])
    assert always == pytest.approx(2 * given) or always > given


def test_what_cannot_be_enumerated_is_named() -> None:
    class Counts(Price):
        def decide(self, state: Any, arrival: Any, rng: Any) -> Any:
            accept = int(3 * float(arrival.coin)) == 0 and arrival.idle[0]
            return (Placement(0, 0) if accept else None), state

    class Draws(Price):
        def decide(self, state: Any, arrival: Any, rng: Any) -> Any:
            return (Placement(0, 0) if rng.random() < 0.5 and arrival.idle[0] else None), state

    class Remembers(Price):
        def learn(self, state: Any, arrival: Any, decision: Any, finished: Any) -> Any:
            return (*state[:2], int(arrival.coin < 0.5))

    class Wrong(Price):
        def decide(self, state: Any, arrival: Any, rng: Any) -> Any:
            return Placement(9, 0), state

    for policy in (Counts(), Remembers()):
        with pytest.raises(OptionError, match=r"give coins=\[\(coin, probability\)"):
            exact_value(SMALL, policy)
    exact_value(SMALL, Counts(), coins=[(0.1, 1 / 3), (0.5, 1 / 3), (0.9, 1 / 3)])
    with pytest.raises(OptionError, match="asking draws random numbers"):
        exact_value(SMALL, Draws())
    with pytest.raises(OptionError, match="there are 2 servers"):
        exact_value(SMALL, Wrong())
    with pytest.raises(OptionError, match="asking: more than 20 histories"):
        exact_value(SMALL, Price(), limit=20)
    with pytest.raises(PolicyError, match="is a class"):
        exact_value(SMALL, Price)
    for coins in ([(0.5, 0.4)], [(1.5, 1.0)], 3):
        with pytest.raises(OptionError, match="coins"):
            exact_value(SMALL, Price(), coins=coins)


# Guarded.


@settings(max_examples=draws(40))
@given(cases(reserved=True))
def test_no_reserved_task_fails_under_a_guard(case: Any) -> None:
    instance = case[0] if isinstance(case, tuple) else case
    for policy in (Price(), PickConfigs(), RandomPolicy()):
        found = simulate(RescueEnvironment(instance), Guarded(policy), runs=20)
        assert found.violations.sum() == 0


def test_a_safe_policy_is_left_as_it_is() -> None:
    for policy in (PickConfigs(guarded=True), CompetingOffers()):
        environment = RescueEnvironment(SMALL)
        plain, guarded = (
            simulate(environment, one, runs=50, compiled=False) for one in (policy, Guarded(policy))
        )
        np.testing.assert_array_equal(plain.reward, guarded.reward)
        assert exact_value(SMALL, Guarded(policy)) == pytest.approx(policy_value(SMALL, policy))


class Scripted:
    """Answer what is written, and note what is shown."""

    name = "scripted"

    def __init__(self, choose: Any) -> None:
        self.choose, self.seen, self.drawn = choose, [], []

    def start(self, instance: Any) -> int:
        return 0

    def decide(self, state: int, arrival: Any, rng: Any) -> Any:
        self.seen.append(arrival.idle.tolist())
        self.drawn.append(rng.random())
        return self.choose(arrival), state + 1

    def learn(self, state: int, arrival: Any, decision: Any, finished: Any) -> int:
        return state


def answered(choose: Any, safe: Any) -> tuple[Any, int, Scripted]:
    """The answer of a guarded policy where only some runs are safe."""
    policy = Scripted(choose)
    guarded = Guarded(policy)
    guard, own = guarded.start(SMALL)

    class Some(Guard):
        def safe(self, server: int, profile: int, slot: int, remaining: Any) -> bool:
            return (server, profile) in safe

    arrival = Arrival(0, 0, np.array([True, True]), SMALL.reserved.demand, 0.5)
    decision, (_, own) = guarded.decide((Some(*guard), own), arrival, np.random.default_rng(0))
    return decision, own, policy


def first_idle(arrival: Any) -> Any:
    free = np.flatnonzero(arrival.idle)
    return Placement(int(free[0]), 0) if free.size else None


def test_an_unsafe_run_gets_the_longest_safe_profile_or_the_next_server() -> None:
    longest = int(SMALL.longest.argmax())
    assert answered(first_idle, {(0, 0), (0, 1)})[0] == (0, 0)
    assert answered(first_idle, {(0, 1)})[0] == (0, 1)
    both = answered(lambda a: Placement(0, 0), {(0, 1), (1, 0)})[0]
    assert both == (0, 1)
    assert longest in (0, 1)
    decision, asked, policy = answered(first_idle, {(1, 1)})
    assert decision == (1, 1)
    assert policy.seen == [[True, True], [False, True]]
    # Asked again from the same state, with the same random numbers.
    assert asked == 1
    assert policy.drawn[0] == policy.drawn[1]
    decision, _, policy = answered(first_idle, set())
    assert decision is None
    assert policy.seen[-1] == [False, False]


def test_a_policy_that_does_not_look_is_declined() -> None:
    decision, _, policy = answered(lambda arrival: Placement(0, 0), set())
    assert decision is None
    assert len(policy.seen) == 2


@pytest.mark.parametrize("wrong", [Placement(7, 0), "x", 3, (0, 99)])
def test_a_decision_that_is_none_is_left_to_the_simulator(wrong: Any) -> None:
    with pytest.raises(PolicyError):
        simulate(RescueEnvironment(SMALL), Guarded(Scripted(lambda arrival: wrong)), runs=3)


def test_a_guarded_policy_passes_the_checks_of_policies_and_has_the_safe_bound() -> None:
    report = check_policy(Guarded(Price()), "rescue")
    assert "promises" in report.of("passed")
    study = edgeopt.study(generate(horizon=30, rng=0), [Price(), Guarded(Price())], runs=30)
    table = study.table.set_index("policy")
    own, safe = table.loc["asking"], table.loc["asking, guarded"]
    assert safe["violated"] == 0 < own["violated"]
    assert safe["bound"] == "safe"
    assert safe["value"] <= safe["bound_value"]


def test_what_a_policy_says_of_itself_is_handed_on() -> None:
    class Knows(Price):
        hindsight = True
        information = "durations"

    guarded = Guarded(Knows())
    assert (guarded.hindsight, guarded.information) == (True, "durations")
    assert not hasattr(Guarded(Price()), "hindsight")
    assert not hasattr(guarded, "compiled")
    assert pickle.loads(pickle.dumps(Guarded(Price()))) == Guarded(Price())
    with pytest.raises(PolicyError, match="is a class"):
        Guarded(Price)


def test_a_guard_does_not_help_beyond_the_plan() -> None:
    """It is worth no more than the bound for policies that let no reserved task fail."""
    bound = solve_p1_lp(SMALL, forbid_unsafe=True).bound
    for share in (0.0, 1.0):
        assert exact_value(SMALL, Guarded(replace(Price(), share=share))) <= bound * (1 + 1e-9)
