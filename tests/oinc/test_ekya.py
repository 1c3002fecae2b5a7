"""The thief scheduler: who resides where, what is stolen, and what a job keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.policies.baselines import Ekya, _send, _steal
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import decisions, step_through, unit_sites

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from tests.oinc.scenarios import Step


def scenario(*crowd: Any, **changes: Any) -> OincInstance:
    """Return sites of 1 Gcycle/s where a job may take ten times as long as a request."""
    return unit_sites(*crowd, **{"latency_scale": 1.0, "completion_scale": 10.0} | changes)


# --- by hand -------------------------------------------------------------------------------------


def test_a_request_and_a_job_steal_until_it_helps_no_more() -> None:
    """Needs of .1 and 1.6 share 1 best as 1 to 4; steps of .05 lead there from a half each."""
    [first, *_] = decisions(scenario([[1]], [0], [16.0]), Ekya())
    assert first.plan.cpu == pytest.approx([0.2])
    assert first.reserved == pytest.approx([0.8])
    assert first.runs.share == pytest.approx([0.8])
    assert first.plan.band.tolist() == [1.0]
    # Coarse steps overshoot: .1/.5 + 1.6/.5 = 3.4, .1/.2 + 1.6/.8 = 2.5, .1/.1 is out of reach.
    for step, kept in (0.3, 0.5), (0.15, 0.8):
        [first, *_] = decisions(scenario([[1]], [0], [16.0]), Ekya(step=step))
        assert first.reserved == pytest.approx([kept])
    # Four times the work: 1 to 8, of which steps from a half reach .1 and .9, or .15 and .85.
    assert decisions(scenario([[1]], [0], [64.0]), Ekya())[0].reserved == pytest.approx([0.9])


@pytest.mark.parametrize(
    "options",
    [{"step": 0.0}, {"step": 1.0}, {"step": np.nan}, {"largest": 1.0}, {"largest": 0.01}],
)
def test_options_are_refused_by_name(options: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Ekya(**options)


def test_names_tell_options() -> None:
    assert Ekya().name == "Ekya"
    assert Ekya(largest=0.8).name == "Ekya, largest=0.8"


# --- drawn ---------------------------------------------------------------------------------------


def plain(policy: Ekya, instance: OincInstance, steps: list[Step]) -> None:
    """Hold every slot to a plain reading of the rules."""
    granted: dict[int, float] = {}
    where: dict[int, int] = {}
    for step in steps:
        jobs, requests, decision = step.seen.jobs, step.seen.requests, step.decision
        here = set(jobs.job.tolist())
        granted = {k: u for k, u in granted.items() if k in here}
        held = [sum(u for k, u in granted.items() if where[k] == j) for j in range(instance.sites)]
        residents = [[k for k in granted if where[k] == j] for j in range(instance.sites)]
        crowd = [len(those) for those in residents]
        new: list[list[tuple[str, int]]] = [[] for _ in crowd]
        for q, k in enumerate(jobs.job.tolist()):
            if k in granted:
                assert decision.job_site[q] == where[k]
                continue
            fresh = [sum(kind == "job" for kind, _ in those) for those in new]
            able = [
                j
                for j in range(instance.sites)
                if policy.largest - held[j] - fresh[j] * policy.step >= policy.step - 1e-9
            ]
            j = min(able, key=lambda j: (crowd[j], j)) if able else -1
            assert decision.job_site[q] == j
            if j >= 0:
                crowd[j] += 1
                new[j].append(("job", k))
        for i in range(requests.requests):
            j = crowd.index(min(crowd))
            assert decision.plan.site[i] == j
            crowd[j] += 1
            new[j].append(("request", i))
        for j, those in enumerate(new):
            those.sort(key=lambda one: one[0] == "job")
            need = needs(instance, step, j, those)
            requested = sum(kind == "request" for kind, _ in those)
            room = policy.largest - held[j]
            share = thefts(need, requested, 1 - held[j], room, policy.step)
            for (kind, number), part in zip(those, share, strict=True):
                if kind == "request":
                    assert decision.plan.cpu[number] == pytest.approx(part)
                    assert decision.plan.band[number] == pytest.approx(1 / requested)
                else:
                    granted[number], where[number] = part, j
        total = [sum(u for k, u in granted.items() if where[k] == j) for j in range(len(new))]
        assert decision.reserved == pytest.approx(total)
        run = dict(zip(decision.runs.job.tolist(), decision.runs.share, strict=True))
        assert run == pytest.approx(granted)
        assert (decision.runs.begin == 0).all()
        left = dict(zip(jobs.job.tolist(), jobs.remaining, strict=True))
        for k, end in zip(decision.runs.job.tolist(), decision.runs.end, strict=True):
            seconds = left[k] / (granted[k] * instance.speed[where[k]])
            assert end == pytest.approx(min(1.0, seconds))


def needs(
    instance: OincInstance, step: Step, site: int, those: list[tuple[str, int]]
) -> list[float]:
    """Return what each resident adds to the estimate on a whole CPU."""
    jobs, need = step.seen.jobs, []
    left = dict(zip(jobs.job.tolist(), jobs.remaining, strict=True))
    for kind, number in those:
        if kind == "request":
            seconds = step.seen.requests.computation[number, site]
            need.append(seconds / instance.latency_scale)
        else:
            seconds = left[number] / instance.speed[site]
            need.append(instance.weight[number] * seconds / instance.completion_scale)  # type: ignore[index]
    return need


def thefts(need: list[float], requests: int, free: float, room: float, size: float) -> list[float]:
    """Return the shares of new residents, requests in front, after all thefts."""
    n, m = len(need), len(need) - requests
    if n == 0:
        return []
    of_job = min(free / n, room / m) if m else 0.0
    of_request = (free - m * of_job) / requests if requests else 0.0
    share = [of_request] * requests + [of_job] * m

    def estimate(shares: list[float]) -> float:
        return sum(q / z for q, z in zip(need, shares, strict=True))

    stolen = True
    while stolen:
        stolen = False
        for thief in range(n):
            for victim in range(n):
                while thief != victim:
                    after = list(share)
                    after[thief] += size
                    after[victim] -= size
                    grows = thief >= requests > victim
                    if after[victim] < size - 1e-9:
                        break
                    if grows and sum(after[requests:]) > room + 1e-9:
                        break
                    if estimate(after) >= estimate(share) - 1e-12:
                        break
                    share, stolen = after, True
    return share


@settings(max_examples=draws(100))
@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0, 30.0]), min_size=1, max_size=5),
    st.integers(0, 5),
    st.sampled_from([0.5, 1.0]),
    st.sampled_from([0.2, 0.45, 0.5]),
    st.sampled_from([0.02, 0.07]),
)
def test_thefts_end_where_a_plain_loop_does(
    need: list[float], requests: int, free: float, room: float, size: float
) -> None:
    requests = min(requests, len(need))
    home = np.zeros(len(need), dtype=np.int64)
    share = _steal(home, np.array(need), requests, np.array([free]), np.array([room]), size)
    assert share == pytest.approx(thefts(need, requests, free, room, size))
    assert share[requests:].sum() <= room + 1e-9
    # Without jobs, or with more room than they want, all that is free is shared out.
    if requests:
        assert share.sum() == pytest.approx(free)


def test_jobs_steal_no_more_than_they_may_hold() -> None:
    """From a third each, the job would take all it can; beyond two steps it would hold over .5."""
    home, need = np.zeros(3, dtype=np.int64), np.array([1.0, 1.0, 30.0])
    share = _steal(home, need, 2, np.array([1.0]), np.array([0.5]), 0.07)
    assert share[2] == pytest.approx(1 / 3 + 0.14)
    # Both steps came from one request, which then took one of them from the other.
    assert share[:2] == pytest.approx([1 / 3 - 0.07] * 2)


def test_several_new_jobs_need_room_for_a_step_each() -> None:
    """There is room for three more steps on site 0, for one and a half on site 1."""
    waiting, step = np.full(4, -1), 0.05 * (1 - 1e-9)
    jobs, site = _send(waiting, np.ones((2, 2), bool), np.array([0.15, 0.075]), step)
    assert jobs.tolist() == [0, 1, 0, 0]
    assert site.tolist() == [1, 1]
    jobs, _ = _send(np.append(waiting, 0), np.ones((0, 2), bool), np.array([0.1, 0.075]), step)
    assert jobs.tolist() == [1, 0, 0, -1, 0]


@pytest.mark.parametrize("options", [{}, {"step": 0.12, "largest": 0.5}], ids=str)
@settings(max_examples=draws(60))
@given(oinc_instances(devices=4, jobs=5))
def test_a_plain_reading(options: dict[str, float], instance: OincInstance) -> None:
    policy = Ekya(**options)
    steps, _ = step_through(OincEnvironment(instance), policy)
    plain(policy, instance, steps)
