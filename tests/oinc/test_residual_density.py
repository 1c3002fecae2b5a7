"""Residual density slot by slot is the compiled run while shares stay, and copes with changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import retraining_problem
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online import simulate
from edgeopt.online.oinc import ResidualDensity
from edgeopt.online.oinc.components import Queues
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.events import Decision, Jobs
from edgeopt.online.oinc.retraining import run_density
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws
from tests.oinc.scenarios import unit_sites

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import OincTrajectory, Outcome, Slot

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JobsAlone:
    """Refuse all requests, and serve jobs on shares that are told for every slot, shape [slots, J].

    The last shares hold for good.
    """

    part: ResidualDensity
    shares: Floats
    name: str = "jobs alone"

    def start(self, instance: OincInstance) -> OincInstance:
        return instance

    def decide(
        self, state: OincInstance, observation: Slot, rng: np.random.Generator
    ) -> tuple[Decision, OincInstance]:
        share = self.shares[min(observation.slot, len(self.shares) - 1)]
        queues = Queues(observation.slot, observation.jobs, share, share * state.speed)
        site, _ = self.part.dispatch(None, queues)
        queues = queues._replace(jobs=observation.jobs._replace(site=site))
        runs, _ = self.part.serve(None, queues)
        n = observation.requests.requests
        plan = SlotPlan(observation.requests, np.full(n, -1), np.zeros(n), np.zeros(n))
        return Decision(plan, site, share, runs), state

    def learn(
        self, state: OincInstance, observation: Slot, decision: Decision, feedback: Outcome
    ) -> OincInstance:
        return state


def simulated(instance: OincInstance, part: ResidualDensity, shares: Any) -> OincTrajectory:
    """Simulate an instance under shares, shape [J] or [slots, J]."""
    told = np.atleast_2d(np.asarray(shares, dtype=float))
    return simulate(OincEnvironment(instance), JobsAlone(part, told), runs=1)  # type: ignore


def jobs_only(work: Any, arrival: Any, speed: Any, **changes: Any) -> OincInstance:
    """Return an instance without requests, long enough for all arrivals."""
    silent = np.zeros((int(np.max(arrival)) + 1, 1), dtype=bool)
    patience = {"speed": speed, "deadline": np.full(len(work), 1e6)}
    return unit_sites(silent, arrival, work, len(speed), **patience | changes)


PARTS = st.builds(
    ResidualDensity,
    service=st.sampled_from(["fluid", "slot"]),
    weights=st.sampled_from(["constant", "deadline"]),
)


@settings(max_examples=draws(60))
@given(oinc_instances(jobs=6, empty=False), PARTS, st.data())
def test_slot_by_slot_is_the_compiled_run_while_shares_stay(
    instance: OincInstance, part: ResidualDensity, data: st.DataObject
) -> None:
    # Shares, work and weights are binary fractions, so that completion times and ties are exact.
    patience = 2.0 ** np.round(np.log2(instance.deadline - instance.arrival))
    instance = replace(instance, deadline=instance.arrival + patience)
    share = np.array([data.draw(st.sampled_from([0.5, 0.25, 0.0])) for _ in instance.speed])
    assume(share.any())
    problem = retraining_problem(instance, share, part.weights)
    run = run_density(problem, service=part.service)
    ran = simulated(instance, part, share)
    assert ran.completion[0].tolist() == run.completion.tolist()
    assert ran.job_site[0].tolist() == run.site.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_slot_by_slot_is_the_compiled_run_where_nothing_is_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.integers(0, 15, 20))
    instance = jobs_only(rng.uniform(0.5, 9.0, 20), arrival, rng.uniform(1.0, 4.0, 3),
                         weight=rng.uniform(0.1, 2.0, 20))  # fmt: skip
    share = rng.uniform(0.2, 0.9, 3)
    for part in (ResidualDensity(), ResidualDensity(service="slot")):
        run = run_density(retraining_problem(instance, share), service=part.service)
        ran = simulated(instance, part, share)
        assert ran.job_site[0].tolist() == run.site.tolist()
        np.testing.assert_allclose(ran.completion[0], run.completion, rtol=1e-9)


@settings(max_examples=draws(60))
@given(oinc_instances(jobs=6, empty=False), PARTS, st.data())
def test_shares_that_change_are_never_overdrawn_and_all_jobs_end(
    instance: OincInstance, part: ResidualDensity, data: st.DataObject
) -> None:
    options = st.sampled_from([0.0, 0.3, 0.5, 0.9])
    shares = np.array(
        [[data.draw(options) for _ in instance.speed] for _ in range(instance.slots)]
        + [[0.4] * instance.sites]
    )
    ran = simulated(instance, part, shares)
    assert np.isfinite(ran.completion).all()
    assert (ran.job_load <= ran.reserved + 1e-12).all()


def queues(site: Any, remaining: Any, speed: Any, **columns: Any) -> Queues:
    """Return jobs 0, 1, ... of weight 1 that arrived at 0 and have not been served."""
    q = len(site)
    left = np.array(remaining, dtype=float)
    jobs = Jobs(
        np.arange(q), np.array(site), np.zeros(q, dtype=np.bool_), left, left,
        np.zeros(q, dtype=np.int64), np.full(q, 100.0), np.ones(q),
    )  # fmt: skip
    rate = np.array(speed, dtype=float)
    return Queues(0, jobs._replace(**columns), rate / 10.0, rate)


def test_jobs_wait_while_no_site_serves_and_avoid_those_that_do_not() -> None:
    part = ResidualDensity()
    assert part.dispatch(None, queues([-1, -1], [1, 2], [0, 0]))[0].tolist() == [-1, -1]
    assert part.dispatch(None, queues([-1, -1], [1, 2], [0, 1, 0]))[0].tolist() == [1, 1]
    # The queue of the fast site is longer than the slow one is slow.
    assert part.dispatch(None, queues([0, -1], [9, 4], [3, 1]))[0].tolist() == [0, 0]
    dense = queues([0, -1], [9, 4], [3, 1], weight=np.array([9.0, 1.0]))
    assert part.dispatch(None, dense)[0].tolist() == [0, 1]


def test_weights_by_deadline_are_those_of_the_arrival() -> None:
    seen = queues([0, 0], [3.0, 4.0], [2.0], deadline=np.array([20.0, 10.0]))
    assert ResidualDensity().serve(None, seen)[0].job.tolist() == [0]
    part = ResidualDensity(weights="deadline")
    assert part.serve(None, seen)[0].job.tolist() == [1]
    # By the time that is left in slot 15, job 0 would be denser: 1 / (5 * 3) > 1 / (14 * 2).
    close = queues([0, 0], [3.0, 2.0], [1.0], deadline=np.array([20.0, 29.0]))
    assert part.serve(None, close._replace(slot=15))[0].job.tolist() == [1]


def test_of_equally_dense_jobs_the_first_runs_first() -> None:
    runs, _ = ResidualDensity().serve(None, queues([0, 0, 0], [0.5, 0.25, 0.25], [1.0]))
    assert runs.job.tolist() == [1, 2, 0]
    assert runs.begin.tolist() == [0.0, 0.25, 0.5]
    runs, _ = ResidualDensity(service="slot").serve(None, queues([0, 0], [0.5, 0.5], [1.0]))
    assert (runs.job.tolist(), runs.end.tolist()) == ([0], [1.0])


@pytest.mark.parametrize(
    ("options", "text"),
    [({"service": "whole"}, "service = 'whole'"), ({"weights": "age"}, "weights = 'age'")],
)
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        ResidualDensity(**options)


def test_the_name_tells_what_is_not_default() -> None:
    assert ResidualDensity().name == "ResidualDensity"
    assert ResidualDensity(service="slot").name == "ResidualDensity, service=slot"


def test_a_job_of_no_weight_ends_all_the_same() -> None:
    instance = jobs_only([1.0, 1.0], [0, 0], [2.0], weight=[0.0, 1.0])
    assert simulated(instance, ResidualDensity(), 0.5).completion.tolist() == [[2.0, 1.0]]
    unweighted = replace(instance, weight=np.zeros(2))
    assert simulated(unweighted, ResidualDensity(), 0.5).completion.tolist() == [[1.0, 2.0]]


def test_a_job_is_urgent_by_the_time_that_it_was_given():
    """At 3 s a job of 1 s left and 8 s given meets one of 2 s of work and 2 s given: 1/8 < 1/4."""
    instance = jobs_only([4.0, 2.0], [0, 3], [2.0], deadline=[8.0, 5.0])
    urgent = simulated(instance, ResidualDensity(weights="deadline"), [0.5])
    assert urgent.completion[0].tolist() == [6.0, 5.0]
    assert simulated(instance, ResidualDensity(), [0.5]).completion[0].tolist() == [4.0, 6.0]
