"""The thief scheduler: who resides where, what is stolen, and what a job keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.oinc import OincInstance
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.policies.ekya import Ekya
from tests.online.oinc.lives import live, other_future, same
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.online.oinc.events import Decision
    from tests.online.oinc.lives import Step


def world(
    active: list[list[int]], arrival: list[int], work: list[float], sites: int = 1, **changes: Any
) -> OincInstance:
    """Return sites of 1 Gcycle/s and requests of 1/10 s of a whole band and of a whole CPU."""
    flags = np.array(active)
    data: dict[str, Any] = {
        "speed": np.ones(sites),
        "rate": np.ones((flags.shape[1], sites)),
        "active": flags,
        "request_size": np.full(flags.shape, 0.1),
        "request_work": np.full(flags.shape, 0.1),
        "slo": np.full(flags.shape, 0.5),
        "arrival": np.array(arrival, dtype=int),
        "work": np.array(work),
        "deadline": np.array(arrival) + 9.0,
        "latency_scale": 1.0,
        "completion_scale": 10.0,
    }
    return OincInstance(**data | changes)


def decisions(instance: OincInstance, **options: float) -> list[Decision]:
    steps, _ = live(OincEnvironment(instance), Ekya(**options))
    return [step.decision for step in steps]


# --- by hand -------------------------------------------------------------------------------------


def test_a_request_and_a_job_steal_until_it_helps_no_more() -> None:
    """Needs of .1 and 1.6 share 1 best as 1 to 4; steps of .05 lead there from a half each."""
    [first, *_] = decisions(world([[1]], [0], [16.0]))
    assert first.plan.cpu == pytest.approx([0.2])
    assert first.reserved == pytest.approx([0.8])
    assert first.runs.share == pytest.approx([0.8])
    assert first.plan.band.tolist() == [1.0]
    # Coarse steps overshoot: .1/.5 + 1.6/.5 = 3.4, .1/.2 + 1.6/.8 = 2.5, .1/.1 is out of reach.
    assert decisions(world([[1]], [0], [16.0]), step=0.3)[0].reserved == pytest.approx([0.5])
    assert decisions(world([[1]], [0], [16.0]), step=0.15)[0].reserved == pytest.approx([0.8])
    # Four times the work: 1 to 8, of which steps from a half reach .1 and .9, or .15 and .85.
    assert decisions(world([[1]], [0], [64.0]))[0].reserved == pytest.approx([0.9])


def test_weights_and_scales_count() -> None:
    heavy = world([[1]], [0], [4.0], weight=[4.0])
    assert decisions(heavy)[0].reserved == pytest.approx([0.8])
    scaled = world([[1]], [0], [16.0], latency_scale=0.0625, completion_scale=10.0)
    assert decisions(scaled)[0].reserved == pytest.approx([0.5])
    fast = world([[1]], [0], [64.0], speed=[4.0], request_work=[[0.4]])
    assert decisions(fast)[0].reserved == pytest.approx([0.8])


def test_a_job_keeps_its_share_and_requests_take_the_rest() -> None:
    """Granted .8 beside a request; later slots have none, then two requests."""
    instance = world([[1, 0], [0, 0], [1, 1]], [0], [16.0])
    steps = decisions(instance)
    assert [step.reserved[0] for step in steps[:20]] == pytest.approx([0.8] * 20)
    assert len(steps) == 20
    assert steps[2].plan.cpu == pytest.approx([0.1, 0.1])
    assert steps[2].plan.band.tolist() == [0.5, 0.5]


def test_a_second_job_gets_what_the_first_leaves() -> None:
    """Alone a job gets what jobs may hold, and another waits until it is complete."""
    instance = world([[0], [0]], [0, 1], [1.9, 0.5])
    steps = decisions(instance)
    assert [step.job_site.tolist() for step in steps] == [[0], [0, -1], [0]]
    assert steps[0].reserved == pytest.approx([0.95])
    assert steps[0].runs.end.tolist() == [1.0]
    # Two at once share what jobs may hold.
    steps = decisions(world([[0], [0]], [0, 0], [1.0, 1.0]), largest=0.5)
    assert steps[0].runs.share == pytest.approx([0.25, 0.25])
    assert steps[0].reserved == pytest.approx([0.5])
    # Beside a request .25 is left, half of it for each; another step would be beyond .9 in all.
    beside = decisions(world([[1], [1]], [0, 1], [10.0, 10.0]), largest=0.9)
    assert beside[0].reserved == pytest.approx([0.75])
    assert beside[1].runs.share == pytest.approx([0.75, 0.125])
    beside = decisions(world([[1], [1]], [0, 1], [10.0, 10.0]), largest=0.93)
    assert beside[1].runs.share == pytest.approx([0.75, 0.175])


def test_residents_spread_by_number() -> None:
    """Three sites: jobs 0 and 1 on sites 0 and 1, then requests on 2, 0, 1 and 2 again."""
    instance = world([[1, 1, 1, 1], [1, 1, 1, 0]], [0, 0], [9.0, 9.0], sites=3)
    steps = decisions(instance)
    assert steps[0].job_site.tolist() == [0, 1]
    assert steps[0].plan.site.tolist() == [2, 0, 1, 2]
    # Jobs reside on, requests do not.
    assert steps[1].plan.site.tolist() == [2, 0, 1]


def test_a_job_runs_no_longer_than_it_needs() -> None:
    steps, episode = live(OincEnvironment(world([[1]], [0], [0.1])), Ekya())
    [first] = steps
    share = float(first.decision.runs.share[0])
    assert first.decision.runs.end == pytest.approx([0.1 / share])
    assert episode.completion == pytest.approx([0.1 / share])


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
            share = thefts(policy, instance, step, j, those, held[j])
            for (kind, number), part in zip(those, share, strict=True):
                if kind == "request":
                    assert decision.plan.cpu[number] == pytest.approx(part)
                    others = sum(one == "request" for one, _ in those)
                    assert decision.plan.band[number] == pytest.approx(1 / others)
                else:
                    granted[number], where[number] = part, j
        total = [sum(u for k, u in granted.items() if where[k] == j) for j in range(len(new))]
        assert decision.reserved == pytest.approx(total)
        run = dict(zip(decision.runs.job.tolist(), decision.runs.share, strict=True))
        assert run == pytest.approx(granted)
        assert (decision.runs.begin == 0).all()


def thefts(
    policy: Ekya,
    instance: OincInstance,
    step: Step,
    site: int,
    those: list[tuple[str, int]],
    held: float,
) -> list[float]:
    """Return the shares of new residents after all thefts."""
    jobs, requests = step.seen.jobs, step.seen.requests
    left = dict(zip(jobs.job.tolist(), jobs.remaining, strict=True))
    need = []
    for kind, number in those:
        if kind == "request":
            need.append(requests.computation[number, site] / instance.latency_scale)
        else:
            weight = instance.weight[number]  # type: ignore[index]
            need.append(weight * left[number] / instance.speed[site] / instance.completion_scale)
    is_job = [kind == "job" for kind, _ in those]
    room, m, n = policy.largest - held, sum(is_job), len(those)
    if n == 0:
        return []
    equal = (1 - held) / n
    of_job = min(equal, room / m) if m else 0.0
    of_request = (1 - held - m * of_job) / (n - m) if n > m else 0.0
    share = [of_job if job else of_request for job in is_job]

    def estimate(shares: list[float]) -> float:
        return sum(q / z for q, z in zip(need, shares, strict=True))

    stolen = True
    while stolen:
        stolen = False
        for thief in range(n):
            for victim in range(n):
                while thief != victim:
                    after = list(share)
                    after[thief] += policy.step
                    after[victim] -= policy.step
                    together = sum(z for z, job in zip(after, is_job, strict=True) if job)
                    if after[victim] < policy.step - 1e-9 or together > room + 1e-9:
                        break
                    if estimate(after) >= estimate(share) - 1e-12:
                        break
                    share, stolen = after, True
    return share


@pytest.mark.parametrize("options", [{}, {"step": 0.12, "largest": 0.5}], ids=str)
@settings(max_examples=60)
@given(oinc_instances(devices=4, jobs=5))
def test_a_plain_reading(options: dict[str, float], instance: OincInstance) -> None:
    policy = Ekya(**options)
    steps, _ = live(OincEnvironment(instance), policy)
    plain(policy, instance, steps)


@settings(max_examples=25)
@given(oinc_instances(jobs=5), st.integers(0, 3), st.integers(0, 99))
def test_changing_the_future_changes_no_past_decision(
    instance: OincInstance, slot: int, seed: int
) -> None:
    slot = min(slot, instance.slots - 1)
    changed = other_future(instance, slot, seed)
    steps, others = (live(OincEnvironment(one), Ekya())[0] for one in (instance, changed))
    for one, two in zip(steps[: slot + 1], others, strict=False):
        assert same(one.decision, two.decision)
