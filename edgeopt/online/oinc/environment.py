"""The sites of OINC: requests in every slot, and jobs that arrive among them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.oinc import OincInstance
from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.slot import SlotProblem, slot_problem
from edgeopt.online.oinc.events import (
    Decision,
    Jobs,
    OincTrajectory,
    Outcome,
    Runs,
    Served,
    Slot,
)
from edgeopt.online.oinc.feasibility import answered, check_reserved, dispatched, served
from edgeopt.online.simulate import padded, stacked
from edgeopt.options import check_flag, check_kind
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.models.oinc.slot import SlotPlan
    from edgeopt.online.oinc.feasibility import Answer, Service
    from edgeopt.online.protocols import Episode


_SLOWEST: Final = 0.01
"""Share of the slowest CPU at which all work that is left could be done before a run is stopped."""


class OincEpisode:
    """Slots of one scenario, one after the other.

    After the last slot there are slots without requests until all jobs are complete. The run is
    stopped before that when no job has run in as many of them in a row as the horizon has slots, or
    when all work left after the last slot could have been done on a hundredth of the slowest CPU.
    """

    def __init__(
        self, instance: OincInstance, *, drain: bool = True, keep_trace: bool = False
    ) -> None:
        self._instance, self._drain = instance, drain
        self._slot, self._idle, self._request = 0, 0, 0
        self._limit = math.inf
        self._remaining = instance.work.copy()
        self._started = np.zeros(instance.jobs, dtype=np.bool_)
        self._seen: Slot | None = None
        self._log: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats, Floats]] = []
        self._record = keep_trace
        requests, slots = int(instance.active.sum()), instance.slots
        self.latency, self.site = np.full(requests, np.nan), np.full(requests, -1)
        self.completion = np.full(instance.jobs, np.inf)
        self.job_site = np.full(instance.jobs, -1)
        self.reserved: list[Floats] = []
        self.job_load: list[Floats] = []
        self.band_load, self.cpu_load = np.zeros((2, slots, instance.sites))
        self.bound = np.full(slots, np.nan)
        self.decisions = np.zeros(slots, dtype=np.int64)

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        if self._slot < self._instance.slots:
            return False
        done = not self._drain or bool(np.isfinite(self.completion).all())
        return done or self._idle >= self._instance.slots or self._slot >= self._limit

    @property
    def end(self) -> int:
        """Number of slots so far."""
        return self._slot

    @property
    def served(self) -> Served:
        """What served which job when."""
        if not self._log:
            nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
            return Served(none, none, nothing, nothing, nothing)
        return Served(*(np.concatenate(column) for column in zip(*self._log, strict=True)))

    def observe(self) -> Slot | None:
        """Show the requests and the jobs of a slot; None when the run is over."""
        if self.finished:
            return None
        if self._seen is None:
            self._seen = Slot(self._slot, self._requests(), self._jobs())
        return self._seen

    def act(self, decision: Decision) -> Outcome:
        """Answer the requests of a slot and serve its jobs."""
        slot = self.observe()
        if slot is None:
            raise OptionError("the scenario is over: no decision is due")
        if not isinstance(decision, Decision):
            raise OptionError("the decision of a slot must be a Decision")
        try:
            reserved = check_reserved(decision.reserved, self._instance.sites)
            answer = answered(decision.plan, slot.requests, reserved)
            job_site = dispatched(decision.job_site, slot.jobs, reserved)
            service = served(decision.runs, slot.jobs, job_site, reserved, self._instance.speed)
        except OptionError as error:
            raise OptionError(f"slot {slot.slot}: {error}") from None
        self.job_site[slot.jobs.job] = job_site
        self.reserved.append(reserved)
        if slot.slot < self._instance.slots:
            self._book_requests(slot.slot, answer, decision.plan)
        self.decisions[min(slot.slot, self._instance.slots - 1)] += 1
        complete = self._book_jobs(slot, decision, service)
        self._slot += 1
        self._seen = None
        if self._slot == self._instance.slots:
            left = self._remaining.sum() / (_SLOWEST * self._instance.speed.min())
            self._limit = self._slot + self._instance.slots + left
        if decision.standing and slot.slot >= self._instance.slots and not complete.size:
            self._repeat(slot.jobs.job, decision.runs, service.done)
        return Outcome(answer.latency, complete, self.completion[complete])

    def reveal(self, truth: OincInstance) -> None:
        """Go on with other data of what has not been shown."""
        unseen = self._instance.arrival > self._slot - (self._seen is None)
        self._remaining[unseen] = truth.work[unseen]
        answered, more = self._request, int(truth.active.sum()) - self._request
        self.latency = np.append(self.latency[:answered], np.full(more, np.nan))
        self.site = np.append(self.site[:answered], np.full(more, -1))
        self._instance = truth

    # --- what a slot shows ---------------------------------------------------------------------

    def _requests(self) -> SlotProblem:
        if self._slot < self._instance.slots:
            return slot_problem(self._instance, self._slot)
        return self._none

    @cached_property
    def _none(self) -> SlotProblem:
        """No requests."""
        nothing, sites = np.zeros((0, self._instance.sites)), self._instance.sites
        return SlotProblem(nothing, nothing, np.zeros(0), np.ones(sites))

    def _jobs(self) -> Jobs:
        instance = self._instance
        known = (instance.arrival <= self._slot) & np.isinf(self.completion)
        job = np.flatnonzero(known)
        columns = (
            self.job_site, self._started, self._remaining, instance.work, instance.arrival,
            instance.deadline, instance.weight,
        )  # fmt: skip
        return Jobs(frozen(job), *(frozen(column[job]) for column in columns))

    # --- the outcome of a slot -----------------------------------------------------------------

    def _book_requests(self, slot: int, answer: Answer, given: SlotPlan) -> None:
        first, self._request = self._request, self._request + answer.site.size
        self.latency[first : self._request] = answer.latency
        self.site[first : self._request] = answer.site
        self.band_load[slot], self.cpu_load[slot] = answer.band, answer.cpu
        self.bound[slot] = getattr(given, "bound", np.nan)

    def _book_jobs(self, slot: Slot, decision: Decision, service: Service) -> NDArray[np.int64]:
        """Book what runs did; return the jobs that are complete now."""
        job, runs = slot.jobs.job, decision.runs
        self._remaining[job] = np.maximum(self._remaining[job] - service.done, 0.0)
        self._started[job] |= service.done > 0
        over = ~np.isnan(service.completion)
        complete = job[over]
        self._remaining[complete] = 0.0
        self.completion[complete] = slot.slot + service.completion[over]
        length = runs.share * (runs.end - runs.begin)
        load = np.bincount(service.site, length, self._instance.sites)
        self.job_load.append(np.asarray(load, dtype=np.float64))
        resting = slot.slot >= self._instance.slots and not runs.job.size
        self._idle = self._idle + 1 if resting else 0
        if self._record:
            begin, end = slot.slot + runs.begin, slot.slot + runs.end
            self._log.append((runs.job.copy(), service.site, runs.share.copy(), begin, end))
        return complete

    def _repeat(self, job: NDArray[np.int64], runs: Runs, done: Floats) -> None:
        """Let the slots after the last one go on as the latest did, until a job needs less."""
        if self._record or (runs.begin > 0.0).any() or (runs.end < 1.0).any():
            return
        served = job[done > 0.0]
        work, dust = done[done > 0.0], TIGHT * self._instance.work[served]
        left = self._remaining[served]
        while not self.finished and (left >= work).all() and (left - work > dust).all():
            left = left - work
            self.reserved.append(self.reserved[-1])
            self.job_load.append(self.job_load[-1])
            self._idle = self._idle + 1 if not runs.job.size else 0
            self._slot += 1
        self._remaining[served] = left

    # --- results of the whole run ----------------------------------------------------------

    def reward(self) -> Floats:
        """Return the weighted sum of what arrived in each slot, shape [T]."""
        instance = self._instance
        counted = np.where(self.site < 0, instance.refusal_latency, self.latency)
        slot = np.nonzero(instance.active)[0]
        latency = np.bincount(slot, counted, instance.slots) / instance.latency_scale
        completion = np.where(np.isfinite(self.completion), self.completion, float(self._slot))
        cost = instance.weight * completion / instance.completion_scale
        jobs = np.bincount(instance.arrival, cost, instance.slots)
        return np.asarray(instance.request_weight * latency + jobs)

    def violations(self) -> NDArray[np.int64]:
        """Return the objectives and deadlines of what arrived in each slot that were missed."""
        instance = self._instance
        slot, device = np.nonzero(instance.active)
        with np.errstate(invalid="ignore"):
            met = self.latency <= instance.slo[slot, device] * (1.0 + TIGHT)
        late = self.completion > instance.deadline * (1.0 + TIGHT)
        missed = np.bincount(slot[~met], minlength=instance.slots)
        return missed + np.bincount(instance.arrival[late], minlength=instance.slots)


_FIELDS = (
    "decisions", "latency", "site", "completion", "job_site", "band_load", "cpu_load", "bound",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class OincEnvironment:
    """Scenarios of an OINC instance, all alike: nothing but the coins of a policy is random.

    Parameters
    ----------
    truth
        The instance with its future.
    drain
        Whether jobs are served on after the last slot, in slots without requests, until all are
        complete. Otherwise those are never complete that are not complete by then. Such a run is
        stopped all the same once no job has run in as many of these slots in a row as the horizon
        has slots, or once there have been as many as the horizon has and as it takes to do all
        that was left on a hundredth of the slowest CPU.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Oinc, OincEnvironment
    >>> runs = simulate(OincEnvironment(small(1)), Oinc(), runs=1)
    >>> bool(runs.complete.all())
    True
    """

    alike: ClassVar[bool] = True
    """All scenarios are the same, so that a policy without coins is simulated once."""

    truth: OincInstance
    drain: bool = True

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, OincInstance)
        check_flag("drain", self.drain)

    @cached_property
    def instance(self) -> OincInstance:
        """The sites, scales and weights: all that a policy may know beforehand.

        Number of slots and devices included. No device is active, sizes and work are 0, rates 1,
        objectives as long as a slot, and there are no jobs.
        """
        truth = self.truth
        nothing = np.zeros((truth.slots, truth.devices))
        return replace(
            truth,
            rate=np.ones((truth.devices, truth.sites)),
            active=np.zeros_like(truth.active),
            request_size=nothing,
            request_work=nothing,
            slo=np.ones_like(nothing),
            arrival=np.zeros(0, dtype=np.int64),
            work=np.zeros(0),
            deadline=np.zeros(0),
            weight=np.zeros(0),
            job_kind=None,
        )

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Return the numbers of the scenarios, shape [runs]; they differ in nothing else."""
        return np.arange(runs)

    def episode(self, scenario: int, *, keep_trace: bool = False) -> OincEpisode:
        """Open a scenario at its first slot."""
        return OincEpisode(self.truth, drain=self.drain, keep_trace=keep_trace)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Slot, Decision, Outcome]],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> OincTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, OincEpisode)]
        slot, device = np.nonzero(self.truth.active)
        return OincTrajectory(
            name=name,
            reward=np.stack([one.reward() for one in mine]),
            violations=np.stack([one.violations() for one in mine]),
            seconds=seconds,
            compiled=False,
            instance=self.truth,
            slot=slot,
            device=device,
            end=np.array([float(one.end) for one in mine]),
            reserved=padded([one.reserved for one in mine]),
            job_load=padded([one.job_load for one in mine]),
            served=mine[0].served if keep_trace else None,
            **stacked(mine, _FIELDS),
        )
