"""The environment in Gymnasium's and PettingZoo's terms."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import parallel_api_test

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.adapters import (
    TapFingerEnv,
    TapFingerParallelEnv,
    action_of,
    decision_of,
    features,
)
from edgeopt.online.tapfinger.adapters.encoding import idle
from tests.draws import draws
from tests.online.tapfinger.plain import PlainEnvironment
from tests.online.tapfinger.scenarios import Wild, named, plainly, two_clusters
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Decision, Round
    from edgeopt.online.tapfinger.adapters import Observation


def drawn(rng: np.random.Generator) -> TapFingerInstance:
    return two_clusters(arrival=np.sort(rng.integers(0, 6, 4)), noise=0.1)


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("truth", [two_clusters(noise=0.1), drawn])
def test_the_packages_find_no_fault(truth: Any, scored: bool) -> None:
    with warnings.catch_warnings():
        # Queues have no bound, and there is nothing to render.
        warnings.filterwarnings("ignore", message=".*(infinity|render modes)")
        check_env(TapFingerEnv(truth, scored=scored))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(TapFingerParallelEnv(truth, scored=scored), num_cycles=200)


# --- observations ------------------------------------------------------------------------------


def hold_to(instance: TapFingerInstance, seen: Round, observation: Observation) -> None:
    """Compare an observation with the round, entry by entry."""
    kinds = [[float(k == kind) for k in range(instance.task_kinds)] for kind in seen.tasks.kind]
    nodes: dict[int, int] = {}
    for n in range(instance.clusters):
        whole = [max(1, int(c)) for c in instance.capacity[n]]
        tasks = [int(j) for j in seen.pending[n] if j >= 0]
        behind = int(seen.waiting[n]) - len(tasks)
        free = [int(seen.free[n, r]) / whole[r] for r in (0, 1)]
        assert observation.cluster[n].tolist() == pytest.approx([*free, behind / 10])
        for place in range(instance.pending):
            row, node = observation.pending[n, place].tolist(), int(observation.node[n, place])
            if place >= len(tasks):
                assert (row, node) == ([0, 0, 1, *[0] * instance.task_kinds], -1)
                assert not observation.mask[n, place].any()
                continue
            least = instance.minimum[seen.tasks.kind[tasks[place]]].tolist()
            shares = [least[r] / whole[r] for r in (0, 1)]
            assert row == pytest.approx([*shares, 0, *kinds[tasks[place]]])
            assert nodes.setdefault(tasks[place], node) == node
            for cpu in range(instance.largest[0] + 1):
                for gpu in range(instance.largest[1] + 1):
                    fits = cpu <= seen.free[n, 0] and gpu <= seen.free[n, 1]
                    allowed = fits and cpu >= least[0] and gpu >= least[1]
                    assert observation.mask[n, place, cpu, gpu] == (allowed or cpu + gpu == 0)
        assert np.argwhere(observation.mask[n, -1]).tolist() == [[0, 0]]
        running = [i for i, where in enumerate(seen.running.cluster) if where == n]
        for place, row in enumerate(observation.running[n].tolist()):
            if place >= len(running):
                assert row == [0, 0, 1, *[0] * instance.task_kinds, 0]
                continue
            i = running[place]
            held = [int(seen.running.bundle[i, r]) / whole[r] for r in (0, 1)]
            service = (seen.slot - int(seen.running.start[i])) / 10
            assert row == pytest.approx([*held, 0, *kinds[seen.running.task[i]], service])
        assert len(running) <= observation.running.shape[1]
    assert sorted(nodes.values()) == list(range(len(nodes)))


@settings(max_examples=draws(30))
@given(tapfinger_instances(tasks=8, noise=None), st.integers(0, 999))
def test_arrays_say_what_a_round_says(instance: TapFingerInstance, seed: int) -> None:
    episode = TapFingerEnvironment(instance).episode(seed)
    policy, coins = Wild(preemption=False), np.random.default_rng(seed)
    while (seen := episode.observe()) is not None:
        observation = features(instance, seen)
        hold_to(instance, seen, observation)
        decision, _ = policy.decide(instance, seen, coins)
        action = action_of(seen, decision)
        assert observation.mask[np.arange(action.shape[0]), *action.T].all()
        again, refused = decision_of(seen, observation.mask, action, decision.score)
        assert not refused.any()
        assert again.task.tolist() == decision.task.tolist()
        assert again.bundle.tolist() == decision.bundle.tolist()
        episode.act(decision)


def test_an_action_that_is_not_allowed_does_nothing() -> None:
    truth = two_clusters(pending=3)
    episode = TapFingerEnvironment(truth).episode(0)
    seen = episode.observe()
    assert seen is not None
    mask = features(truth, seen).mask
    for action, task, bundle, refused in (
        ((1, 2, 0), 1, [2, 0], False),
        ((1, 1, 0), -1, [0, 0], True),  # less than the smallest bundle of task 1
        ((1, 0, 0), 1, [0, 0], False),  # names the task and gives it nothing
        ((2, 1, 1), -1, [0, 0], True),  # an empty place
        ((2, 0, 0), -1, [0, 0], True),
        ((3, 0, 0), -1, [0, 0], False),
        ((3, 1, 1), -1, [0, 0], True),
    ):
        decision, not_allowed = decision_of(seen, mask, [action, (3, 0, 0)])
        assert decision.task.tolist() == [task, -1]
        assert decision.bundle.tolist() == [bundle, [0, 0]]
        assert not_allowed.tolist() == [refused, False]
    # Cluster 1 has two CPU cores, so that three of them are an action there but none that fits.
    assert decision_of(seen, mask, [(3, 0, 0), (0, 3, 1)])[1].tolist() == [False, True]
    for outside in (4, 0, 0), (0, 4, 0), (0, 0, 3), (-1, 0, 0):
        with pytest.raises(OptionError, match="cluster 1: there is no action"):
            decision_of(seen, mask, [(3, 0, 0), outside])
    with pytest.raises(OptionError, match="shape"):
        decision_of(seen, mask, [3, 0, 0])


def test_what_no_action_stands_for_is_refused() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    seen = episode.observe()
    assert seen is not None
    with pytest.raises(OptionError, match="task 2 is not pending on cluster 0"):
        action_of(seen, named(2, {0: (2, (1, 1))}))
    with pytest.raises(OptionError, match="less than it needs"):
        action_of(seen, named(2, {0: (0, (1, 0))}, place=[True, False]))
    with pytest.raises(OptionError, match="changes a bundle"):
        action_of(seen, named(2, other={0: (1, 1)}))
    # Pausing tasks take no room, so that there may be more of them than rows.
    truth = two_clusters(arrival=[0] * 9, kind=[0] * 9, eligible=[[1, 0]] * 9)
    episode = TapFingerEnvironment(truth).episode(0)
    for task in range(9):
        episode.act(named(2, {0: (task, (0, 0))}, place=[True, False]))
    seen = episode.observe()
    assert seen is not None
    with pytest.raises(OptionError, match="paused"):
        features(truth, seen)


# --- whole runs --------------------------------------------------------------------------------


@dataclass
class Record:
    """What a learner has seen of a run: a reward per cluster, or one for all, after each round."""

    decisions: list[Decision]
    rewards: list[list[float]]
    elapsed: list[bool]
    terminated: bool
    truncated: bool


def ran(env: Any, seed: int) -> Record:
    """Step through a run with random actions and scores."""
    many = isinstance(env, TapFingerParallelEnv)
    env.reset(seed=seed)
    policy, coins = Wild(preemption=False), np.random.default_rng(seed)
    record = Record([], [], [], False, False)
    while not (record.terminated or record.truncated):
        seen = env.session.seen
        decision, _ = policy.decide(env.session.instance, seen, coins)
        score = np.ones(decision.task.size) if decision.score is None else decision.score
        action: Any = {"choice": action_of(seen, decision), "score": score}
        if many:
            parts = zip(env.agents, action["choice"], score, strict=True)
            action = {agent: {"choice": mine, "score": want} for agent, mine, want in parts}
        _, reward, over, stopped, info = env.step(action)
        if many:
            first = env.possible_agents[0]
            assert [len(set(each.values())) for each in (over, stopped)] == [1, 1]
            over, stopped, info = over[first], stopped[first], info[first]
        record.decisions.append(decision)
        record.rewards.append(list(reward.values()) if many else [reward])
        record.elapsed.append(info["elapsed"])
        record.terminated, record.truncated = over, stopped
    return record


ENVIRONMENTS = st.sampled_from([TapFingerEnv, TapFingerParallelEnv])


@settings(max_examples=draws(20))
@given(tapfinger_instances(tasks=6, noise=None), ENVIRONMENTS, st.integers(0, 999))
def test_steps_make_the_run_that_decisions_make(
    instance: TapFingerInstance, kind: Any, seed: int
) -> None:
    env = kind(instance, scored=True, conflict="ratio", pass_on=True, refill="round")
    record = ran(env, seed)
    environment = TapFingerEnvironment(instance, conflict="ratio", pass_on=True, refill="round")
    episode = environment.episode(int(environment.scenarios(np.random.default_rng(seed), 1)[0]))
    for decision in record.decisions:
        episode.act(decision)
    assert episode.observe() is None
    one, two = (
        environment.trajectory("wild", [each], seconds=0.0)
        for each in (env.session.episode, episode)
    )
    for name in ("reward", "completion", "start", "cluster", "used", "decisions", "lost", "end"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@settings(max_examples=draws(20))
@given(
    tapfinger_instances(tasks=6, noise=None),
    ENVIRONMENTS,
    st.sampled_from(["shared", "local"]),
    st.sampled_from([1000, 2]),
    st.integers(0, 999),
)
def test_a_slot_costs_what_is_in_the_system_or_around_a_cluster(
    instance: TapFingerInstance, kind: Any, reward: str, patience: int, seed: int
) -> None:
    env = kind(instance, scored=True, reward=reward, patience=patience)
    record = ran(env, seed)
    noise = env.session.episode.batch.state.noise[0]
    plain = PlainEnvironment(
        instance,
        patience=patience,
        noise=lambda task, i: instance.noise * noise[task, i] if instance.noise else 0.0,
    )
    for decision, elapsed in zip(record.decisions, record.elapsed, strict=True):
        assert plain.act(*plainly(decision))[1] == elapsed
    assert plain.over
    assert record.terminated == (len(plain.completion) == instance.tasks)
    asked = [t for t, rounds in enumerate(plain.rounds) if rounds]
    if reward == "shared":
        width = len(record.rewards[0])
        expected = [[-plain.accumulation[t]] * width for t in asked]
    elif kind is TapFingerEnv:
        expected = [[-sum(plain.local[t])] for t in asked]
    else:
        expected = [[-count for count in plain.local[t]] for t in asked]
    pairs = list(zip(record.rewards, record.elapsed, strict=True))
    assert [earned for earned, elapsed in pairs if elapsed] == expected
    assert not any(any(earned) for earned, elapsed in pairs if not elapsed)
    if reward == "shared" and record.terminated:
        flow = [plain.completion[j] - plain.arrival[j] for j in range(instance.tasks)]
        assert sum(earned[0] for earned in record.rewards) == -sum(flow)


def test_what_is_seen_after_a_step() -> None:
    env = TapFingerEnv(two_clusters(pending=3))
    first, info = env.reset()
    assert first["cluster"].tolist() == [[1, 1, 0], [1, 1, 0]]
    assert (info["slot"], info["round"], info["elapsed"]) == (0, 0, False)
    second, reward, terminated, truncated, info = env.step([(0, 2, 1), (1, 1, 0)])
    assert second["cluster"].tolist() == [[0.5, 0.5, 0], [1, 1, 0]]
    assert first["cluster"].tolist() == [[1, 1, 0], [1, 1, 0]]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["slot"], info["round"], info["elapsed"]) == (0, 1, False)
    assert info["started"].tolist() == [0, -1]
    assert info["refused"].tolist() == [False, True]
    third, reward, *_, info = env.step([(3, 0, 0), (3, 0, 0)])
    assert (reward, info["slot"], info["round"], info["elapsed"]) == (-3.0, 1, 0, True)
    assert third["running"][0, 0].tolist() == pytest.approx([0.5, 0.5, 0, 1, 0, 0.1])

    many = TapFingerParallelEnv(two_clusters(pending=3, names=("a", "b")))
    assert many.agents == []
    seen, infos = many.reset()
    assert many.agents == many.possible_agents == ["a", "b"]
    for name, rows in first.items():
        assert np.array_equal(seen["b"][name], rows[1]), name
    assert infos["a"] == {
        "slot": 0, "round": 0, "elapsed": False, "started": -1, "refused": False,
    }  # fmt: skip
    *_, infos = many.step({"b": (1, 1, 1)})
    assert (infos["a"]["started"], infos["b"]["started"]) == (-1, 2)
    with pytest.raises(OptionError, match="no agent 'c'"):
        many.step({"c": (0, 0, 0)})


def test_a_run_that_is_over_shows_nothing_and_one_that_was_stopped_stands_still() -> None:
    truth = two_clusters(arrival=[0], kind=[0], eligible=[[1, 0]])
    env = TapFingerEnv(truth, patience=3)
    empty, _ = env.reset()
    with pytest.raises(OptionError, match="shape"):
        env.step((0, 0, 0))
    env.step([(0, 3, 2), (10, 0, 0)])
    env.step([(10, 0, 0)] * 2)
    last, reward, terminated, truncated, info = env.step([(10, 0, 0)] * 2)
    assert (reward, terminated, truncated, info["slot"]) == (-1.0, True, False, 1)
    assert last["pending"][0, 0].tolist() == [0, 0, 1, 0, 0]
    assert empty["pending"][0, 0, 2] == 0.0
    for name in ("cluster", "running"):
        assert np.array_equal(last[name], empty[name])
    assert last["mask"].sum() == 2
    with pytest.raises(OptionError, match="reset"):
        env.step([(10, 0, 0)] * 2)
    env.reset()
    for _ in range(3):
        last, _, terminated, truncated, _ = env.step([(10, 0, 0)] * 2)
    assert (terminated, truncated) == (False, True)
    for name, rows in last.items():
        assert np.array_equal(rows, empty[name]), name


def test_seeds_draw_instances_and_scenarios() -> None:
    env = TapFingerParallelEnv(drawn)
    arrivals = []
    for seed in (1, 2, 1, None):
        env.reset(seed=seed)
        arrivals.append(env.session.environment.truth.arrival.tolist())
    assert arrivals[0] == arrivals[2]
    assert arrivals[0] != arrivals[1]
    assert arrivals[3] != arrivals[2]

    sizes = iter([3, 3, 2])
    env = TapFingerParallelEnv(lambda rng: two_clusters(pending=next(sizes)))
    env.reset()
    with pytest.raises(OptionError, match="pending: must be the same"):
        env.reset()


def test_wrong_use_is_refused() -> None:
    for kind in (TapFingerEnv, TapFingerParallelEnv):
        with pytest.raises(OptionError, match="reward = 'mine'"):
            kind(two_clusters(), reward="mine")
        with pytest.raises(OptionError, match="conflict"):
            kind(two_clusters(), conflict="coin")
        env: Any = kind(two_clusters())
        with pytest.raises(OptionError, match="reset"):
            env.step({} if kind is TapFingerParallelEnv else [(10, 0, 0)] * 2)
        with pytest.raises(OptionError, match="reset"):
            _ = env.session.episode


def test_packages_are_imported_only_when_used_and_missed_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = (
        "import sys, edgeopt.online.tapfinger.adapters\n"
        "print(*{'gymnasium', 'pettingzoo'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    adapters = "edgeopt.online.tapfinger.adapters"
    for package, module, name in (
        ("gymnasium", "gymnasium_env", "TapFingerEnv"),
        ("pettingzoo", "pettingzoo_env", "TapFingerParallelEnv"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, f"{adapters}.{module}")
        with pytest.raises(MissingDependencyError, match=rf"{package}.*edgeopt\[gym\]"):
            getattr(importlib.import_module(adapters), name)
    with pytest.raises(AttributeError, match="no attribute 'Env'"):
        _ = importlib.import_module(adapters).Env


def test_where_there_is_no_task_the_only_action_is_to_do_nothing() -> None:
    truth = two_clusters(pending=3)
    mask = idle(truth).mask
    assert np.argwhere(mask).tolist() == [[0, 3, 0, 0], [1, 3, 0, 0]]
