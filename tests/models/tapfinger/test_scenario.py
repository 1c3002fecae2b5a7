"""Scenarios: realised durations are those of runs, and their bounds are below every run of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims.instances import noisy_instance
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import simulate
from edgeopt.errors import InputError, OptionError
from edgeopt.instances.tapfinger import generate, scenario_durations
from edgeopt.instances.tapfinger.durations import BLOCK, shortest_durations
from edgeopt.models.tapfinger import (
    best_list,
    flow_bound,
    optimal_schedule,
    pooled_bound,
    scenario_bound,
    scenario_problem,
    scheduling_problem,
    verify,
    volume_bound,
)
from edgeopt.models.tapfinger import lagrangian as pooled_module
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.models.tapfinger.column_generation import menus
from edgeopt.models.tapfinger.scenario_bound import scenario_menus
from edgeopt.online.tapfinger import (
    Decision,
    Min,
    OptimusContainers,
    PricedSpt,
    RandomAllocation,
    ReservationSpt,
    TapFingerEnvironment,
    TiresiasContainers,
)
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws, every
from tests.oracles.tapfinger.plans import best_plans

STEADY = (
    Min(), RandomAllocation(), PricedSpt(), ReservationSpt(),
    OptimusContainers(), TiresiasContainers(),
)  # fmt: skip
SCENARIOS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize("refill", ["slot", "round"])
@pytest.mark.parametrize("policy", every(3, STEADY), ids=lambda policy: policy.name)
@given(instance=tapfinger_instances(noise=True), seed=st.integers(0, 10**6))
@settings(max_examples=draws(15))
def test_runs_take_the_durations_of_their_scenario(refill, policy, instance, seed):
    environment = TapFingerEnvironment(instance, refill=refill)
    run = simulate(environment, policy, rng=seed, runs=1, keep_trace=True)
    [scenario] = run.scenarios.tolist()
    duration = scenario_durations(instance, scenario)
    assert not run.preemptions.any()
    for j, n, (cpu, gpu), begin, end in zip(*run.held, strict=True):
        if run.complete[0, j]:
            assert end - begin == duration[n, j, cpu, gpu]
            assert (begin, end) == (run.start[0, j], run.completion[0, j])


def test_slow_tasks_need_more_than_one_block_of_noise():
    instance = generate(tasks=6, clusters=1, single_start=True)
    slow = instance.replace(speed=instance.speed / 50, noise=0.002)
    assert scenario_durations(slow, 5)[0, :, 2, 1].min() > 2 * BLOCK
    run = simulate(TapFingerEnvironment(slow), Min(), runs=1)
    durations = scenario_durations(slow, int(run.scenarios[0]))
    assert (run.completion[0] - run.start[0]).tolist() == durations[0, :, 2, 1].tolist()


def test_tasks_are_complete_a_rounding_below_one():
    instance = generate(tasks=40, single_start=True)
    quiet = instance.replace(noise=1e-12)
    assert (scenario_durations(quiet, 3) == instance.duration[:, instance.kind]).all()


@dataclass(frozen=True)
class Follow:
    """Start every task where, when and with what a plan says."""

    plan: object
    name: str = "Follow"

    def start(self, instance):
        return None

    def learn(self, state, observation, decision, feedback):
        return state

    def decide(self, state, seen, rng):
        decision = Decision.void(seen.free.shape[0])
        due = (self.plan.start[: seen.tasks.waits.size] == seen.slot) & seen.tasks.waits
        for j in np.flatnonzero(due).tolist():
            n = self.plan.cluster[j]
            if decision.task[n] < 0:
                decision.task[n], decision.bundle[n] = j, self.plan.bundle[j]
        return decision, state


class At(TapFingerEnvironment):
    """Only one scenario."""

    def scenarios(self, rng, runs):
        return np.full(runs, 77)


@pytest.mark.parametrize("seed", every(3, range(8)))
def test_best_plan_of_a_scenario_is_a_run_of_it(seed):
    instance = noisy_instance(seed).replace(switching=0.5)
    few = slice(0, 3)
    instance = instance.replace(
        arrival=instance.arrival[few], kind=instance.kind[few], eligible=instance.eligible[few],
        weight=np.arange(1.0, 4.0)[: instance.tasks],
    )  # fmt: skip
    problem = scenario_problem(instance, 77)
    least, _ = best_plans(problem)
    best = optimal_schedule(problem)
    assert best.objective == pytest.approx(least)
    run = simulate(At(instance), Follow(best.schedule), runs=1)
    assert run.weighted_flow_time() == [pytest.approx(least)]
    bound = scenario_bound(instance, [77])
    assert bound.any_noise.value * (1 - 1e-9) <= bound.value <= least * (1 + 1e-9)
    verify(problem, best_list(problem, tries=50))


@given(instance=tapfinger_instances(noise=False), scenario=SCENARIOS)
@settings(max_examples=draws(20))
def test_without_noise_all_is_as_before(instance, scenario):
    assert (scenario_durations(instance, scenario) == instance.duration[:, instance.kind]).all()
    same, problem = scenario_problem(instance, scenario), scheduling_problem(instance)
    assert (same.duration == problem.duration).all()
    assert scenario_bound(instance, [scenario]).values.tolist() == [flow_bound(instance).value]


@given(instance=tapfinger_instances(noise=True), scenario=SCENARIOS)
@settings(max_examples=draws(200))
def test_a_scenario_is_never_easier_than_any_noise(instance, scenario):
    problem = scenario_problem(instance, scenario)
    least = scheduling_problem(instance, duration=shortest_durations(instance))
    apart = np.arange(problem.clusters)
    fits = least.duration[:, least.kind] > 0
    assert ((problem.duration > 0) == fits).all()
    assert (problem.duration >= least.duration[:, least.kind]).all()
    for bound in (trivial_bound, volume_bound, lambda tasks: pooled_bound(tasks, apart).value):
        assert bound(problem) >= bound(least) * (1.0 - 2e-4)


@given(instance=tapfinger_instances(noise=True), scenario=SCENARIOS)
@settings(max_examples=draws(40))
def test_menus_without_a_table_are_those_of_the_table(instance, scenario):
    problem = scenario_problem(instance, scenario)
    for pool in (np.arange(problem.clusters), np.zeros(problem.clusters, dtype=np.int64)):
        offers = []
        for menu in (menus(problem, pool), scenario_menus(instance, scenario, pool)):
            entry = np.column_stack([menu.pool, menu.bundle, menu.duration]).tolist()
            of = [sorted(entry[a:b]) for a, b in zip(menu.first, menu.first[1:], strict=False)]
            offers.append([of[p] for p in menu.profile])
        assert offers[0] == offers[1]
    for method in ("trivial", "volume", "pooled"):
        found = scenario_bound(instance, [scenario], method=method)
        same = {"trivial": trivial_bound, "volume": volume_bound}.get(method)
        value = pooled_bound(problem, gap=1e-3).value if same is None else same(problem)
        assert found.value == pytest.approx(max(value, found.any_noise.value), rel=2e-3)


@pytest.mark.parametrize("rate", every(2, [2.0, 4.0]))
def test_prices_without_a_program_are_nearly_as_good(monkeypatch, rate):
    instance = generate(tasks=60, rate=rate, single_start=True, rng=4)
    problem = scenario_problem(instance, 3)
    best = pooled_bound(problem).value
    monkeypatch.setattr(pooled_module, "MANY", 5)
    found = pooled_bound(problem)
    assert trivial_bound(problem) < found.value <= best * (1 + 1e-4)
    assert found.value > (0.98 if rate == 2.0 else 0.93) * best
    assert found.gap == np.inf


def test_bounds_of_scenarios_are_told_apart():
    instance = generate(tasks=24, single_start=True)
    bound = scenario_bound(instance, [4, 9, 4])
    assert bound.values[0] == bound.values[2] != bound.values[1]
    assert bound.value == pytest.approx(bound.values.mean())
    assert (bound.values >= bound.any_noise.value).all()
    assert len(set(bound.fingerprints)) == 2
    assert bound.of(instance, np.array([9])).tolist() == [bound.values[1]]
    with pytest.raises(OptionError, match="other scenarios"):
        bound.of(instance, np.array([4, 5]))
    with pytest.raises(OptionError, match="another instance"):
        bound.of(instance.replace(noise=0.2), np.array([4]))
    for wrong in ([], [-1], [0.5], 3):
        with pytest.raises(InputError, match="scenarios"):
            scenario_bound(instance, wrong)
    with pytest.raises(OptionError, match="scenario = -1"):
        scenario_durations(instance, -1)
    with pytest.raises(OptionError, match="method = 'guess'"):
        scenario_bound(instance, [1], method="guess")


def test_no_tasks():
    nothing = generate(tasks=1, noise=0.1).replace(
        arrival=np.zeros(0), kind=np.zeros(0), eligible=np.zeros((0, 3)), weight=np.zeros(0)
    )
    assert scenario_bound(nothing, [1]).value == 0.0
    assert scenario_durations(nothing, 1).shape == (3, 0, 17, 17)
    assert scenario_problem(nothing, 1).tasks == 0
