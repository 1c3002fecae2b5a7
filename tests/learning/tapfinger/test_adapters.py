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
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import parallel_api_test

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.learning.tapfinger.adapters import (
    Observation,
    TapFingerEnv,
    TapFingerParallelEnv,
    TapFingerVectorEnv,
    action_of,
    decision_of,
    features,
)
from edgeopt.learning.tapfinger.adapters.encoding import most_running
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws, every
from tests.tapfinger.plain import PlainEnvironment
from tests.tapfinger.scenarios import Wild, named, plainly, two_clusters

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Decision, Round


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


def rows_of(instance: TapFingerInstance, seen: Round) -> Observation:
    """Write a round as an observation in plain Python, entry by entry."""
    N, P, K, M = instance.clusters, instance.pending, instance.task_kinds, most_running(instance)
    cpus, gpus = (largest + 1 for largest in instance.largest)
    empty = [0.0, 0.0, 1.0, *[0.0] * K]
    parts: list[list[Any]] = [[] for _ in Observation._fields]
    first: dict[int, int] = {}

    def filled(n: int, bundle: Any, task: int, *more: float) -> list[float]:
        whole = [max(1, int(amount)) for amount in instance.capacity[n]]
        one_hot = [float(k == seen.tasks.kind[task]) for k in range(K)]
        return [*(int(bundle[r]) / whole[r] for r in (0, 1)), 0.0, *one_hot, *more]

    for n in range(N):
        tasks = [int(j) for j in seen.pending[n] if j >= 0]
        free = filled(n, seen.free[n], 0)[:2]
        behind = int(seen.waiting[n]) - len(tasks)
        pending, node, startable, mask = [], [], [], []
        for i in range(P):
            fits = [[False] * gpus for _ in range(cpus)]
            if i >= len(tasks):
                pending.append([*empty, 0.0, 0.0])
                node.append(n * P + i)
            else:
                j = tasks[i]
                least = instance.minimum[seen.tasks.kind[j]].tolist()
                waited = (seen.slot - int(seen.tasks.arrival[j])) / 10
                choice = 1 / sum(seen.tasks.eligible[j].tolist())
                pending.append(filled(n, least, j, waited, choice))
                node.append(first.setdefault(j, n * P + i))
                for x in range(least[0], min(seen.free[n, 0] + 1, cpus)):
                    for y in range(least[1], min(seen.free[n, 1] + 1, gpus)):
                        fits[x][y] = True
            startable.append(any(map(any, fits)))
            fits[0][0] = i < len(tasks)
            mask.append(fits)
        mask.append([[x + y == 0 for y in range(gpus)] for x in range(cpus)])
        running = [
            filled(n, seen.running.bundle[i], int(j), (seen.slot - int(seen.running.start[i])) / 10)
            for i, j in enumerate(seen.running.task)
            if seen.running.cluster[i] == n
        ]
        running += [[*empty, 0.0]] * (M - len(running))
        counts = [behind / 10, len(tasks) / 10]
        for part, row in zip(
            parts, ([*free, *counts], pending, running, node, startable, mask), strict=True
        ):
            part.append(row)
    kinds = (np.float32,) * 3 + (np.int64, np.bool_, np.bool_)
    return Observation(*map(np.array, parts, kinds))


def hold_to(instance: TapFingerInstance, seen: Round, observation: Observation) -> None:
    """Compare an observation with the round, bit for bit."""
    for name, one, two in zip(
        Observation._fields, observation, rows_of(instance, seen), strict=True
    ):
        assert one.dtype == two.dtype, name
        assert np.array_equal(one, two), name


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
        record.elapsed.append(info["passed"] > 0)
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
    pair = float(np.float32(0.2))  # tasks in a pending set, in tens
    assert first["cluster"].tolist() == [[1, 1, 0, pair]] * 2
    assert (info["slot"], info["round"], info["passed"]) == (0, 0, 0)
    second, reward, terminated, truncated, info = env.step([(0, 2, 1), (1, 1, 0)])
    assert second["cluster"][:, :3].tolist() == [[0.5, 0.5, 0], [1, 1, 0]]
    assert first["cluster"].tolist() == [[1, 1, 0, pair]] * 2
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert (info["slot"], info["round"], info["passed"]) == (0, 1, 0)
    assert info["started"].tolist() == [0, -1]
    assert info["stood"].tolist() == [True, False]
    assert info["refused"].tolist() == [False, True]
    third, reward, *_, info = env.step([(3, 0, 0), (3, 0, 0)])
    assert (reward, info["slot"], info["round"], info["passed"]) == (-3.0, 1, 0, 1)
    assert third["running"][0, 0].tolist() == pytest.approx([0.5, 0.5, 0, 1, 0, 0.1])

    many = TapFingerParallelEnv(two_clusters(pending=3, names=("a", "b")))
    assert many.agents == []
    seen, infos = many.reset()
    assert many.agents == many.possible_agents == ["a", "b"]
    for name, rows in first.items():
        assert np.array_equal(seen["b"][name], rows[1]), name
    assert infos["a"] == {
        "slot": 0, "round": 0, "passed": 0, "started": -1, "stood": False, "refused": False,
    }  # fmt: skip
    *_, infos = many.step({"b": (1, 1, 1)})
    assert (infos["a"]["started"], infos["b"]["started"]) == (-1, 2)
    with pytest.raises(OptionError, match="no agent 'c'"):
        many.step({"c": (0, 0, 0)})


