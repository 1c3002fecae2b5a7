"""Observations, decisions and outcomes of OINC, and the trajectory of a run.

A slot shows its requests and the jobs that are not complete. The decision says for every request
where it goes and what it is given, for every job where it waits, and what runs when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.online.protocols import Trajectory
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem


@compact_repr
class Jobs(NamedTuple):
    """Jobs that have arrived and are not complete, in the order of their arrival.

    Attributes
    ----------
    job
        Number of each job, shape [q].
    site
        Site where it waits, -1 while it has not been dispatched, shape [q].
    started
        Whether it has been served at all, so that it may no longer move, shape [q].
    remaining
        Work that is left, Gcycle, shape [q].
    work
        Work at its arrival, Gcycle, shape [q].
    arrival
        Slot of its arrival, shape [q].
    deadline
        Time by which it should be complete, shape [q].
    weight
        Weight of its completion time, shape [q].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online.oinc import OincEnvironment
    >>> environment = OincEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> jobs = environment.episode(scenario).observe().jobs
    >>> jobs.job, jobs.site, jobs.remaining.round(1)
    (array([0, 1]), array([-1, -1]), array([3.7, 0.4]))
    """

    job: Ints
    site: Ints
    started: Flags
    remaining: Floats
    work: Floats
    arrival: Ints
    deadline: Floats
    weight: Floats

    def new(self, slot: int) -> Flags:
        """Return which jobs arrived in a slot, shape [q]."""
        return np.asarray(self.arrival == slot)


@dataclass(frozen=True, eq=False)
class Slot:
    """A slot that begins.

    Attributes
    ----------
    slot
        Its number; after the horizon there are slots without requests until all jobs are complete.
    requests
        Its requests, with the whole CPU of every site at their disposal.
    jobs
        The jobs that are not complete, those included that arrive now.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online.oinc import OincEnvironment
    >>> environment = OincEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> slot = environment.episode(scenario).observe()
    >>> slot.slot, slot.requests.device, slot.jobs.job
    (0, array([0]), array([0, 1]))
    """

    slot: int
    requests: SlotProblem
    jobs: Jobs


@compact_repr
class Runs(NamedTuple):
    """What runs when within a slot; runs of different jobs may overlap.

    Attributes
    ----------
    job
        Number of the job that runs, shape [r]. It runs at the site where it waits.
    share
        Share of the CPU of that site, in (0, 1], shape [r].
    begin, end
        Beginning and end, s since the slot began, ``0 <= begin < end <= 1``, shape [r].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.oinc import Runs
    >>> runs = Runs(np.array([3]), np.array([0.5]), np.array([0.0]), np.array([0.8]))
    >>> (runs.end - runs.begin) * runs.share, Runs.none().job.size
    (array([0.4]), 0)
    """

    job: Ints
    share: Floats
    begin: Floats
    end: Floats

    @classmethod
    def none(cls) -> Runs:
        """Return no runs."""
        empty = np.zeros(0)
        return cls(np.zeros(0, dtype=np.int64), empty, empty, empty)


@compact_repr
@dataclass(frozen=True, eq=False)
class Decision:
    """What to do in a slot.

    Attributes
    ----------
    plan
        Site, band and CPU of every request; its problem must be that of the slot.
    job_site
        Site of every job that the slot has shown, -1 to keep it waiting, shape [q]. A job that has
        started stays where it is.
    reserved
        Share of the CPU of each site that is kept for jobs, in [0, 1), shape [J]. Jobs may not run
        on more, requests may not be given what is kept.
    runs
        What runs when. A job is complete at the end of the run that does the last of its work.
    standing
        Whether it stands, after the last slot with requests, for the slots that follow, as long as
        all runs take whole slots and complete no job. The policy is asked again after that.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import solve_slot
    >>> from edgeopt.online.oinc import Decision, OincEnvironment, Runs
    >>> environment = OincEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> slot = episode.observe()
    >>> waiting, kept = np.full(slot.jobs.job.size, -1), np.zeros(small(1).sites)
    >>> decision = Decision(solve_slot(slot.requests), waiting, kept, Runs.none())
    >>> episode.act(decision).latency.round(2)
    array([0.25])
    """

    plan: SlotPlan
    job_site: Ints
    reserved: Floats
    runs: Runs
    standing: bool = False


@compact_repr
class Outcome(NamedTuple):
    """What a slot came to.

    Attributes
    ----------
    latency
        Latency of each request, s, NaN where refused, shape [n].
    completed
        Numbers of the jobs that are complete now, shape [c].
    completion
        When each of them was, s since the start, shape [c].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> environment, policy = OincEnvironment(small(1)), Oinc()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> decision, state = policy.decide(
    ...     policy.start(environment.instance), episode.observe(), np.random.default_rng(0)
    ... )
    >>> outcome = episode.act(decision)
    >>> outcome.latency.round(2), outcome.completed
    (array([0.28]), array([1]))
    """

    latency: Floats
    completed: Ints
    completion: Floats


@compact_repr
class Served(NamedTuple):
    """What served which job when, for pictures; in the order of the slots.

    Attributes
    ----------
    job, site
        The job and where it ran, shape [R].
    share
        Share of the CPU of that site, shape [R].
    begin, end
        Beginning and end, s since the start of the first slot, shape [R].

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> trajectory = simulate(OincEnvironment(small(1)), Oinc(), runs=1, keep_trace=True)
    >>> served = trajectory.served
    >>> served.job.tolist(), round(float((served.end - served.begin).sum()), 2)
    ([1, 0, 2, 0, 2, 0, 0, 0, 0], 7.62)
    """

    job: Ints
    site: Ints
    share: Floats
    begin: Floats
    end: Floats


@compact_repr
@dataclass(frozen=True, eq=False)
class OincTrajectory(Trajectory):
    r"""A trajectory of OINC; less is better.

    The reward of a slot is what the requests and jobs that arrived in it cost in the weighted sum:
    latencies over `latency_scale`, times the weight of the slot, and completion times over
    `completion_scale`, times the weight of the job. A refused request counts with the refusal
    latency, a job that was never complete with the end of the run. Violations are the objectives
    of requests and the deadlines of jobs that arrived in the slot and were missed. Decisions after
    the last slot count as decisions of the last slot, one that stands for several slots once.

    Attributes
    ----------
    instance
        The instance that was simulated, with its future.
    slot, device
        Slot and device of every request, in order, shape [N].
    latency
        Latency of every request, s, shape [runs, N]; NaN where refused.
    site
        Site of every request, shape [runs, N]; -1 where refused.
    completion
        Completion time of every job, s since the start, shape [runs, K]; infinite where the job
        was not complete when the run ended.
    job_site
        Site of every job, shape [runs, K]; -1 where it was never dispatched.
    end
        When the run ended, s since the start, shape [runs]: the number of its slots, those without
        requests included that were needed to complete the jobs.
    reserved
        Share of the CPU that was kept for jobs, shape [runs, T', J], where T' is the number of
        slots of the longest run; 0 after the end of a run.
    job_load
        Share of the CPU that jobs used, averaged over each slot, shape [runs, T', J].
    band_load
        Share of the band that was given to requests, shape [runs, T, J].
    cpu_load
        Share of the CPU that was given to requests, shape [runs, T, J].
    bound
        Lower bound on the sum of the latencies of each slot, for the requests answered, the
        objectives met and the CPU reserved, s, shape [runs, T]; NaN where the policy certified
        none. It is taken from the plans, see `SlotPlan.bound`.
    served
        Recorded only on request: what served which job when in the first run.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> trajectory = simulate(OincEnvironment(small(1)), Oinc(), runs=1)
    >>> trajectory.completion.round(2), trajectory.latency.round(2)
    (array([[5.87, 0.71, 2.05]]), array([[0.28, 0.32, 0.25]]))
    """

    instance: OincInstance
    slot: Ints
    device: Ints
    latency: Floats
    site: Ints
    completion: Floats
    job_site: Ints
    end: Floats
    reserved: Floats
    job_load: Floats
    band_load: Floats
    cpu_load: Floats
    bound: Floats
    served: Served | None = None

    @property
    def slo(self) -> Floats:
        """Objective of every request, s, shape [N]."""
        return np.asarray(self.instance.slo[self.slot, self.device])

    @property
    def refused(self) -> Flags:
        """Whether a request was refused, shape [runs, N]."""
        return np.asarray(self.site < 0)

    @property
    def met(self) -> Flags:
        """Whether a request was answered within its objective, shape [runs, N]."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.latency <= self.slo * (1.0 + TIGHT))

    @property
    def complete(self) -> Flags:
        """Whether a job was complete when the run ended, shape [runs, K]."""
        return np.isfinite(self.completion)

    @property
    def on_time(self) -> Flags:
        """Whether a job was complete by its deadline, shape [runs, K]."""
        return np.asarray(self.completion <= self.instance.deadline * (1.0 + TIGHT))

    @property
    def counted_latency(self) -> Floats:
        """Latencies with the refusal latency for the refused, s, shape [runs, N]."""
        return np.where(self.refused, self.instance.refusal_latency, self.latency)

    @property
    def counted_completion(self) -> Floats:
        """Completion times with the end of the run for the incomplete, s, shape [runs, K]."""
        return np.where(self.complete, self.completion, self.end[:, None])

    def mean_latency(self) -> Floats:
        """Return the mean latency, refused requests included, s, shape [runs]; 0 without any."""
        return _mean(self.counted_latency)

    def mean_completion(self) -> Floats:
        """Return the mean completion time since the start, s, shape [runs]; 0 without jobs.

        Jobs that were never complete are included, with the end of the run.
        """
        return _mean(self.counted_completion)

    def mean_flow_time(self) -> Floats:
        """Return the mean time from arrival to completion, s, shape [runs]; 0 without jobs."""
        return _mean(self.counted_completion - self.instance.arrival)

    def scaled_parts(self) -> tuple[Floats, Floats]:
        """Return both parts of the weighted scaled sum, of inference and of retraining, [runs].

        They are the means of latency and of completion time with the weights of slots and jobs,
        each over its scale; 0 where nothing has a weight.
        """
        per_request, per_job = self.instance.scaled_units
        latency = self.counted_latency @ self.instance.request_weight[self.slot]
        completion = self.counted_completion @ self.instance.weight
        return np.asarray(latency / per_request), np.asarray(completion / per_job)

    def scaled_sum(self) -> Floats:
        """Return the weighted scaled sum, see `scaled_parts`, shape [runs]; less is better.

        Requests and jobs have the same weight, however many there are. `total` is the objective of
        the program instead, which adds up all requests and all jobs.
        """
        latency, completion = self.scaled_parts()
        return latency + completion

    def gap(self) -> Floats:
        """Return how much longer the latencies of each slot are than their bound, [runs, T].

        Relative to the bound; 0 in slots without answered requests, NaN where there is no bound.
        """
        summed = np.zeros_like(self.bound)
        answered = np.where(self.refused, 0.0, self.latency)
        np.add.at(summed.T, self.slot, answered.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.maximum(summed / self.bound - 1.0, 0.0)
        return np.where((summed == 0.0) & ~np.isnan(self.bound), 0.0, gap)

    def success(self) -> Floats:
        """Return the share of requests and jobs together that were in time, shape [runs].

        Requests are so many more that jobs hardly count; see the two shares apart.
        """
        return _mean(np.concatenate([self.met, self.on_time], axis=1), empty=1.0)

    def request_success(self) -> Floats:
        """Return the share of requests answered within their objective, shape [runs]."""
        return _mean(self.met, empty=1.0)

    def job_success(self) -> Floats:
        """Return the share of jobs complete by their deadline, shape [runs]."""
        return _mean(self.on_time, empty=1.0)

    def refused_share(self) -> Floats:
        """Return the share of requests that were refused, shape [runs]; 0 without any."""
        return _mean(self.refused)


def _mean(values: Floats | Flags, *, empty: float = 0.0) -> Floats:
    """Average over the last axis."""
    if values.shape[1] == 0:
        return np.full(values.shape[0], empty)
    return np.asarray(values.mean(axis=1, dtype=np.float64))
