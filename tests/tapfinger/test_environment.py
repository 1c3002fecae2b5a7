"""The environment by hand: what it shows and hides, how tasks end, and when a run does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online import simulate
from edgeopt.online.tapfinger import TapFingerEnvironment
from tests.tapfinger.scenarios import Wild, named, two_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.online.tapfinger import Decision, Outcome, Round, TapFingerEpisode
    from tests.tapfinger.plain import Bundle


def shown(episode: TapFingerEpisode) -> Round:
    seen = episode.observe()
    assert seen is not None
    return seen


def one_task(**changes: object) -> TapFingerEpisode:
    """Open a scenario with task 0 alone."""
    alone = {"arrival": [0], "kind": [0], "eligible": [[1, 1]]}
    return TapFingerEnvironment(two_clusters(**alone | changes)).episode(0)


def pass_slots(
    episode: TapFingerEpisode, decisions: list[Mapping[int, Bundle] | None]
) -> list[float]:
    """Change bundles slot after slot; return the progress of task 0 after each, 1 at its end."""
    progress = []
    for other in decisions:
        outcome = episode.act(named(2, other=other))
        assert outcome.elapsed
        seen = None if outcome.completed.size else shown(episode)
        progress.append(1.0 if seen is None else float(seen.running.progress[0]))
    return progress


def test_a_policy_is_shown_the_clusters_and_nothing_of_the_future() -> None:
    truth = two_clusters(names=("a", "b"), kinds=("k", "l"), noise=0.2, pending=3)
    known = TapFingerEnvironment(truth).instance
    assert (known.clusters, known.task_kinds, known.tasks) == (2, 2, 0)
    assert known.largest == (3, 2)
    assert (known.names, known.kinds) == (("a", "b"), ("k", "l"))
    assert (known.noise, known.switching, known.pending) == (0.2, 0.5, 3)
    assert np.array_equal(known.speed, truth.speed)


def test_a_slot_shows_its_tasks_and_a_round_what_earlier_rounds_have_left() -> None:
    episode = TapFingerEnvironment(two_clusters(pending=3)).episode(0)
    first = shown(episode)
    assert (first.slot, first.number) == (0, 0)
    assert first.free.tolist() == [[4, 2], [2, 2]]
    assert first.pending.tolist() == [[0, 1, -1], [0, 2, -1]]
    assert first.waiting.tolist() == [2, 2]
    assert first.crowd.tolist() == [[0, 1, 1], [0, 1, 1]]  # task 0 may run on two clusters
    assert first.started.tolist() == [False, False]
    assert first.running.task.size == 0
    assert first.tasks.arrival.tolist() == [0, 0, 0]
    assert first.tasks.waits.tolist() == [True, True, True]

    outcome = episode.act(named(2, {0: (0, (1, 1)), 1: (2, (2, 2))}))
    assert outcome.started.tolist() == [0, 2]
    assert not outcome.elapsed
    second = shown(episode)
    assert (second.slot, second.number) == (0, 1)
    assert second.free.tolist() == [[3, 1], [0, 0]]
    assert second.pending.tolist() == [[1, -1, -1], [-1, -1, -1]]
    assert second.crowd.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert second.started.tolist() == [True, True]
    assert second.tasks.waits.tolist() == [False, True, False]
    assert second.running.progress.tolist() == [0.0, 0.0]

    outcome = episode.act(named(2, {0: (1, (2, 0))}))
    assert (outcome.started.tolist(), outcome.elapsed) == ([1, -1], False)
    outcome = episode.act(named(2))
    assert (outcome.started.tolist(), outcome.elapsed) == ([-1, -1], True)
    third = shown(episode)
    assert (third.slot, third.number) == (1, 0)
    assert third.started.tolist() == [False, False]
    assert [column.tolist() for column in third.running] == [
        [0, 2, 1], [0, 1, 0], [[1, 1], [2, 2], [2, 0]], [0.25, 0.5, 0.25], [0, 0, 0],
        [[1, 1], [2, 2], [2, 0]],
    ]  # fmt: skip
    outcome = episode.act(named(2))
    assert (outcome.elapsed, outcome.completed.tolist()) == (True, [2])
    fourth = shown(episode)
    assert fourth.free.tolist() == [[1, 1], [2, 2]]
    assert fourth.pending.tolist() == [[3, -1, -1], [-1, -1, -1]]
    assert fourth.running.attained.tolist() == [[2, 2], [4, 0]]


def test_a_cluster_starts_one_task_per_slot_where_the_mode_says_so() -> None:
    episode = TapFingerEnvironment(two_clusters(single_start=True)).episode(0)
    outcome = episode.act(named(2, {0: (0, (1, 1)), 1: (2, (1, 1))}))
    assert (outcome.started.tolist(), outcome.elapsed) == ([0, 2], True)
    assert shown(episode).slot == 1
    assert shown(episode).pending[0, :2].tolist() == [1, -1]


def finished(episode: TapFingerEpisode, *decisions: Decision) -> Outcome:
    """Carry decisions out, then none until a task is complete."""
    for decision in decisions:
        outcome = episode.act(decision)
    while not outcome.completed.size:
        outcome = episode.act(named(2))
    return outcome


@pytest.mark.parametrize(
    ("bundle", "slots"), [((1, 1), 4), ((2, 1), 3), ((3, 1), 2), ((3, 2), 2), ((1, 2), 3)]
)
@pytest.mark.parametrize("slot", [0, 3])
def test_a_task_is_complete_at_the_end_of_the_slot_that_does_the_last_of_it(
    bundle: Bundle, slots: int, slot: int
) -> None:
    truth = two_clusters(arrival=[0], kind=[0], eligible=[[1, 0]])
    environment = TapFingerEnvironment(truth)
    episode = environment.episode(0)
    finished(episode, *[named(2)] * slot, named(2, {0: (0, bundle)}))
    assert episode.observe() is None
    trajectory = environment.trajectory("hand", [episode], seconds=0.0)
    assert trajectory.start.tolist() == [[slot]]
    assert trajectory.completion.tolist() == trajectory.flow_time.tolist() == [[slot + slots]]
    assert trajectory.accumulation.tolist() == [[1.0] * (slot + slots)]
    # What is held counts in the last slot too.
    held = [[[0, 0], [0, 0]]] * slot + [[list(bundle), [0, 0]]] * slots
    assert trajectory.used.tolist() == [held]
    assert trajectory.decisions.tolist() == [[1] * slot + [2] + [1] * (slots - 1)]


def test_progress_slows_down_where_the_law_says_so() -> None:
    episode = one_task(slowing=[True, False])
    episode.act(named(2, {0: (0, (1, 1))}))
    progress = pass_slots(episode, [None] * 2)
    first = 0.25 * np.sqrt(1.2)
    assert progress == pytest.approx([first, first + 0.25 * np.sqrt(1.2 - first)], abs=1e-15)


def test_a_slot_with_another_bundle_than_the_one_before_counts_half() -> None:
    episode = one_task()
    episode.act(named(2, {0: (0, (1, 1))}))
    changes = [None, {0: (2, 1)}, {0: (2, 1)}, {0: (1, 1)}, None]
    steps = [0.25, 0.375 / 2, 0.375, 0.25 / 2, 0.25]
    assert pass_slots(episode, changes) == pytest.approx(np.minimum(np.cumsum(steps), 1.0))
    assert episode.task["switches"].tolist() == [2]
    slow = one_task(switching=0.25)
    slow.act(named(2, {0: (0, (1, 1))}))
    assert pass_slots(slow, [None, {0: (2, 1)}]) == pytest.approx([0.25, 0.25 + 0.375 / 4])


def test_what_changes_within_a_slot_costs_nothing_if_it_is_undone_or_new() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    episode.act(named(2, {0: (0, (1, 1))}))
    episode.act(named(2, {1: (2, (1, 1))}, other={0: (2, 1)}))  # task 0 is new in this slot
    assert episode.act(named(2)).elapsed
    assert shown(episode).running.progress.tolist() == [0.375, 0.25]
    # Task 1 starts, so that there is another round in which the change is undone.
    episode.act(named(2, {0: (1, (2, 0))}, other={2: (2, 2)}))
    episode.act(named(2, other={2: (1, 1)}))
    assert shown(episode).running.progress[:2].tolist() == [0.75, 0.5]
    assert episode.task["switches"].tolist() == [0, 0, 0, 0]


def test_a_task_can_pause_and_pays_when_it_goes_on() -> None:
    episode = one_task()
    episode.act(named(2, {0: (0, (1, 1))}))
    progress = pass_slots(episode, [None, {0: (0, 0)}, None, {0: (3, 1)}, None])
    assert progress == [0.25, 0.25, 0.25, 0.5, 1.0]


def test_a_bundle_below_the_smallest_one_is_held_but_does_nothing() -> None:
    episode = one_task()
    episode.act(named(2, {0: (0, (1, 1))}))
    progress = pass_slots(episode, [None, {0: (0, 2)}])
    assert progress == [0.25, 0.25]
    assert shown(episode).free[0].tolist() == [4, 0]
    assert shown(episode).running.attained.tolist() == [[1, 3]]


def test_a_task_can_be_placed_to_wait_on_its_cluster() -> None:
    episode = one_task()
    outcome = episode.act(named(2, {1: (0, (0, 0))}, place=[False, True]))
    assert outcome.started.tolist() == [-1, 0]
    assert shown(episode).running.cluster.tolist() == [1]
    episode.act(named(2))
    assert pass_slots(episode, [{0: (2, 2)}, None]) == [0.25, 0.75]  # 1/2 in the slot after
    unplaced = one_task()
    outcome = unplaced.act(named(2, {1: (0, (0, 0))}))
    assert (outcome.started.tolist(), outcome.elapsed) == ([-1, -1], True)


@pytest.mark.parametrize(("refill", "then"), [("slot", [[-1], [-1]]), ("round", [[1], [2]])])
def test_pending_sets_are_filled_when_a_slot_begins_or_before_every_round(
    refill: Literal["slot", "round"], then: list[list[int]]
) -> None:
    episode = TapFingerEnvironment(two_clusters(pending=1), refill=refill).episode(0)
    assert shown(episode).pending.tolist() == [[0], [0]]
    assert not episode.act(named(2, {0: (0, (1, 1))})).elapsed
    assert shown(episode).pending.tolist() == then
    assert shown(episode).waiting.tolist() == [1, 1]
    assert episode.act(named(2)).elapsed
    assert shown(episode).pending.tolist() == [[1], [2]]


def test_slots_without_any_task_pass_without_a_round() -> None:
    truth = two_clusters(arrival=[2, 9], kind=[0, 0], eligible=[[1, 0], [1, 0]])
    environment = TapFingerEnvironment(truth)
    episode = environment.episode(0)
    seen = []
    for task in (0, 1):
        seen.append(shown(episode).slot)
        finished(episode, named(2, {0: (task, (3, 2))}))
    assert seen == [2, 9]
    trajectory = environment.trajectory("hand", [episode], seconds=0.0)
    assert trajectory.accumulation[0].tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1]
    assert trajectory.decisions[0].tolist() == [0, 0, 2, 1, 0, 0, 0, 0, 0, 2, 1]
    assert trajectory.flow_time.tolist() == [[2, 2]]
    assert trajectory.utilisation()[0, 0].tolist() == [12 / 44, 8 / 22]


class Idle:
    """Start tasks in some slots only, on cluster 0 with (1, 1)."""

    name = "idle"

    def __init__(self, *slots: int) -> None:
        self.slots = slots

    def start(self, instance: TapFingerInstance) -> None:
        return None

    def decide(self, state: None, seen: Round, rng: np.random.Generator) -> tuple[Decision, None]:
        task = int(seen.pending[0, 0])
        room = bool((seen.free[0] >= 1).all())
        starts = task >= 0 and room and seen.slot in self.slots and not seen.started[0]
        return named(2, {0: (task, (1, 1))} if starts else None), None

    def learn(self, state: None, *_: object) -> None:
        return None


def test_a_run_ends_when_nothing_makes_progress_for_long() -> None:
    truth = two_clusters(arrival=[0, 3], kind=[0, 0], eligible=[[1, 0], [1, 0]])
    environment = TapFingerEnvironment(truth, patience=2)
    for policy, end, done in (
        (Idle(), 5, [False, False]),
        (Idle(0), 6, [True, False]),  # which runs in slots 0 to 3
        (Idle(4), 10, [True, False]),
        (Idle(5), 5, [False, False]),
        (Idle(0, 5), 9, [True, True]),
    ):
        trajectory = simulate(environment, policy, runs=1)
        assert trajectory.end.tolist() == [end]
        assert trajectory.complete[0].tolist() == done
        assert np.isinf(trajectory.mean_flow_time()[0]) == (not all(done))


def test_without_tasks_there_is_nothing_to_do() -> None:
    truth = two_clusters(arrival=[], kind=[], eligible=np.zeros((0, 2)))
    trajectory = simulate(TapFingerEnvironment(truth), Wild(), runs=2)
    assert trajectory.reward.shape == (2, 0)
    assert trajectory.end.tolist() == [0, 0]
    assert np.isnan(trajectory.mean_flow_time()).all()


def noise_of(truth: TapFingerInstance, scenario: int, served: list[int]) -> list[list[float]]:
    """Run all tasks at once on cluster 0; return the noise that each had in its first slots.

    Tasks that are not in `served` pause in the second slot, and are served after it.
    """
    environment = TapFingerEnvironment(truth)
    episode = environment.episode(scenario)
    for task in range(truth.tasks):
        episode.act(named(1, {0: (task, (1, 0))}))
    tasks = np.arange(truth.tasks)
    episode.act(named(1))
    after = [shown(episode).running.progress]
    episode.act(named(1, other={int(j): (0, 0) for j in np.setdiff1d(tasks, served)}))
    after.append(shown(episode).running.progress)
    episode.act(named(1, other={int(j): (1, 0) for j in tasks}))
    after.append(shown(episode).running.progress)
    steps = np.diff(after, axis=0, prepend=0.0)
    return [[float(s) - 0.25 for s in steps[:, j] if s > 0.0] for j in tasks]


def test_noise_belongs_to_the_slot_of_service_and_not_to_what_others_do() -> None:
    J = 120
    truth = TapFingerInstance(
        capacity=[[J, 0]],
        minimum=[[1, 0]],
        speed=np.full((1, 2, 1), 0.25),
        arrival=np.zeros(J, dtype=int),
        kind=np.zeros(J, dtype=int),
        eligible=np.ones((J, 1), dtype=bool),
        noise=0.1,
        switching=1.0,
        pending=J,
    )
    whole = noise_of(truth, 7, list(range(J)))
    paused = noise_of(truth, 7, list(range(0, J, 2)))
    other = noise_of(truth, 8, list(range(J)))
    assert [len(one) for one in paused] == [3, 2] * (J // 2)
    for one, two in zip(whole, paused, strict=True):
        assert two == pytest.approx(one[: len(two)], abs=1e-12)
    drawn = np.array(whole)
    assert np.abs(drawn).max() <= 0.1 + 1e-12
    assert np.unique(drawn.round(9)).size == drawn.size
    assert not np.isclose(drawn, other).any()
    # Uniform: the mean of 360 draws is within six of its standard errors, and so is their square.
    assert abs(drawn.mean()) < 6 * 0.1 / np.sqrt(3 * drawn.size)
    assert abs((drawn**2).mean() / 0.01 - 1 / 3) < 6 * np.sqrt(4 / 45 / drawn.size)


def test_noise_never_undoes_progress() -> None:
    truth = two_clusters(
        arrival=[0], kind=[0], eligible=[[1, 0]], noise=0.3, speed=np.full((2, 4, 3), 0.04)
    )
    still = 0
    for scenario in range(20):
        episode = TapFingerEnvironment(truth).episode(scenario)
        outcome = episode.act(named(2, {0: (0, (1, 1))}))
        before = 0.0
        while not outcome.completed.size:
            outcome = episode.act(named(2))
            seen = episode.observe()
            if seen is not None:
                assert seen.running.progress[0] >= before
                still += seen.running.progress[0] == before
                before = float(seen.running.progress[0])
    assert still > 0


def test_observing_twice_changes_nothing() -> None:
    episode = TapFingerEnvironment(two_clusters()).episode(0)
    one = shown(episode)
    assert shown(episode) is one
    episode.act(named(2, {0: (0, (1, 1))}))
    assert one.pending[0, :2].tolist() == [0, 1]
    assert one.free[0].tolist() == [4, 2]
    assert one.tasks.waits.tolist() == [True, True, True]


def test_scenarios_differ_in_nothing_but_the_noise() -> None:
    assert TapFingerEnvironment(two_clusters()).alike
    assert not TapFingerEnvironment(two_clusters(noise=0.1)).alike
    rng = np.random.default_rng
    loud = TapFingerEnvironment(two_clusters(noise=0.1))
    scenarios = loud.scenarios(rng(3), 5)
    assert np.array_equal(loud.scenarios(rng(3), 2), scenarios[:2])
    assert np.unique(scenarios).size == 5
    always = Idle(*range(99))
    truth = two_clusters(arrival=[0] * 4, kind=[0] * 4, eligible=[[1, 0]] * 4, noise=0.2)
    trajectory = simulate(TapFingerEnvironment(truth), always, runs=6)
    assert np.unique(trajectory.completion, axis=0).shape[0] > 1


def test_stretches_are_recorded_only_on_request() -> None:
    environment = TapFingerEnvironment(two_clusters())
    assert simulate(environment, Wild(), runs=1).held is None
    kept = simulate(environment, Wild(), runs=2, keep_trace=True).held
    assert kept is not None
    assert np.unique(kept.task).tolist() == [0, 1, 2, 3]
