"""The loop of parts: what is kept when, what is served, and runs equal to those of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.slot.solve import evaluate, solve_slot
from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.inference import GreedyConvex
from edgeopt.online.oinc.policies.loop import Oinc
from edgeopt.online.oinc.reservation import Reservation, StaticShares
from edgeopt.online.oinc.retraining.residual_density import ResidualDensity
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import step_through, two_sites

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.components import Queues


def test_a_run_by_hand() -> None:
    """A site of 4 and one of 2 Gcycle/s, all shares a half; job 0 arrives first, then job 1."""
    half = Reservation(smallest=0.5, largest=0.5)
    environment = OincEnvironment(two_sites(work=[3.0, 2.0]))
    steps, episode = step_through(environment, Oinc(reservation=half))
    # Job 0 runs on the faster site for 1.5 s. Job 1 finds the other idle, so that half of it is
    # kept too; there it would take 2 s, on site 0 it takes 1 s and waits for half a second.
    assert [step.decision.reserved.tolist() for step in steps] == [
        [0.5, 0.0], [0.5, 0.5], [0.5, 0.0],
    ]  # fmt: skip
    assert episode.job_site.tolist() == [0, 0]
    assert episode.completion.tolist() == [1.5, 2.5]
    assert steps[1].decision.runs.job.tolist() == [0, 1]
    assert steps[1].decision.runs.end.tolist() == [0.5, 1.0]
    # 1/4 + 1/4 s either at half of site 0 or at the whole of site 1.
    assert steps[0].decision.plan.site.tolist() in ([0], [1])
    assert steps[0].outcome.latency.tolist() == [0.5]


def test_a_site_without_jobs_keeps_nothing_until_the_next_arrival() -> None:
    truth = two_sites(
        active=np.zeros((4, 2)), rate=np.full((2, 2), 8.0), request_size=np.zeros((4, 2)),
        request_work=np.zeros((4, 2)), slo=np.ones((4, 2)), arrival=[0, 3], work=[1.0, 1.0],
        deadline=[2.0, 5.0], request_weight=None,
    )  # fmt: skip
    steps, episode = step_through(OincEnvironment(truth), Oinc())
    assert [step.decision.reserved.tolist() for step in steps] == [
        [0.95, 0.0], [0.0, 0.0], [0.0, 0.0], [0.95, 0.0],
    ]  # fmt: skip
    assert episode.completion == pytest.approx([1.0 / 3.8, 3.0 + 1.0 / 3.8])


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked(ResidualDensity):
    """Residual density that is asked in every slot."""

    steady: ClassVar[bool] = False


@settings(max_examples=draws(25))
@given(oinc_instances(empty=False), st.booleans(), st.sampled_from(["fluid", "slot"]))
def test_decisions_that_stand_come_to_what_those_of_every_slot_do(
    instance: OincInstance, fixed: bool, service: Any
) -> None:
    shares = StaticShares(share=0.3) if fixed else Reservation(smallest=0.01, largest=0.4)
    stands, asked = (
        simulate(
            OincEnvironment(replace(instance, work=2.0 * instance.work)),
            Oinc(retraining=part(service=service), reservation=shares),
            runs=1,
        )
        for part in (ResidualDensity, Asked)
    )
    assert stands.decisions.sum() <= asked.decisions.sum() == asked.end
    for name in ("end", "completion", "job_site", "reserved", "job_load", "latency", "reward"):
        assert getattr(stands, name).tolist() == getattr(asked, name).tolist()


def test_a_decision_stands_until_a_job_is_nearly_complete() -> None:
    environment = OincEnvironment(two_sites(work=[30.0, 20.0]))
    run = simulate(environment, Oinc(reservation=Reservation(largest=0.5)), runs=1)
    # Half of site 0, of 4 Gcycle/s, serves job 0 for a second, job 1 for 10 and job 0 for 14.
    assert run.completion.tolist() == [[25.0, 11.0]]
    assert run.end.tolist() == [25.0]
    # Two slots with requests, then each job once for most of its time and once for its last slot.
    assert run.decisions.tolist() == [[1, 5]]


@settings(max_examples=draws(25))
@given(oinc_instances(empty=False), st.booleans())
def test_shares_are_kept_from_dispatch_to_the_last_completion(
    instance: OincInstance, optimise: bool
) -> None:
    policy = Oinc(reservation=Reservation(optimise=optimise, smallest=0.1, largest=0.7))
    steps, episode = step_through(OincEnvironment(instance), policy)
    before = np.zeros(instance.sites)
    for t, step in enumerate(steps):
        kept, new = step.decision.reserved, step.seen.jobs.new(t)
        changed = kept != before
        # Shares change only with an arrival, only from nothing, and at most one for each new job.
        assert not changed.any() or new.any()
        assert (before[changed] == 0.0).all()
        assert changed.sum() == min(int(new.sum()), int((before == 0.0).sum()))
        assert ((kept[changed] >= 0.1) & (kept[changed] <= 0.7)).all()
        waiting = [
            k for k in range(instance.jobs)
            if instance.arrival[k] <= t and episode.completion[k] > t + 1
        ]  # fmt: skip
        before = np.zeros(instance.sites)
        for k in waiting:
            before[episode.job_site[k]] = kept[episode.job_site[k]]
        assert (kept[before > 0] > 0).all()


@settings(max_examples=draws(25))
@given(oinc_instances())
def test_requests_are_answered_beside_what_is_kept(instance: OincInstance) -> None:
    steps, _ = step_through(OincEnvironment(instance), Oinc())
    for step in steps:
        beside = step.seen.requests.with_reserved(step.decision.reserved)
        plan = solve_slot(beside, late=instance.refusal_latency)
        assert step.decision.plan.latency.tolist() == plan.latency.tolist()


@dataclass(frozen=True)
class Noting:
    """A part for retraining that notes what it is asked."""

    asked: list[Queues] = field(default_factory=list)
    name: str = "noting"

    def start(self, instance: OincInstance) -> int:
        return 0

    def dispatch(self, memory: int, queues: Queues) -> tuple[np.ndarray, int]:
        self.asked.append(queues)
        return np.zeros(queues.jobs.job.size, dtype=int), memory + 1

    def serve(self, memory: int, queues: Queues) -> tuple[Any, int]:
        self.asked.append(queues)
        runs, _ = ResidualDensity().serve(None, queues)
        assert memory % 10 == len(self.asked) // 2 % 10
        return runs, memory


def test_parts_are_asked_with_shares_speeds_and_where_jobs_are() -> None:
    part = Noting()
    policy = Oinc(retraining=part, reservation=StaticShares(0.25))
    step_through(OincEnvironment(two_sites()), policy)
    first, then = part.asked[:2]
    assert first.share.tolist() == [0.25, 0.25]
    assert first.speed.tolist() == [1.0, 0.5]
    assert first.jobs.site.tolist() == [-1]
    assert then.jobs.site.tolist() == [0]
    assert [queues.slot for queues in part.asked[:4]] == [0, 0, 1, 1]


def test_names_are_put_together_from_parts() -> None:
    assert Oinc().name == "OINC"
    assert Oinc(title="mine").name == "mine"
    assert Oinc(reservation=StaticShares()).name == "OINC with StaticShares"
    assert Oinc(inference=GreedyConvex(), reservation=Reservation(largest=0.8)).name == (
        "OINC with Greedy & Reservation, largest=0.8"
    )


@dataclass(frozen=True)
class Tossing:
    """Sends every request to a site by a coin."""

    name: str = "Tossing"
    deterministic: bool = False

    def start(self, instance: OincInstance) -> None:
        """Remember nothing."""

    def answer(self, memory: None, problem: Any, rng: np.random.Generator) -> Any:
        """Toss a coin for each request."""
        return evaluate(problem, rng.integers(problem.sites, size=problem.requests)), None


def test_parts_may_toss_coins() -> None:
    environment = OincEnvironment(generate(sites=3, devices=6, slots=12, jobs=2, rng=4))
    policy = Oinc(inference=Tossing())
    assert not policy.deterministic
    assert Oinc().deterministic
    first, again, other = (simulate(environment, policy, runs=3, rng=rng) for rng in (1, 1, 2))
    assert np.array_equal(first.latency, again.latency, equal_nan=True)
    assert not np.array_equal(first.latency, other.latency, equal_nan=True)
    # The runs differ: none counts for another one.
    assert not np.array_equal(first.latency[0], first.latency[1], equal_nan=True)
