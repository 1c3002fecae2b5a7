"""The environment: what it shows and hides, how jobs end, and when a run does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Runs, Slot
from tests.oinc.scenarios import Wild, decision, runs, step_through, two_sites

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance


def test_a_policy_is_shown_the_sites_and_nothing_of_the_future() -> None:
    truth = two_sites(names=("a", "b"), job_kind=[0, 0], kinds=("k",))
    shown = OincEnvironment(truth).instance
    assert (shown.slots, shown.devices, shown.sites, shown.jobs) == (2, 2, 2, 0)
    assert shown.speed.tolist() == [4.0, 2.0]
    assert shown.names == ("a", "b")
    assert (shown.latency_scale, shown.completion_scale) == (0.25, 4.0)
    assert shown.refusal_latency == 2.0
    assert shown.request_weight is not None
    assert shown.request_weight.tolist() == [1.0, 3.0]
    assert not shown.active.any()
    assert not shown.request_size.any()
    assert not shown.request_work.any()
    assert (shown.rate == 1.0).all()
    assert (shown.slo == 1.0).all()


def test_a_slot_shows_its_requests_and_the_jobs_that_are_not_complete() -> None:
    episode = OincEnvironment(two_sites()).episode(0)
    first = episode.observe()
    assert first is not None
    assert (first.slot, first.requests.device.tolist()) == (0, [0])  # type: ignore[union-attr]
    assert first.requests.transmission.tolist() == [[0.25, 0.25]]
    assert first.requests.computation.tolist() == [[0.125, 0.25]]
    assert first.requests.slo.tolist() == [0.75]
    assert first.requests.room.tolist() == [1.0, 1.0]
    assert [column.tolist() for column in first.jobs] == [
        [0], [-1], [False], [3.0], [3.0], [0], [2.0], [1.0],
    ]  # fmt: skip
    assert first.jobs.new(0).tolist() == [True]

    outcome = episode.act(
        decision(first, [0], band=[0.5], cpu=[0.25], jobs=[0], run=runs((0, 0.5, 0.25, 0.75)))
    )
    assert outcome.latency.tolist() == [0.25 / 0.5 + 0.125 / 0.25]
    assert outcome.completed.tolist() == []
    second = episode.observe()
    assert second is not None
    assert second.requests.device.tolist() == [0, 1]  # type: ignore[union-attr]
    assert second.jobs.job.tolist() == [0, 1]
    assert second.jobs.site.tolist() == [0, -1]
    assert second.jobs.started.tolist() == [True, False]
    assert second.jobs.remaining.tolist() == [2.0, 2.0]  # 1/2 s on half of 4 Gcycle/s
    assert second.jobs.new(1).tolist() == [False, True]

    outcome = episode.act(decision(second, jobs=[0, 1], run=runs((0, 0.5, 0.0, 1.0))))
    assert np.isnan(outcome.latency).all()
    assert (outcome.completed.tolist(), outcome.completion.tolist()) == ([0], [2.0])
    third = episode.observe()
    assert third is not None
    assert (third.slot, third.requests.requests, third.requests.sites) == (2, 0, 2)
    assert third.jobs.job.tolist() == [1]
    outcome = episode.act(decision(third, run=runs((1, 0.5, 0.0, 1.0))))
    assert outcome.completed.size == 0
    last = episode.observe()
    assert last is not None
    outcome = episode.act(decision(last, run=runs((1, 0.5, 0.0, 1.0))))
    assert (outcome.completed.tolist(), outcome.completion.tolist()) == ([1], [4.0])
    assert episode.observe() is None
    assert episode.end == 4


@pytest.mark.parametrize(
    ("rows", "completion"),
    [
        ([(0, 0.75, 0.0, 1.0)], [1.0]),  # 3 Gcycle at 3 Gcycle/s
        ([(0, 0.875, 0.0, 1.0)], [1.0]),  # faster, but the run ends no earlier
        ([(0, 0.75, 0.0, 0.5), (0, 0.75, 0.5, 1.0)], [1.0]),
        ([(0, 0.75, 0.5, 1.0), (0, 0.75, 0.0, 0.5)], [1.0]),
        ([(0, 0.9, 0.0, 3.0 / 3.6)], [3.0 / 3.6]),
        ([(0, 0.9, 0.1, 0.1 + 3.0 / 3.6)], [0.1 + 3.0 / 3.6]),
        ([(0, 0.75, 0.0, 1.0 - 1e-12)], [1.0 - 1e-12]),  # but for rounding
        ([(0, 0.75, 0.0, 0.999)], []),
    ],
)
def test_a_job_is_complete_at_the_end_of_the_run_that_does_the_last_of_it(
    rows: list[tuple[int, float, float, float]], completion: list[float]
) -> None:
    episode = OincEnvironment(two_sites()).episode(0)
    slot = episode.observe()
    assert slot is not None
    outcome = episode.act(decision(slot, jobs=[0], reserved=(0.9, 0.0), run=runs(*rows)))
    assert outcome.completion.tolist() == completion


def test_an_incomplete_job_may_move_until_it_starts_and_may_wait_where_nothing_is_kept() -> None:
    episode = OincEnvironment(two_sites()).episode(0)
    where = []
    for sites, reserved in ([0], (0.5, 0.0)), ([1, -1], (0.0, 0.5)), ([-1, -1], (0.0, 0.0)):
        slot = episode.observe()
        assert slot is not None
        where.append(slot.jobs.site.tolist())
        episode.act(decision(slot, jobs=sites, reserved=reserved))
    assert where == [[-1], [0, -1], [1, -1]]

    episode = OincEnvironment(two_sites()).episode(0)
    slot = episode.observe()
    assert slot is not None
    episode.act(decision(slot, jobs=[0], run=runs((0, 0.5, 0.0, 0.5))))
    slot = episode.observe()
    assert slot is not None
    episode.act(decision(slot, reserved=(0.0, 0.0)))
    slot = episode.observe()
    assert slot is not None
    assert slot.jobs.site.tolist() == [0, -1]


class Idle:
    """Refuse all requests; serve jobs in some slots only."""

    def __init__(self, slots: tuple[int, ...] = (), share: float = 0.5) -> None:
        self.name, self.slots, self.share = "idle", slots, share

    def start(self, instance: OincInstance) -> None:
        return None

    def decide(self, state: None, slot: Slot, rng: np.random.Generator) -> tuple[Decision, None]:
        rows = [(int(job), self.share, 0.0, 1.0) for job in slot.jobs.job[:1]]
        run = runs(*rows) if slot.slot in self.slots else Runs.none()
        jobs = np.zeros(slot.jobs.job.size, dtype=int)
        return decision(slot, jobs=list(jobs), reserved=(self.share, 0.0), run=run), None

    def learn(self, state: None, *_: Any) -> None:
        return None


def test_a_run_ends_when_nothing_runs_for_as_long_as_the_horizon() -> None:
    environment = OincEnvironment(two_sites())
    assert simulate(environment, Idle(), runs=1).end.tolist() == [4.0]
    assert simulate(environment, Idle((0,)), runs=1).end.tolist() == [4.0]
    assert simulate(environment, Idle((0, 3)), runs=1).end.tolist() == [6.0]
    assert simulate(environment, Idle((0, 4)), runs=1).end.tolist() == [4.0]
    trajectory = simulate(environment, Idle((0, 3)), runs=1)
    assert trajectory.complete.tolist() == [[True, False]]
    assert trajectory.completion.tolist() == [[4.0, np.inf]]
    assert trajectory.counted_completion.tolist() == [[4.0, 6.0]]


def test_a_run_that_is_too_slow_for_any_good_is_stopped() -> None:
    always = tuple(range(10_000))
    trajectory = simulate(OincEnvironment(two_sites()), Idle(always, share=1e-6), runs=1)
    # 5 Gcycle on a hundredth of 2 Gcycle/s, after the two slots and two more.
    assert trajectory.end.tolist() == [2.0 + 2.0 + 250.0]
    assert not trajectory.complete.any()
    quick = simulate(OincEnvironment(two_sites()), Idle(always, share=0.01), runs=1)
    assert quick.complete.all()


def test_jobs_are_cut_off_after_the_last_slot_on_request() -> None:
    always = tuple(range(100))
    cut = simulate(OincEnvironment(two_sites(), drain=False), Idle(always), runs=1)
    assert cut.end.tolist() == [2.0]
    assert cut.completion.tolist() == [[2.0, np.inf]]
    assert simulate(OincEnvironment(two_sites()), Idle(always), runs=1).end.tolist() == [3.0]


def test_without_jobs_a_run_ends_with_its_last_slot() -> None:
    nothing = dict.fromkeys(("arrival", "work", "deadline", "weight"), np.zeros(0))
    trajectory = simulate(OincEnvironment(two_sites(**nothing)), Idle(), runs=1)
    assert trajectory.end.tolist() == [2.0]
    assert trajectory.completion.shape == trajectory.job_site.shape == (1, 0)
    assert trajectory.mean_completion().tolist() == [0.0]
    assert trajectory.job_success().tolist() == [1.0]


def test_observing_twice_changes_nothing_and_what_is_shown_cannot_be_changed() -> None:
    episode = OincEnvironment(two_sites()).episode(0)
    one = episode.observe()
    assert one is not None
    assert episode.observe() is one
    for array in (one.requests.transmission, one.requests.slo, *one.jobs):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_wild_policies_differ_from_run_to_run() -> None:
    trajectory = simulate(OincEnvironment(two_sites()), Wild(), runs=8)
    assert len(set(trajectory.end)) > 1
    longest = int(trajectory.end.max())
    assert trajectory.reserved.shape == (8, longest, 2)
    for run, end in enumerate(trajectory.end.astype(int)):
        assert not trajectory.reserved[run, end:].any()


def test_runs_are_recorded_only_on_request() -> None:
    environment = OincEnvironment(two_sites())
    assert simulate(environment, Wild(), runs=1).served is None
    steps, episode = step_through(environment, Wild(), seed=3)
    assert episode.served.job.size == sum(step.decision.runs.job.size for step in steps)
