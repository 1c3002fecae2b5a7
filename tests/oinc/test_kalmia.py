"""Two queues at each site: the least that requests need, and the first deadline on the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.policies.baselines import Kalmia, _queue
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import decisions, step_through, unit_sites

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from tests.oinc.scenarios import Step


def scenario(slo: list[list[float]], *jobs: Any, **changes: Any) -> OincInstance:
    """Return sites where a device without an objective in a slot has no request there."""
    objective = np.array(slo)
    wanted = np.where(objective > 0, objective, 1.0)
    return unit_sites(objective > 0, *jobs, slo=wanted, **changes)


# --- by hand -------------------------------------------------------------------------------------


def test_a_request_beside_a_job_gets_what_its_objective_needs() -> None:
    """Sending takes .1 s of .5 s, which leaves .4 s: a quarter of the CPU."""
    [first, *_] = decisions(scenario([[0.5]], [0], [9.0]), Kalmia())
    assert first.plan.cpu == pytest.approx([0.25])
    assert first.reserved == pytest.approx([0.75])
    assert first.plan.latency == pytest.approx([0.5])
    # Two send in .2 s: one has .3 s left, one .6 s.
    [first, *_] = decisions(scenario([[0.5, 0.8]], [0], [9.0]), Kalmia())
    assert first.plan.band.tolist() == [0.5, 0.5]
    assert first.plan.cpu == pytest.approx([1 / 3, 1 / 6])
    assert first.runs.share == pytest.approx([0.5])


def test_jobs_with_a_site_stay_and_others_join_the_shortest_queue() -> None:
    remaining, speed = np.array([8.0, 1.0, 1.0]), np.array([1.0, 1.0])
    assert _queue(np.array([0, 1, -1]), remaining, speed).tolist() == [0, 1, 1]
    assert _queue(np.array([0, 0, -1]), remaining, speed).tolist() == [0, 0, 1]
    # Less time is left on the faster site, though more work is.
    assert _queue(np.array([0, 1, -1]), remaining, np.array([10.0, 1.0])).tolist() == [0, 1, 0]


def test_the_first_deadline_is_served_first() -> None:
    """Job 1 interrupts job 0, and job 2 does not interrupt job 1, due at the same time."""
    nobody = [[0.0]] * 6
    instance = scenario(nobody, [0, 1, 2], [3.0, 2.0, 1.0], deadline=[9.0, 5.0, 5.0])
    steps, episode = step_through(OincEnvironment(instance), Kalmia())
    assert episode.completion == pytest.approx([6.0, 3.0, 4.0], rel=1e-5)
    assert steps[1].decision.runs.job[0] == 1
    assert len(steps) == 7  # a CPU is never quite all for jobs
    # The rest of a slot is the next job's, or wasted.
    short = scenario(nobody, [0, 0], [0.5, 0.25], deadline=[9.0, 5.0])
    for service, completion in (("fluid", [0.75, 0.25]), ("slot", [2.0, 1.0])):
        _, episode = step_through(OincEnvironment(short), Kalmia(service=service))  # type: ignore[arg-type]
        assert episode.completion == pytest.approx(completion, rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [{"smallest": 0.0}, {"smallest": 1.0}, {"spare": 1.5}, {"spare": np.nan}, {"service": "whole"}],
)
def test_options_are_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Kalmia(**options)


def test_names_tell_options() -> None:
    assert Kalmia().name == "Kalmia"
    assert Kalmia(spare=0.5, service="slot").name == "Kalmia, spare=0.5, service=slot"


# --- drawn ---------------------------------------------------------------------------------------


def needs(policy: Kalmia, step: Step, site: int, room: float) -> dict[int, float]:
    """Return what the requests of a site need."""
    requests = step.seen.requests
    those = [i for i in range(requests.requests) if step.decision.plan.site[i] == site]
    need = {}
    for i in those:
        left = requests.slo[i] - len(those) * requests.transmission[i, site]
        computing = requests.computation[i, site]
        if computing == 0:
            need[i] = 0.0
        elif left <= 0 or computing / left > room:
            need[i] = room / len(those)
        else:
            need[i] = computing / left
    cut = min(1.0, room / sum(need.values())) if sum(need.values()) else 1.0
    return {i: q * cut for i, q in need.items()}


def plain(policy: Kalmia, instance: OincInstance, step: Step) -> None:
    """Hold a slot to a plain reading of the rules."""
    jobs, requests, decision = step.seen.jobs, step.seen.requests, step.decision
    queue = [0.0] * instance.sites
    for q in np.flatnonzero(jobs.site >= 0):
        assert decision.job_site[q] == jobs.site[q]
        queue[jobs.site[q]] += jobs.remaining[q]
    for q in np.flatnonzero(jobs.site < 0):
        j = int(decision.job_site[q])
        length = [queue[i] / instance.speed[i] for i in range(instance.sites)]
        assert length[j] <= min(length) + 1e-9
        alike = [i for i in range(instance.sites) if abs(length[i] - length[j]) < 1e-12]
        assert j == min(alike, key=lambda i: (-instance.speed[i], i))
        queue[j] += jobs.remaining[q]
    room = [1.0 - policy.smallest if waits > 0 else 1.0 for waits in queue]
    count = [0] * instance.sites
    for i in range(requests.requests):
        latency = [
            (count[j] + 1) * (requests.transmission[i, j] + requests.computation[i, j] / room[j])
            for j in range(instance.sites)
        ]
        j = int(decision.plan.site[i])
        assert latency[j] <= min(latency) + 1e-9
        assert all(other > latency[j] - 1e-9 for other in latency[:j])
        count[j] += 1
    for j in range(instance.sites):
        need = needs(policy, step, j, room[j])
        left = room[j] - sum(need.values())
        gift = (left if queue[j] == 0 else (1 - policy.spare) * left) if need else 0.0
        for i, q in need.items():
            assert decision.plan.band[i] == 1 / len(need)
            assert decision.plan.cpu[i] == pytest.approx(q + gift / len(need))
        kept = 1 - room[j] + left - gift if queue[j] > 0 else 0.0
        assert decision.reserved[j] == pytest.approx(kept, rel=1e-5)
        serve_by_deadline(step, j)


def serve_by_deadline(step: Step, site: int) -> None:
    """Hold the runs of a site to the order of deadlines, without a pause."""
    jobs, runs = step.seen.jobs, step.decision.runs
    due = dict(zip(jobs.job.tolist(), jobs.deadline, strict=True))
    left = dict(zip(jobs.job.tolist(), jobs.remaining, strict=True))
    where = dict(zip(jobs.job.tolist(), step.decision.job_site.tolist(), strict=True))
    mine = sorted((k for k in due if where[k] == site), key=lambda k: (due[k], k))
    ran = [r for r in range(runs.job.size) if where[int(runs.job[r])] == site]
    assert runs.job[ran].tolist() == mine[: len(ran)]
    clock = 0.0
    for r in ran:
        assert runs.begin[r] == pytest.approx(clock)
        clock = float(runs.end[r])
        assert runs.share[r] == step.decision.reserved[site]
    complete = sum(k in step.outcome.completed for k in mine)
    assert clock == 1.0 or complete == len(mine)
    assert not mine or left[mine[0]] > 0


@pytest.mark.parametrize("options", [{}, {"spare": 0.5, "smallest": 0.3}], ids=str)
@settings(max_examples=draws(60))
@given(oinc_instances(devices=4, jobs=5))
def test_a_plain_reading(options: dict[str, float], instance: OincInstance) -> None:
    policy = Kalmia(**options)  # type: ignore[arg-type]
    steps, episode = step_through(OincEnvironment(instance), policy)
    for step in steps:
        plain(policy, instance, step)
    assert np.isfinite(episode.completion).all()