def test_a_run_that_is_over_shows_where_it_has_ended() -> None:
    truth = two_clusters(arrival=[0], kind=[0], eligible=[[1, 0]])
    env = TapFingerEnv(truth, patience=3)
    begun, _ = env.reset()
    with pytest.raises(OptionError, match="shape"):
        env.step((0, 0, 0))
    env.step([(0, 3, 2), (10, 0, 0)])
    env.step([(10, 0, 0)] * 2)
    last, reward, terminated, truncated, info = env.step([(10, 0, 0)] * 2)
    assert (reward, terminated, truncated, info["slot"]) == (-1.0, True, False, 2)
    assert last["pending"][0, 0].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert last["cluster"].tolist() == [[1, 1, 0, 0]] * 2
    assert np.array_equal(last["running"], begun["running"])
    assert np.argwhere(last["mask"]).tolist() == [[0, 10, 0, 0], [1, 10, 0, 0]]
    with pytest.raises(OptionError, match="reset"):
        env.step([(10, 0, 0)] * 2)
    env.reset()
    for _ in range(3):
        last, _, terminated, truncated, _ = env.step([(10, 0, 0)] * 2)
    assert (terminated, truncated) == (False, True)
    assert last["pending"][0, 0, -2] == np.float32(0.3)  # three slots in vain
    begun["pending"][0, 0, -2] = np.float32(0.3)
    for name, rows in last.items():
        assert np.array_equal(rows, begun[name]), name


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
        "import sys, edgeopt.learning.tapfinger.adapters\n"
        "print(*{'gymnasium', 'pettingzoo'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    adapters = "edgeopt.learning.tapfinger.adapters"
    for package, module, name in (
        ("gymnasium", "gymnasium_env", "TapFingerEnv"),
        ("gymnasium", "gymnasium_env", "TapFingerVectorEnv"),
        ("pettingzoo", "pettingzoo_env", "TapFingerParallelEnv"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, f"{adapters}.{module}", raising=False)
        with pytest.raises(MissingDependencyError, match=rf"{package}.*edgeopt\[gym\]"):
            getattr(importlib.import_module(adapters), name)
    with pytest.raises(AttributeError, match="no attribute 'Env'"):
        _ = importlib.import_module(adapters).Env


# --- side by side ------------------------------------------------------------------------------


def varied(rng: np.random.Generator) -> TapFingerInstance:
    """Draw between one and eight tasks, and the speeds."""
    tasks = int(rng.integers(1, 9))
    return two_clusters(
        arrival=np.sort(rng.integers(0, 6, tasks)),
        kind=rng.integers(0, 2, tasks),
        eligible=[[1, 1]] * tasks,
        speed=two_clusters().speed * rng.uniform(0.5, 1.0),
        noise=0.1,
        pending=3,
        single_start=bool(rng.integers(2)),
    )


@pytest.mark.parametrize("reward", every(2, ["shared", "local"]))
def test_scenarios_side_by_side_are_those_of_separate_environments(reward: Any) -> None:
    options: dict[str, Any] = {"reward": reward, "refill": "round", "patience": 1, "scored": True}
    ours = TapFingerVectorEnv(varied, 4, **options)
    theirs = SyncVectorEnv(
        [lambda: TapFingerEnv(varied, **options)] * 4, autoreset_mode=AutoresetMode.SAME_STEP
    )
    assert ours.single_observation_space == theirs.single_observation_space
    coins, steps, ends = np.random.default_rng(0), 150, np.zeros(2, dtype=int)
    one, two = ours.reset(seed=7), theirs.reset(seed=7)
    same_tree(one, two)
    for _ in range(steps):
        actions = drawn_actions(one[0], coins)
        one, two = ours.step(actions), theirs.step(actions)
        same_tree(one, two)
        ends += one[2].sum(), one[3].sum()
    assert ends.min() >= 3  # both kinds of end
    ours.reset(seed=[1, 2, 3, None])


def drawn_actions(observation: Any, coins: np.random.Generator) -> dict[str, Any]:
    """Draw an action for every cluster of every scenario, mostly one that is allowed."""
    masks = observation["mask"]
    choice = np.empty((*masks.shape[:2], 3), dtype=np.int64)
    for at in np.ndindex(masks.shape[:2]):
        allowed = np.argwhere(masks[at] if coins.random() < 0.9 else masks[at] >= 0)
        choice[at] = allowed[coins.integers(len(allowed))]
    return {"choice": choice, "score": coins.random(masks.shape[:2])}


def same_tree(one: Any, two: Any) -> None:
    """Compare arrays in mappings and sequences, bit for bit."""
    if isinstance(two, dict):
        for name in two:
            same_tree(one[name], two[name])
    elif isinstance(two, tuple) or (isinstance(two, np.ndarray) and two.dtype.kind == "O"):
        for left, right in zip(one, two, strict=True):
            same_tree(left, right)
    else:
        assert np.array_equal(one, two)


def test_an_observation_that_is_not_copied_is_overwritten() -> None:
    for copy in (True, False):
        env = TapFingerVectorEnv(two_clusters(), 2, copy=copy)
        first, _ = env.reset(seed=0)
        env.step([[(0, 2, 1), (10, 0, 0)]] * 2)
        assert (first["cluster"][0, 0, 0] == 1.0) == copy


def test_what_was_named_stands_or_is_lost_to_another_cluster() -> None:
    for pass_on, stood in (False, [False, True]), (True, [True, False]):
        env = TapFingerVectorEnv(two_clusters(), 2, pass_on=pass_on, scored=True)
        env.reset(seed=0)
        choice, score = [[(0, 1, 1), (0, 0, 0)]] * 2, [[0.1, 1.0]] * 2
        *_, info = env.step({"choice": choice, "score": score})
        assert info["stood"].tolist() == [stood] * 2  # although the winner starts nothing
        assert info["started"].tolist() == [[0, -1] if pass_on else [-1, -1]] * 2
        with pytest.raises(OptionError, match="score"):
            env.step({"choice": choice, "score": [[0.1, 1.5]] * 2})
