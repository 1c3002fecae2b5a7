"""The loop on a system of its own: requests in batches, several decisions in a slot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import edgeopt
from edgeopt.errors import OptionError
from edgeopt.online import Trajectory, simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOTS, OFFERS = 5, 3


class Market:
    """In every slot several prices come one after the other; who buys learns the quality."""

    def __init__(self, scenario: np.ndarray) -> None:
        self.scenario = scenario
        self.step = 0
        self.reward = np.zeros(SLOTS)
        self.offered = np.zeros(SLOTS, dtype=np.int64)

    def observe(self) -> float | None:
        if self.step == SLOTS * OFFERS:
            return None
        return float(self.scenario[divmod(self.step, OFFERS)][0])

    def act(self, decision: bool) -> float | None:
        slot, offer = divmod(self.step, OFFERS)
        price, quality = self.scenario[slot, offer]
        self.step += 1
        self.offered[slot] += 1
        if not decision:
            return None
        self.reward[slot] += quality - price
        return float(quality)


@dataclass(frozen=True)
class Markets:
    instance: str = "known to everybody"

    def scenarios(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        return rng.random((runs, SLOTS, OFFERS, 2))

    def episode(self, scenario: np.ndarray, *, keep_trace: bool = False) -> Market:
        return Market(scenario)

    def trajectory(
        self, name: str, episodes: Sequence[Market], *, seconds: float, keep_trace: bool = False
    ) -> Trajectory:
        reward = np.array([episode.reward for episode in episodes])
        offered = np.array([episode.offered for episode in episodes])
        return Trajectory(name, reward, np.zeros_like(offered), offered, seconds, compiled=False)


@dataclass(frozen=True)
class Memory:
    bought: int = 0
    quality: float = 0.0


@dataclass(frozen=True)
class Learner:
    """Buys below the mean quality seen so far, and now and then to learn."""

    curiosity: float = 0.3
    name: str = "learner"

    def start(self, instance: str) -> Memory:
        assert instance == "known to everybody"
        return Memory()

    def decide(
        self, state: Memory, observation: float, rng: np.random.Generator
    ) -> tuple[bool, Memory]:
        mean = state.quality / state.bought if state.bought else 0.0
        return observation < mean or rng.random() < self.curiosity, state

    def learn(
        self, state: Memory, observation: float, decision: bool, feedback: float | None
    ) -> Memory:
        assert decision == (feedback is not None)
        if feedback is None:
            return state
        return replace(state, bought=state.bought + 1, quality=state.quality + feedback)


@dataclass(frozen=True)
class Always:
    name: str = "always"

    def start(self, instance: str) -> None:
        return None

    def decide(self, state: None, observation: float, rng: Any) -> tuple[bool, None]:
        return True, None

    def learn(self, state: None, observation: float, decision: bool, feedback: Any) -> None:
        return None


def test_several_decisions_share_a_slot() -> None:
    trajectory = simulate(Markets(), Learner(), rng=3, runs=7)
    assert (trajectory.runs, trajectory.horizon) == (7, SLOTS)
    assert (trajectory.decisions == OFFERS).all()
    assert trajectory.seconds > 0
    assert trajectory.seconds_per_decision == trajectory.seconds / (7 * SLOTS * OFFERS)
    assert trajectory.total == pytest.approx(trajectory.reward.sum(axis=1))


def test_same_seed_same_trajectory_and_another_seed_another() -> None:
    one, two, other = (simulate(Markets(), Learner(), rng=rng, runs=4) for rng in (0, 0, 1))
    assert np.array_equal(one.reward, two.reward)
    assert not np.array_equal(one.reward, other.reward)


def test_every_policy_sees_the_same_scenarios() -> None:
    """The coins that a policy throws do not shift the scenarios, nor does the number of runs."""
    scenarios = np.random.default_rng(5).spawn(2)[0].random((6, SLOTS, OFFERS, 2))
    everything = (scenarios[..., 1] - scenarios[..., 0]).sum(axis=2)
    for curiosity in (1.0, 1.5):
        bought = simulate(Markets(), Learner(curiosity), rng=5, runs=6).reward
        assert bought == pytest.approx(everything)
    assert simulate(Markets(), Always(), rng=5, runs=2).reward == pytest.approx(everything[:2])


def test_every_run_begins_without_memory() -> None:
    calls: list[Memory] = []

    class Watched(Learner):
        def decide(self, state: Memory, observation: float, rng: Any) -> tuple[bool, Memory]:
            calls.append(state)
            return super().decide(state, observation, rng)

    simulate(Markets(), Watched(), rng=8, runs=3)
    assert calls[:: SLOTS * OFFERS] == [Memory()] * 3
    assert any(state.bought for state in calls)


def test_coins_of_a_run_do_not_depend_on_the_runs_before() -> None:
    def thrown(greedy_run: int) -> list[list[float]]:
        coins: list[list[float]] = [[] for _ in range(3)]
        asked = 0

        class Thrower(Always):
            def decide(self, state: None, observation: float, rng: Any) -> tuple[bool, None]:
                nonlocal asked
                run, asked = asked // (SLOTS * OFFERS), asked + 1
                coins[run].extend(rng.random(2 if run == greedy_run else 1).tolist())
                return True, None

        simulate(Markets(), Thrower(), rng=8, runs=3)
        return coins

    calm, greedy = thrown(greedy_run=9), thrown(greedy_run=0)
    assert calm[1:] == greedy[1:]
    assert len({coin for run in calm for coin in run}) == 3 * SLOTS * OFFERS


def test_a_generator_moves_on() -> None:
    generator = np.random.default_rng(0)
    one, two = (simulate(Markets(), Always(), rng=generator, runs=2).reward for _ in range(2))
    assert np.array_equal(one, simulate(Markets(), Always(), rng=0, runs=2).reward)
    assert not np.array_equal(one, two)


def test_stepping_by_hand_on_live_events() -> None:
    policy, rng = Learner(curiosity=0.0), np.random.default_rng(0)
    state = policy.start("known to everybody")
    state = policy.learn(state, 0.0, True, 0.5)
    before = state
    bought = []
    for price in (0.4, 0.6, 0.45):
        decision, state = policy.decide(state, price, rng)
        bought.append(decision)
        state = policy.learn(state, price, decision, 0.3 if decision else None)
    assert bought == [True, False, False]
    assert before == Memory(1, 0.5)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_kernel_runs_where_there_is_one(compiled: bool) -> None:
    class Kernelled(Always):
        fits = True

        def compiled(self, environment: Markets, state: None) -> Any:
            def kernel(scenarios: np.ndarray, rng: Any, *, keep_trace: bool = False) -> Trajectory:
                assert keep_trace
                reward = (scenarios[..., 1] - scenarios[..., 0]).sum(axis=2)
                asked = np.full(reward.shape, OFFERS)
                return Trajectory("kernel", reward, asked * 0, asked, 0.0, compiled=True)

            return kernel if self.fits else None

    class Unfit(Kernelled):
        fits = False

    plain = simulate(Markets(), Always(), rng=2, runs=3, keep_trace=True)
    fast = simulate(Markets(), Kernelled(), rng=2, runs=3, keep_trace=True, compiled=compiled)
    assert fast.compiled == compiled
    assert fast.reward == pytest.approx(plain.reward)
    assert not simulate(Markets(), Unfit(), rng=2, runs=3, keep_trace=True).compiled


def test_no_run_is_no_simulation() -> None:
    with pytest.raises(OptionError, match="runs = 0"):
        simulate(Markets(), Always(), runs=0)


def test_a_scenario_without_decisions_has_no_time_per_decision() -> None:
    nothing = np.zeros((1, 1))
    trajectory = Trajectory("idle", nothing, nothing, nothing, 0.0, compiled=False)
    assert np.isnan(trajectory.seconds_per_decision)


def test_shortest_name() -> None:
    assert edgeopt.simulate is simulate
