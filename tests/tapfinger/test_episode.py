"""Runs: next to the plain environment, resumed from a round, logged slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.online.tapfinger import Decision, TapFingerEnvironment, TapFingerEpisode, Tasks
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.scenarios import Wild, named, side_by_side, two_clusters

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Round, TapFingerBatch


def same(one: Round, two: Round) -> None:
    """Compare two rounds but for what was attained before."""
    assert one[:2] == two[:2]
    for left, right in zip(one[2:], two[2:], strict=True):
        parts = (left, right) if isinstance(left, tuple) else ((left,), (right,))
        for a, b in zip(*parts, strict=True):
            assert np.array_equal(a, b)


@settings(max_examples=draws(30))
@given(
    tapfinger_instances(tasks=8, noise=False),
    st.sampled_from(["slot", "round"]),
    st.booleans(),
    st.integers(0, 30),
    st.integers(0, 999),
)
def test_a_run_goes_on_as_it_would_have_if_nothing_more_arrives(
    instance: TapFingerInstance,
    refill: Literal["slot", "round"],
    preemption: bool,
    steps: int,
    seed: int,
) -> None:
    everybody = instance.replace(arrival=np.zeros_like(instance.arrival))
    environment = TapFingerEnvironment(everybody, refill=refill, preemption=preemption)
    policy, coins = Wild(preemption=preemption), np.random.default_rng(seed)
    episode = environment.episode(0)
    # With preemption from the first round of a slot: later ones may have changed bundles.
    while (seen := episode.observe()) is not None and (steps > 0 or preemption * seen.number):
        episode.act(policy.decide(everybody, seen, coins)[0])
        steps -= 1
    if seen is None:
        return
    resumed = TapFingerEpisode.resumed(
        environment.instance, seen, refill=refill, preemption=preemption
    )
    while (seen := episode.observe()) is not None:
        again = resumed.observe()
        assert again is not None
        same(seen, again)
        decision, _ = policy.decide(everybody, seen, coins)
        one, two = episode.act(decision), resumed.act(decision)
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left, right)
    assert resumed.observe() is None
    later = slice(len(episode.alive) - len(resumed.alive), None)
    assert np.array_equal(episode.alive[later], resumed.alive)


def test_a_run_goes_on_without_what_is_to_come_and_without_noise() -> None:
    environment = TapFingerEnvironment(two_clusters(noise=0.2))
    ends = set()
    for scenario in range(4):
        episode = environment.episode(scenario)
        episode.act(named(2, {0: (0, (1, 1)), 1: (2, (2, 2))}))
        episode.act(named(2))
        seen = episode.observe()
        assert seen is not None
        resumed = TapFingerEpisode.resumed(environment.instance, seen)
        shown = resumed.observe()
        assert shown is not None
        same(seen, shown)
        progress = float(seen.running.progress[0])
        ends.add(progress)
        resumed.act(named(2, {0: (1, (2, 0))}))
        slots = 0
        while (seen := resumed.observe()) is not None:
            assert seen.tasks.arrival.tolist() == [0, 0, 0]
            if 0 in seen.running.task:
                assert seen.running.progress[0] == progress + 0.25 * slots
            resumed.act(named(2))
            slots += 1
        assert slots == 4  # task 1 takes four slots
    assert len(ends) == 4


def test_nothing_that_a_resumed_run_does_reaches_the_round_it_was_seen_in() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    episode.act(named(2, {0: (0, (1, 1))}))
    seen = episode.observe()
    assert seen is not None
    before = [np.array(column) for part in seen[2:] for column in _columns(part)]
    resumed = TapFingerEpisode.resumed(two_clusters(), seen)
    policy, coins = Wild(), np.random.default_rng(0)
    while (shown := resumed.observe()) is not None:
        resumed.act(policy.decide(two_clusters(), shown, coins)[0])
    after = [column for part in seen[2:] for column in _columns(part)]
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))


def test_what_has_changed_in_this_slot_is_paid_for_only_if_it_changes_again() -> None:
    for other, progress in ({}, 0.25 + 0.5), ({0: (2, 1)}, 0.25 + 0.375 / 2):
        episode = TapFingerEnvironment(two_clusters()).episode(0)
        episode.act(named(2, {0: (0, (1, 1))}))
        episode.act(named(2))
        episode.act(named(2, {0: (1, (1, 0))}, place=[True, False], other={0: (3, 1)}))
        seen = episode.observe()
        assert seen is not None
        assert (seen.slot, seen.number) == (1, 1)
        resumed = TapFingerEpisode.resumed(two_clusters(), seen)
        resumed.act(named(2, other=other))
        shown = resumed.observe()
        assert shown is not None
        assert shown.running.progress[0] == progress


def test_what_has_started_in_this_slot_may_still_change() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    episode.act(named(2, {0: (0, (1, 1))}))
    seen = episode.observe()
    assert seen is not None
    resumed = TapFingerEpisode.resumed(two_clusters(), seen)
    resumed.act(named(2, other={0: (3, 1)}))
    shown = resumed.observe()
    assert shown is not None
    assert shown.running.progress.tolist() == [0.5]


def _columns(part: Any) -> tuple[Any, ...]:
    return part if isinstance(part, tuple) else (part,)


OPTIONS = st.fixed_dictionaries(
    {
        "refill": st.sampled_from(["slot", "round"]),
        "conflict": st.sampled_from(["count", "ratio"]),
        "pass_on": st.booleans(),
        "patience": st.sampled_from([1000, 2, 1]),
    }
)


@settings(max_examples=draws(60))
@given(
    tapfinger_instances(tasks=8, noise=None, empty=True),
    OPTIONS,
    st.booleans(),
    st.integers(0, 999),
)
def test_every_round_and_all_logs_are_those_of_the_reference(
    instance: TapFingerInstance, options: dict[str, Any], preemption: bool, seed: int
) -> None:
    environment = TapFingerEnvironment(instance, preemption=preemption, **options)
    side_by_side(environment, Wild(preemption=preemption), seed)


@pytest.mark.parametrize("single_start", [False, True])
def test_so_they_are_in_a_crowd(single_start: bool) -> None:
    truth = generate(clusters=3, tasks=120, single_start=single_start, noise=0.1, rng=1)
    refill: Literal["slot", "round"] = "slot" if single_start else "round"
    plain = side_by_side(TapFingerEnvironment(truth, refill=refill), Wild(), 1)
    assert plain.lost > 0
    assert max(plain.local)[0] > truth.pending  # so that some have queued


# --- side by side ------------------------------------------------------------------------------


def played(
    batch: TapFingerBatch, truths: list[TapFingerInstance], seeds: list[int], policy: Wild
) -> list[TapFingerEpisode]:
    """Run scenarios to their ends in turns; each has coins of its own."""
    runs, coins, states = [], [], []
    for row, (truth, seed) in enumerate(zip(truths, seeds, strict=True)):
        batch.open(row, truth, seed)
        runs.append(TapFingerEpisode(batch, row, Tasks.of(truth), keep_trace=True))
        coins.append(np.random.default_rng(seed))
        states.append(policy.start(truth))
    while not batch.over.all():
        for run, coin, state in zip(runs, coins, states, strict=True):
            if (seen := run.observe()) is not None:
                run.act(policy.decide(state, seen, coin)[0])
    return runs


def same_runs(one: TapFingerEpisode, two: TapFingerEpisode) -> None:
    """Compare what has come of two runs, bit for bit."""
    assert np.array_equal(one.task, two.task)
    for name in ("alive", "used", "rounds", "lost"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    for left, right in zip(one.held, two.held, strict=True):
        assert np.array_equal(left, right)


@settings(max_examples=draws(40))
@given(
    st.lists(tapfinger_instances(tasks=8, noise=None, empty=True), min_size=2, max_size=4),
    OPTIONS,
    st.booleans(),
    st.integers(0, 999),
)
def test_scenarios_side_by_side_run_as_each_would_alone(
    drawn: list[TapFingerInstance], options: dict[str, Any], preemption: bool, seed: int
) -> None:
    first = drawn[0]  # the others have its clusters and kinds, and tasks of their own
    truths = [first]
    for other in drawn[1:]:
        kind = other.kind % first.task_kinds
        free = np.zeros((other.tasks, first.clusters), dtype=bool) | True
        truths.append(
            first.replace(
                arrival=other.arrival, kind=kind, eligible=free, weight=other.weight,
                noise=other.noise, single_start=other.single_start, switching=other.switching,
                speed=first.speed * 0.75 ** len(truths),
            )
        )  # fmt: skip
    policy, seeds = Wild(preemption=preemption), list(range(seed, seed + len(truths)))
    environment = TapFingerEnvironment(first, preemption=preemption, **options)
    together = played(environment.batch(len(truths)), truths, seeds, policy)
    again = environment.batch(1)  # one after the other in the same place
    for run, truth, own in zip(together, truths, seeds, strict=True):
        alone = TapFingerEnvironment(truth, preemption=preemption, **options)
        same_runs(run, *played(alone.batch(1), [truth], [own], policy))
        same_runs(run, *played(again, [truth], [own], policy))


@pytest.mark.parametrize("single_start", [False, True])
def test_a_round_of_all_scenarios_is_a_round_of_each(single_start: bool) -> None:
    truth = generate(clusters=3, tasks=30, single_start=single_start, noise=0.1, rng=2)
    environment = TapFingerEnvironment(truth, preemption=False)
    batch, policy = environment.batch(5), Wild(preemption=False)
    coins = [np.random.default_rng(e) for e in range(5)]
    for e in range(5):
        batch.open(e, truth, seed=e)
    alone = [environment.episode(e) for e in range(5)]
    while not batch.over.all():
        decisions = []
        for run, coin in zip(alone, coins, strict=True):
            decision, seen = named(3), run.observe()
            if seen is not None:
                decision, _ = policy.decide(truth, seen, coin)
                run.act(decision)
            score = np.ones(3) if decision.score is None else decision.score
            decisions.append((decision.task, decision.bundle, score))
        batch.act(Decision(*(np.stack(part) for part in zip(*decisions, strict=True))))
    for e, run in enumerate(alone):
        assert run.over
        same_runs(TapFingerEpisode(batch, e, Tasks.of(truth)), run)


def test_a_round_that_one_scenario_refuses_is_carried_out_in_none() -> None:
    batch = TapFingerEnvironment(two_clusters()).batch(2)
    assert batch.over.all()
    for e in range(2):
        batch.open(e, two_clusters(), seed=None)
    task, bundle = np.array([[0, -1], [3, -1]]), np.ones((2, 2, 2), dtype=int)
    with pytest.raises(OptionError, match="task 3 on cluster 0, where it is not pending"):
        batch.act(Decision(task, bundle))
    assert (batch.state.task["cluster"] == -1).all()
    with pytest.raises(OptionError, match="one scenario at a time"):
        batch.act(Decision(task, bundle, changed=np.array([0]), other=np.array([[1, 1]])))
    with pytest.raises(OptionError, match="shape"):
        batch.act(Decision(task[0], bundle[0]))
    task[1, 0] = 1
    bundle[1, 0] = 2, 0
    batch.act(Decision(task, bundle))
    assert batch.state.order["placed"].tolist() == [[0, -1], [1, -1]]
