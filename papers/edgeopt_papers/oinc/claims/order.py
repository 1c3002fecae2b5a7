"""Weights that grow as deadlines come nearer: what they do to the order, and to Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import RetrainingProblem, flow_bound, retraining_problem
from edgeopt.online.oinc.retraining import run_density
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims.certificate import competitive_factor, dual_certificate
from edgeopt_papers.oinc.claims.evaluation import SHARE, claim, drawn_schedule
from edgeopt_papers.oinc.claims.instances import DUE, Due, Periods

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from edgeopt.arrays import Floats, Ints
    from edgeopt.online.oinc.retraining import RetrainingRun


EPSILONS = (0.25, 1.0)
"""By how much sites are faster."""

TINY = 1e-9
"""Share of a job that rounding may leave."""


@dataclass(frozen=True, eq=False)
class Waiting:
    """The queue of a site as a slot begins."""

    slot: int
    site: int
    job: Ints  # jobs that are not complete, in the order in which they are to be served, shape [q]
    density: Floats  # their weight per remaining second, descending, shape [q]
    left: Floats  # their remaining time, s, shape [q]


@dataclass(frozen=True, eq=False)
class UrgentRun:
    """A run with growing weights."""

    due: Due
    site: Ints  # site of each job, shape [K]
    cost: Floats  # what equation (6) gave for it there, with the weights of the moment, shape [K]
    completion: Floats  # when it was complete, s since the start, shape [K]
    queues: tuple[Waiting, ...]  # every queue that was served

    @property
    def objective(self) -> float:
        """Flow time in sum, weighted with the own weights of the jobs."""
        problem = self.due.problem
        return float(problem.weight @ (self.completion - problem.arrival))


def swaps(queues: Iterable[Waiting]) -> Iterator[tuple[Waiting, int, int]]:
    """Yield a queue with two of its jobs whose order is another one a slot later."""
    before: dict[int, Waiting] = {}
    for after in queues:
        last = before.get(after.site)
        before[after.site] = after
        if last is None or last.slot != after.slot - 1:
            continue
        places = {int(k): place for place, k in enumerate(after.job)}
        stay = [int(k) for k in last.job if int(k) in places]
        for i, ahead in enumerate(stay):
            for behind in stay[i + 1 :]:
                if places[behind] < places[ahead]:
                    yield last, ahead, behind


def queues_of(run: RetrainingRun) -> Iterator[Waiting]:
    """Return the queues of a run of the package, whose weights stay."""
    problem, runs, speed = run.problem, run.runs, 1.0 + run.epsilon
    for slot in range(int(np.ceil(run.completion.max(initial=0.0)))):
        served = np.clip(np.minimum(runs.end, slot) - runs.begin, 0.0, None) * speed
        done = np.bincount(runs.job, served, problem.jobs)
        for j in range(problem.sites):
            here = np.flatnonzero(
                (run.site == j) & (problem.arrival <= slot) & (run.completion > slot + TINY)
            )
            if here.size:
                seconds = problem.duration[here, j] - done[here]
                yield _queue(slot, j, here, problem.weight[here], seconds)


def _queue(slot: int, site: int, here: Ints, weight: Floats, seconds: Floats) -> Waiting:
    order = np.argsort(-weight / seconds, kind="stable")
    return Waiting(slot, site, here[order], (weight / seconds)[order], seconds[order])


def run_urgent(due: Due, *, epsilon: float = 0.0) -> UrgentRun:
    """Run Algorithm 4 slot by slot; the next job uses what one leaves of a slot."""
    problem, count = due.problem, due.problem.jobs
    speed = 1.0 + epsilon
    site, cost = np.full(count, -1, dtype=np.int64), np.zeros(count)
    left, completion = np.ones(count), np.full(count, np.inf)
    queues: list[Waiting] = []
    slot = 0
    while np.isinf(completion).any():
        weight = due.weight(slot)
        for k in np.flatnonzero(problem.arrival == slot):
            costs = _costs(problem, weight, left, site, int(k)) / speed
            site[k] = int(np.argmin(costs))
            cost[k] = costs[site[k]]
        for j in range(problem.sites):
            here = np.flatnonzero((site == j) & np.isinf(completion))
            if here.size == 0:
                continue
            seconds = left[here] * problem.duration[here, j]
            queue = _queue(slot, j, here, weight[here], seconds)
            queues.append(queue)
            job, seconds = queue.job, queue.left
            end = slot + np.cumsum(seconds) / speed
            done = end <= slot + 1 + TINY
            completion[job[done]] = end[done]
            left[job[done]] = 0.0
            if not done.all():
                first = int(np.argmin(done))
                began = end[first] - seconds[first] / speed
                served = max(0.0, slot + 1 - began) * speed
                left[job[first]] -= served / problem.duration[job[first], j]
        slot += 1
    return UrgentRun(due, site, cost, completion, tuple(queues))


def _costs(problem: RetrainingProblem, weight: Floats, left: Floats, site: Ints, k: int) -> Floats:
    """Return what job k would add to the weighted flow time at each site, shape [J]."""
    own = problem.duration[k]
    costs: Floats = weight[k] * own
    for j in np.flatnonzero(np.isfinite(own)):
        here = np.flatnonzero((site == j) & (left > TINY))
        seconds = left[here] * problem.duration[here, j]
        denser = weight[here] / seconds >= weight[k] / own[j]
        costs[j] += weight[k] * seconds[denser].sum() + own[j] * weight[here][~denser].sum()
    return costs


def _all_swaps(due: Due) -> Measurement:
    found = list(swaps(queues_of(run_density(weights_at_arrival(due)))))
    proof = {"swaps": [(queue.slot, ahead, behind) for queue, ahead, behind in found]}
    return Measurement(len(found), 0.0, proof)


def _ratio(due: Due, *, frozen: bool) -> Iterator[Measurement]:
    """Compare a run with what Theorem 1 allows over schedules at unit speed."""
    problem = weights_at_arrival(due) if frozen else due.problem
    known = [drawn_schedule(problem, seed).objective for seed in range(2)]
    best = min(run_density(problem).weighted_flow, *known)
    for epsilon in EPSILONS:
        run = run_density(problem, epsilon=epsilon) if frozen else run_urgent(due, epsilon=epsilon)
        flow = float(problem.weight @ (run.completion - problem.arrival))
        proof = {"epsilon": epsilon, "completion": run.completion}
        yield Measurement(flow, competitive_factor(epsilon) * best, proof)


def _violation(due: Due) -> Iterator[Measurement]:
    problem = weights_at_arrival(due)
    for epsilon in EPSILONS:
        point = dual_certificate(problem, run_density(problem, epsilon=epsilon), epsilon)
        proof = {"epsilon": epsilon, "theta": point.theta, "eta": point.eta}
        yield Measurement(point.violation_in_time, 0.0, proof, size=point.heaviest)


def weights_at_arrival(due: Due) -> RetrainingProblem:
    """Return the jobs with the weights that they have at their arrival."""
    problem = due.problem
    weight = [due.weight(a)[k] for k, a in enumerate(problem.arrival.tolist())]
    return RetrainingProblem(problem.arrival, problem.duration, np.array(weight))


def _lateness(due: Due) -> Measurement:
    """Find the job that is complete latest after its deadline, in a schedule that never pauses."""
    late = run_density(due.problem).completion - due.deadline
    if late.size == 0:
        raise NotApplicableError("there is no job")
    k = int(np.argmax(late))
    return Measurement(late[k] + due.deadline[k], due.deadline[k], {"job": k})


def _earliest(due: Due) -> Iterator[Measurement]:
    """Compare completion times with those of every job alone at its best site."""
    problem = due.problem
    alone = problem.arrival + problem.duration.min(axis=1)
    ends = run_density(problem).completion
    for pair in zip(ends, alone, strict=True):
        yield Measurement(*pair)


def _due(given: Due | OincInstance, share: float = SHARE) -> Due:
    """Read the jobs of an instance with their deadlines."""
    if isinstance(given, Due):
        return given
    return Due(retraining_problem(given, share), given.deadline)


about_deadlines = partial(claim, instance_type=(Due, OincInstance), view=_due)

_NAMED = {
    **named_instance(named.overtaken_in_wait),
    **named_instance(named.overtaken_in_service),
    **named_instance(named.overtaken_by_hopeless),
    **named_instance(named.overpriced),
    **named_instance(named.hopeless, 8),
}

_INSTANCES = {**_NAMED, **DUE}


def _bound(periods: Periods, share: tuple[float, ...]) -> Measurement:
    bound = flow_bound(periods.problem(share), strong=False, midpoint=False)
    return Measurement(bound.value, periods.flow, {"bound": bound})


about_periods = partial(
    claim, instance_type=Periods, view=lambda periods: periods, tolerance=SOLVED
)

CLAIMS = (
    about_deadlines("order", _all_swaps, _INSTANCES),
    about_deadlines("urgent", lambda due: _ratio(due, frozen=True), _INSTANCES),
    about_deadlines(
        "urgent.published", lambda due: _ratio(due, frozen=False), named_instance(named.hopeless, 8)
    ),
    about_deadlines("urgent.certificate", _violation, _INSTANCES),
    about_deadlines("deadline", _earliest, (_INSTANCES, named.no_time)),
    about_deadlines("deadline.published", _lateness, named.no_time),
    about_periods(
        "shares",
        lambda periods: _bound(periods, periods.share),
        (named.two_shares, named_instance(Periods, (1, 3, 2), (0.2, 0.9, 0.4))),
    ),
    about_periods(
        "shares.published",
        lambda periods: _bound(periods, periods.share[:1] * len(periods.share)),
        named.two_shares,
    ),
)
